// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/copy_memory.h"

#include <set>

#include <gtest/gtest.h>

namespace crochet::local {
namespace {

const Shape kShape = {100};

TEST(CopyMemoryTest, IsOfTheTypeAndShapeThatWasAsked) {
  CopyMemory memory;
  const CopyMemory::Lent lent = memory.lend(DType::kInt16, {3, 40});
  EXPECT_EQ(lent.tensor.dtype(), DType::kInt16);
  EXPECT_EQ(lent.tensor.shape(), Shape({3, 40}));
  EXPECT_EQ(lent.data, lent.tensor.bytes().data());
}

TEST(CopyMemoryTest, IsUsedAgainOnceNobodyHoldsIt) {
  CopyMemory memory;
  const std::byte* const place = memory.lend(DType::kFloat, kShape).data;
  EXPECT_EQ(memory.lend(DType::kFloat, kShape).data, place);
}

TEST(CopyMemoryTest, IsNeverUsedWhileSomebodyHoldsItHoweverManyDo) {
  CopyMemory memory;
  std::vector<Tensor> held;
  std::set<const std::byte*> places;
  for (int i = 0; i < 10; ++i) {
    CopyMemory::Lent lent = memory.lend(DType::kFloat, kShape);
    EXPECT_TRUE(places.insert(lent.data).second);
    held.push_back(std::move(lent.tensor));
  }
}

// Two for saves that overlap; nobody keeps what more of them took.
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

TEST(CopyMemoryTest, IsLetGoWhenTheArrayHasAnotherShape) {
  CopyMemory memory;
  const size_t before = buffer_usage().num_bytes;
  memory.lend(DType::kFloat, kShape);
  for (int64_t size = 50; size < 100; ++size) {
    const CopyMemory::Lent lent = memory.lend(DType::kFloat, {size});
    EXPECT_EQ(lent.tensor.shape(), Shape{size});
  }
  EXPECT_EQ(buffer_usage().num_bytes, before + 99 * 4);
}

}  // namespace
}  // namespace crochet::local
