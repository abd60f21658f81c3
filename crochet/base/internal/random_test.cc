// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/random.h"

#include <set>

#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

TEST(RandomTest, NumbersDiffer) {
  std::set<uint64_t> numbers;
  for (int i = 0; i < 1000; ++i) numbers.insert(random_number());
  EXPECT_EQ(numbers.size(), 1000);
  EXPECT_GT(*numbers.rbegin(), uint64_t{1} << 60);  // All bits are used.
}

}  // namespace
}  // namespace crochet::internal
