// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "crochet/io/file_system.h"

namespace crochet {
namespace {

TEST(PathTest, Joins) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("/", "b"), "/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
  EXPECT_EQ(join_path("a", ""), "a/");
}

TEST(PathTest, Splits) {
  EXPECT_EQ(directory_of("a/b/c"), "a/b");
  EXPECT_EQ(base_name("a/b/c"), "c");
  EXPECT_EQ(directory_of("file"), "");
  EXPECT_EQ(base_name("file"), "file");
  EXPECT_EQ(directory_of("/file"), "/");
  EXPECT_EQ(base_name("/file"), "file");
  EXPECT_EQ(directory_of("a/"), "a");
  EXPECT_EQ(base_name("a/"), "");
  EXPECT_EQ(directory_of(""), "");
  EXPECT_EQ(parent_directory("file"), ".");
  EXPECT_EQ(parent_directory("a/file"), "a");
  EXPECT_EQ(parent_directory("/file"), "/");
  EXPECT_EQ(or_current(""), ".");
  EXPECT_EQ(or_current("a"), "a");
}

TEST(PathTest, JoinsWhatItSplit) {
  for (const char* const path : {"a/b/c", "file", "/file", "/a/b", "a/"})
    EXPECT_EQ(join_path(directory_of(path), base_name(path)), path);
}

TEST(PathTest, RecognisesAbsolutePaths) {
  EXPECT_TRUE(is_absolute("/"));
  EXPECT_TRUE(is_absolute("/a"));
  EXPECT_FALSE(is_absolute("a/b"));
  EXPECT_FALSE(is_absolute(""));
}

}  // namespace
}  // namespace crochet
