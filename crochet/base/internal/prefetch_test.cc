// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/prefetch.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

TEST(PrefetchTest, UsesEachItemOnceInOrderAndAsksForLaterOnes) {
  for (const size_t size : {0, 1, 7, 8, 9, 100}) {
    std::vector<size_t> items(size);
    std::iota(items.begin(), items.end(), size_t{0});
    std::vector<size_t> asked;
    std::vector<size_t> used;
    for_each_prefetched(
        std::span<const size_t>(items),
        [&](const size_t& item) {
          EXPECT_GT(item, used.size());
          prefetch(&item);
          asked.push_back(item);
        },
        [&](size_t item) { used.push_back(item); });
    EXPECT_EQ(used, items);
    items.erase(items.begin(), items.begin() + std::min<ptrdiff_t>(8, std::ssize(items)));
    EXPECT_EQ(asked, items);
  }
}

TEST(PrefetchTest, TakesAnyAddress) {
  const std::array<char, 1000> many = {};
  prefetch(&many);
  prefetch(static_cast<const std::array<char, 1000>*>(nullptr));
}

}  // namespace
}  // namespace crochet::internal
