// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/internal/slice_cover.h"

#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using testing::Optional;
using testing::Pair;

TEST(SliceCoverTest, KnowsWhatTwoSlicesHaveInCommon) {
  EXPECT_TRUE(overlap({{0, 2}, {0, 3}}, {{1, 1}, {2, 4}}));
  EXPECT_FALSE(overlap({{0, 2}, {0, 3}}, {{2, 1}, {2, 4}}));  // They touch.
  EXPECT_FALSE(overlap({{0, 2}, {0, 3}}, {{1, 1}, {3, 4}}));
  EXPECT_FALSE(overlap({{0, 4}}, {{2, 0}}));  // An empty one within the other.
  EXPECT_TRUE(overlap({}, {}));               // Scalars.
}

TEST(SliceCoverTest, CountsElements) {
  const std::vector<TensorSlice> halves = {{{0, 2}, {0, 5}}, {{2, 3}, {0, 5}}};
  EXPECT_EQ(cover_of(halves).num_elements, 25);
  EXPECT_EQ(cover_of(halves).overlap, std::nullopt);
  EXPECT_EQ(cover_of({}).num_elements, 0);
}

TEST(SliceCoverTest, FindsTwoThatOverlap) {
  const std::vector<TensorSlice> slices = {{{0, 2}}, {{4, 4}}, {{2, 2}}, {{7, 3}}};
  EXPECT_THAT(cover_of(slices).overlap, Optional(Pair(1, 3)));
  const std::vector<TensorSlice> scalars = {{}, {}};
  EXPECT_THAT(cover_of(scalars).overlap, Optional(Pair(0, 1)));
}

TEST(SliceCoverTest, EmptySlicesHaveNothingInCommon) {
  const std::vector<TensorSlice> slices = {{{0, 4}, {0, 0}}, {{0, 4}, {0, 0}}, {{0, 4}, {0, 2}}};
  EXPECT_EQ(cover_of(slices).overlap, std::nullopt);
  EXPECT_EQ(cover_of(slices).num_elements, 8);
}

// Compares each pair.
bool any_overlap(const std::vector<TensorSlice>& slices) {
  for (size_t i = 0; i < slices.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (overlap(slices[i], slices[j])) return true;
  return false;
}

TEST(SliceCoverTest, AgreesWithAComparisonOfAllPairs) {
  std::mt19937 random(20261128);
  int num_overlaps = 0;
  constexpr int kRounds = 4000;
  for (int round = 0; round < kRounds; ++round) {
    const size_t rank = 1 + random() % 3;
    std::vector<TensorSlice> slices(1 + random() % 6);
    for (TensorSlice& slice : slices)
      for (size_t i = 0; i < rank; ++i)
        slice.push_back({static_cast<int64_t>(random() % 8), static_cast<int64_t>(random() % 4)});
    const SliceCover cover = cover_of(slices);
    ASSERT_EQ(cover.overlap.has_value(), any_overlap(slices)) << round;
    if (!cover.overlap) continue;
    ++num_overlaps;
    ASSERT_LT(cover.overlap->first, cover.overlap->second);
    ASSERT_TRUE(overlap(slices[cover.overlap->first], slices[cover.overlap->second])) << round;
  }
  EXPECT_GT(num_overlaps, kRounds / 10);
  EXPECT_LT(num_overlaps, kRounds * 9 / 10);
}

// Slices of three dimensions that no plane divides, in each group of three.
TEST(SliceCoverTest, EndsAComparisonThatTakesTooLong) {
  std::vector<TensorSlice> slices;
  constexpr int64_t kSize = 6000;
  for (int64_t i = 0; i < kSize; ++i) {
    slices.push_back({{2 * i, 1}, {0, 2 * kSize}, {0, 1}});
    slices.push_back({{0, 2 * kSize}, {2 * i, 1}, {2, 1}});
  }
  slices.push_back({{0, 2 * kSize}, {0, 2 * kSize}, {4, 1}});
  const SliceCover divided = cover_of(slices);  // By the last dimension.
  EXPECT_FALSE(divided.is_entangled);
  EXPECT_EQ(divided.overlap, std::nullopt);

  std::vector<TensorSlice> entangled;
  for (int64_t i = 0; i < kSize; ++i) {
    entangled.push_back({{2 * i, 1}, {0, 2 * kSize}, {0, 2}});
    entangled.push_back({{0, 2 * kSize}, {2 * i, 1}, {2, 2}});
    entangled.push_back({{2 * i + 1, 1}, {2 * i + 1, 1}, {1, 2}});
  }
  EXPECT_TRUE(cover_of(entangled).is_entangled);
  EXPECT_EQ(cover_of(entangled).overlap, std::nullopt);
}

}  // namespace
}  // namespace crochet::internal
