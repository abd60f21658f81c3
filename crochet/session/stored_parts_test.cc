// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/session/parted_saveable.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

StoredParts::Part part(int64_t size) { return {.dtype = DType::kFloat, .shape = {size}}; }

const StoredParts kParts(StoredParts::Map{{"a", part(1)},
                                          {"a!", part(2)},
                                          {"a/b", part(3)},
                                          {"a/b/c", part(4)},
                                          {"a/d", part(5)},
                                          {"e/f", part(6)}});

TEST(StoredPartsTest, ListsTheNamesBeneathEachValueOnce) {
  EXPECT_THAT(kParts.names(), ElementsAre("a", "a!", "e"));
  EXPECT_THAT(kParts.beneath("a").names(), ElementsAre("b", "d"));
  EXPECT_THAT(kParts.beneath("a").beneath("b").names(), ElementsAre("c"));
  EXPECT_THAT(kParts.beneath("a/d").names(), IsEmpty());
}

TEST(StoredPartsTest, FindsEntriesByTheirRelativeNames) {
  EXPECT_EQ(kParts.find("a/d")->shape, Shape{5});
  EXPECT_EQ(kParts.beneath("a").find("")->shape, Shape{1});
  EXPECT_EQ(kParts.beneath("a").find("b/c")->shape, Shape{4});
  EXPECT_EQ(kParts.find("e"), nullptr);
  EXPECT_EQ(kParts.beneath("a").all().size(), 4);
  EXPECT_EQ(kParts.all().size(), 6);
}

TEST(StoredPartsTest, IsEmptyWhereNothingIsStored) {
  EXPECT_FALSE(kParts.empty());
  EXPECT_FALSE(kParts.beneath("a!").empty());
  EXPECT_FALSE(kParts.beneath("e").empty());
  EXPECT_TRUE(kParts.beneath("e/g").empty());
  EXPECT_TRUE(kParts.beneath("a!").beneath("b").empty());
  EXPECT_TRUE(StoredParts().empty());
}

// A file may contain any names.
TEST(StoredPartsTest, SkipsEmptyNames) {
  const StoredParts parts(StoredParts::Map{{"", part(1)}, {"/", part(2)}, {"a//b", part(3)}});
  EXPECT_THAT(parts.names(), ElementsAre("a"));
  EXPECT_THAT(parts.beneath("a").names(), IsEmpty());
}

}  // namespace
}  // namespace crochet
