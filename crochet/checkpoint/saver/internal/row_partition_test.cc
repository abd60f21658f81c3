// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/row_partition.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using testing::ElementsAre;

using Counts = std::optional<std::vector<int64_t>>;

// The number of rows of each rank, which follow each other.
std::vector<int64_t> lengths(const Counts& stored, int64_t total, int size) {
  std::vector<int64_t> lengths;
  int64_t start = 0;
  for (int rank = 0; rank < size; ++rank) {
    const SliceExtent rows = RowPartition(stored, rank, size).rows_of(total);
    EXPECT_EQ(rows.start, start) << rank;
    start += rows.length;
    lengths.push_back(rows.length);
  }
  EXPECT_EQ(start, total);
  return lengths;
}

TEST(RowPartitionTest, IsBalanced) {
  EXPECT_THAT(lengths({}, 7, 3), ElementsAre(3, 2, 2));
  EXPECT_THAT(lengths({}, 6, 3), ElementsAre(2, 2, 2));
  EXPECT_THAT(lengths({}, 2, 4), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(lengths({}, 0, 2), ElementsAre(0, 0));
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(lengths({}, kMax, 2), ElementsAre(kMax / 2 + 1, kMax / 2));
}

TEST(RowPartitionTest, TheSameNumberOfRanksHasItsRowsAgain) {
  EXPECT_THAT(lengths(Counts{{5, 0, 2}}, 7, 3), ElementsAre(5, 0, 2));
  EXPECT_THAT(lengths(Counts{{0, 0, 0}}, 0, 3), ElementsAre(0, 0, 0));
  EXPECT_THAT(lengths(Counts{{5, 0, 2}}, 7, 2), ElementsAre(4, 3));
}

TEST(RowPartitionTest, CountsThatAreNotTheTotalAreNotUsed) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  for (const Counts& counts :
       {Counts{{5, 1}}, Counts{{8, -1}}, Counts{{4, 4}}, Counts{{kMax, kMax}}, Counts{{-kMax, 7}}})
    EXPECT_THAT(lengths(counts, 7, 2), ElementsAre(4, 3));
}

}  // namespace
}  // namespace crochet::internal
