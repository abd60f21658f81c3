// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"

namespace crochet {
namespace {

TEST(FileNameTest, IsOneNameInADirectory) {
  for (const char* const name : {"checkpoint", "a b", "x.y", "x..y", "\xff"})
    EXPECT_EQ(FileName(name).str(), name);
  EXPECT_EQ(FileName(std::string(255, 'x')).str().size(), 255u);
}

TEST(FileNameTest, RejectsWhatLeavesTheDirectoryOrIsHidden) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../x"), std::string("a/b"),
        std::string("a/"), std::string("/a"), std::string(".hidden"), std::string("a\0b", 3),
        std::string(256, 'x')})
    EXPECT_THAT([&] { FileName{name}; },
                testing::ThrowsMessage<InvalidArgumentError>(testing::AllOf(
                    testing::HasSubstr("found "), testing::HasSubstr("expected the name"))))
        << name;
}

}  // namespace
}  // namespace crochet
