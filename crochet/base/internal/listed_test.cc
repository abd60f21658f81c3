// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/listed.h"

#include <vector>

#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

TEST(ListedTest, ListsAFewTextsWhole) {
  EXPECT_EQ(listed({}), "");
  EXPECT_EQ(listed(std::vector<std::string>{"a"}), "a");
  EXPECT_EQ(listed(std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h"}),
            "a, b, c, d, e, f, g, h");
}

TEST(ListedTest, CountsTheRestOfMany) {
  EXPECT_EQ(listed(std::vector<std::string>{"a", "b", "c", "d", "e", "f", "g", "h", "i"}),
            "a, b, c, d, e, f, g, h and 1 more");
  EXPECT_EQ(listed(std::vector<std::string>(1000, "a")), "a, a, a, a, a, a, a, a and 992 more");
}

}  // namespace
}  // namespace crochet::internal
