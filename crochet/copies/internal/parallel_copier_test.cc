// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/parallel_copier.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/allocation_counter.h"
#include "tests/support/local_variables.h"

namespace crochet::internal {
namespace {

using Numbers = std::vector<int64_t>;

ParallelCopier::Copy copy_of(Numbers& from, Numbers& to) {
  return {view_of(from), reinterpret_cast<std::byte*>(to.data())};
}

bool all_are(const Numbers& array, int64_t value) {
  return std::ranges::all_of(array, [=](int64_t x) { return x == value; });
}

// Arrays that fall into pieces in every way: empty ones, many in one piece, one in many pieces.
struct Arrays {
  Arrays() {
    for (const size_t size : {0, 1, 1000, 0, 250'000, 1'000'000, 262'144, 524'289, 3, 2'000'000}) {
      from.emplace_back(size);
      std::iota(from.back().begin(), from.back().end(), static_cast<int64_t>(size) * 7);
      to.emplace_back(size);
    }
    for (size_t i = 0; i < from.size(); ++i) copies.push_back(copy_of(from[i], to[i]));
  }

  std::vector<Numbers> from, to;
  std::vector<ParallelCopier::Copy> copies;
};

TEST(ParallelCopierTest, CopiesEveryByteWithAnyNumberOfThreads) {
  for (const int num_threads : {0, 1, 2, 3, 8}) {
    ParallelCopier copier(num_threads);
    Arrays now, later;
    copier.copy(now.copies);
    EXPECT_EQ(now.to, now.from) << num_threads;
    const auto pending = copier.copy_in_background(later.copies, {});
    pending->wait();
    EXPECT_EQ(later.to, later.from) << num_threads;
  }
}

TEST(ParallelCopierTest, CopiesNothingAtOnce) {
  ParallelCopier copier;
  copier.copy({});
  EXPECT_EQ(copier.copy_in_background({}, {}), nullptr);
  Numbers empty;
  EXPECT_EQ(copier.copy_in_background({copy_of(empty, empty)}, {}), nullptr);
  copier.drain();
}

TEST(ParallelCopierTest, TransposesMatricesInPieces) {
  constexpr int64_t kRows = 700, kColumns = 900;
  Numbers matrix(kRows * kColumns), copy(matrix.size()), expected(matrix.size());
  std::iota(matrix.begin(), matrix.end(), 0);
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column)
      expected[static_cast<size_t>(row * kColumns + column)] =
          matrix[static_cast<size_t>(column * kRows + row)];
  ParallelCopier copier(3);
  const ParallelCopier::Copy turned = {{DType::kInt64,
                                        {kRows, kColumns},
                                        reinterpret_cast<std::byte*>(matrix.data()),
                                        MemoryOrder::kColumnMajor},
                                       reinterpret_cast<std::byte*>(copy.data())};
  copier.copy({&turned, 1});
  EXPECT_EQ(copy, expected);
}

TEST(ParallelCopierTest, LetsArraysChangeOnceItIsDrained) {
  for (const int num_threads : {1, 2, 4}) {
    ParallelCopier copier(num_threads);
    copier.drain();
    Numbers array(1'000'000);
    std::vector<Numbers> copies(5, array);
    for (int64_t value = 1; value <= 5; ++value) {
      std::ranges::fill(array, value);
      copier.copy_in_background({copy_of(array, copies[static_cast<size_t>(value - 1)])}, {});
      copier.drain();
    }
    for (int64_t value = 1; value <= 5; ++value)
      EXPECT_TRUE(all_are(copies[static_cast<size_t>(value - 1)], value));
  }
}

TEST(ParallelCopierTest, CopiesAtOnceWhileBackgroundCopiesArePending) {
  ParallelCopier copier(2);
  Numbers slow(4'000'000, 1), slow_copy(slow.size());
  const auto pending = copier.copy_in_background({copy_of(slow, slow_copy)}, {});
  for (int64_t value = 1; value <= 20; ++value) {
    Numbers array(600'000, value), copy(array.size());
    const ParallelCopier::Copy urgent = copy_of(array, copy);
    copier.copy({&urgent, 1});
    ASSERT_TRUE(all_are(copy, value));
  }
  pending->wait();
  EXPECT_TRUE(all_are(slow_copy, 1));
}

TEST(ParallelCopierTest, KeepsTheMemoryUntilItIsCopied) {
  ParallelCopier copier;
  Numbers array(1'000'000, 3);
  Tensor watched(DType::kInt64, {static_cast<int64_t>(array.size())});
  std::byte* const data = watched.mutable_bytes().data();
  copier.copy_in_background({{view_of(array), data}}, {watched});
  copier.drain();
  EXPECT_FALSE(watched.is_shared());
  EXPECT_EQ(watched.flat<int64_t>().back(), 3);
}

TEST(ParallelCopierTest, MakesRemainingCopiesBeforeItIsDestroyed) {
  Numbers array(1'000'000, 1), first(array.size()), second(array.size());
  std::shared_ptr<PendingCopies> pending;
  {
    ParallelCopier copier;
    copier.copy_in_background({copy_of(array, first)}, {});
    pending = copier.copy_in_background({copy_of(array, second)}, {});
  }
  EXPECT_TRUE(all_are(first, 1) && all_are(second, 1));
  pending->wait();
}

TEST(ParallelCopierTest, ServesManyThreads) {
  ParallelCopier copier(3);
  std::vector<std::thread> callers;
  for (int64_t caller = 1; caller <= 4; ++caller)
    callers.emplace_back([&copier, caller] {
      for (int64_t round = 0; round < 20; ++round) {
        Numbers array(300'000, caller * 100 + round), now(array.size()), later(array.size());
        const auto pending = copier.copy_in_background({copy_of(array, later)}, {});
        const ParallelCopier::Copy urgent = copy_of(array, now);
        copier.copy({&urgent, 1});
        if (round % 2 == 0) copier.drain();
        pending->wait();
        EXPECT_TRUE(all_are(now, caller * 100 + round) && all_are(later, caller * 100 + round));
      }
    });
  for (std::thread& caller : callers) caller.join();
}

TEST(ParallelCopierTest, AllocatesNothingOnceItsThreadsAreStarted) {
  ParallelCopier copier(2);
  Numbers array(2'000'000, 1), copy(array.size());
  const ParallelCopier::Copy copies[] = {copy_of(array, copy)};
  copier.copy(copies);
  const AllocationCounter allocations;
  copier.copy(copies);
  copier.drain();
  EXPECT_EQ(allocations.count(), 0);
}

}  // namespace
}  // namespace crochet::internal
