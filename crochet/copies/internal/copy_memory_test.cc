// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/copy_memory.h"

#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/scheduling.h"

namespace crochet::internal {
namespace {

const Shape kShape = {100};

TEST(CopyMemoryTest, HasTheRequestedTypeAndShape) {
  CopyMemory memory;
  const CopyMemory::Lent lent = memory.lend(DType::kInt16, {3, 40});
  EXPECT_EQ(lent.tensor.dtype(), DType::kInt16);
  EXPECT_EQ(lent.tensor.shape(), Shape({3, 40}));
  EXPECT_EQ(lent.data, lent.tensor.bytes().data());
}

TEST(CopyMemoryTest, IsReusedOnceNobodyHoldsIt) {
  CopyMemory memory;
  const std::byte* const place = memory.lend(DType::kFloat, kShape).data;
  EXPECT_EQ(memory.lend(DType::kFloat, kShape).data, place);
}

TEST(CopyMemoryTest, IsNeverReusedWhileItIsHeld) {
  CopyMemory memory;
  std::vector<Tensor> held;
  std::set<const std::byte*> places;
  for (int i = 0; i < 10; ++i) {
    CopyMemory::Lent lent = memory.lend(DType::kFloat, kShape);
    EXPECT_TRUE(places.insert(lent.data).second);
    held.push_back(std::move(lent.tensor));
  }
}

// Two are kept for saves that overlap; memory beyond that is freed.
TEST(CopyMemoryTest, IsBounded) {
  CopyMemory memory;
  const size_t before = buffer_usage().num_bytes;
  {
    std::vector<Tensor> held;
    for (int i = 0; i < 10; ++i) held.push_back(memory.lend(DType::kFloat, kShape).tensor);
    EXPECT_EQ(buffer_usage().num_bytes, before + 10 * 400);
  }
  EXPECT_EQ(buffer_usage().num_bytes, before + 2 * 400);
}

TEST(CopyMemoryTest, IsFreedWhenTheArrayChangesItsShape) {
  CopyMemory memory;
  const size_t before = buffer_usage().num_bytes;
  memory.lend(DType::kFloat, kShape);
  for (int64_t size = 50; size < 100; ++size) {
    const CopyMemory::Lent lent = memory.lend(DType::kFloat, {size});
    EXPECT_EQ(lent.tensor.shape(), Shape{size});
  }
  EXPECT_EQ(buffer_usage().num_bytes, before + 99 * 4);
}

// The tensor that the writer of a save holds; released when the memory is first tested.
Tensor held_by_the_writer;

class CopyMemoryRaceTest : public testing::TestWithParam<std::pair<DType, Shape>> {};

TEST_P(CopyMemoryRaceTest, LendsTheRequestedShapeThoughOldMemoryIsReleasedMeanwhile) {
  CopyMemory memory;
  held_by_the_writer = memory.lend(DType::kFloat, kShape).tensor;
  const auto& [dtype, shape] = GetParam();
  const ScopedSchedulingHook writer_is_done([]() noexcept {
    // Moved out first: the release is a scheduling point, too.
    const Tensor released = std::exchange(held_by_the_writer, Tensor());
  });
  const CopyMemory::Lent lent = memory.lend(dtype, shape);
  EXPECT_EQ(describe(lent.tensor), describe(Tensor(dtype, shape)));
  EXPECT_EQ(lent.tensor.buffer().size(), Tensor::num_bytes(dtype, shape));
  EXPECT_EQ(lent.data, lent.tensor.bytes().data());
}

INSTANTIATE_TEST_SUITE_P(OtherArrays, CopyMemoryRaceTest,
                         testing::Values(std::pair(DType::kFloat, Shape{101}),
                                         std::pair(DType::kFloat, Shape{99}),
                                         std::pair(DType::kFloat, Shape{10, 10}),
                                         std::pair(DType::kInt32, Shape{100}),
                                         std::pair(DType::kDouble, Shape{50}),
                                         std::pair(DType::kFloat, Shape{1 << 20})));

}  // namespace
}  // namespace crochet::internal
