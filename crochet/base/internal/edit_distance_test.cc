// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/edit_distance.h"

#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

TEST(EditDistanceTest, CountsInsertedRemovedAndReplacedCharacters) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("list", "lst"), 1u);
  EXPECT_EQ(edit_distance("shwo", "show"), 2u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

}  // namespace
}  // namespace crochet::internal
