// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/libtorch/internal/pinned_memory.h"

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace crochet {
namespace {

using libtorch::internal::PinnedMemory;

TEST(PinnedMemoryTest, IsWhatTheTensorShows) {
  PinnedMemory memory;
  const PinnedMemory::Lent lent = memory.lend(torch::empty({2, 3}));
  lent.piece->memory().fill_(5);
  EXPECT_EQ(lent.tensor, Tensor::from(std::vector<float>(6, 5), Shape{2, 3}));
}

// Also of a size that tensors keep in the object.
TEST(PinnedMemoryTest, MayBeFilledLater) {
  PinnedMemory memory;
  const PinnedMemory::Lent lent = memory.lend(torch::empty({}, torch::kInt64));
  const Tensor copy = lent.tensor;
  lent.piece->memory().fill_(5);
  EXPECT_EQ(copy.scalar<int64_t>(), 5);
}

TEST(PinnedMemoryTest, IsLentAgainOnceTheLastTensorIsGone) {
  PinnedMemory memory;
  PinnedMemory::Lent first = memory.lend(torch::empty({8}));
  const std::byte* const data = first.tensor.bytes().data();
  std::optional<Tensor> copy = first.tensor;
  first.tensor.reset();
  {
    const PinnedMemory::Lent second = memory.lend(torch::empty({8}));
    EXPECT_NE(second.tensor.bytes().data(), data);
  }
  std::jthread([&] { copy.reset(); }).join();
  EXPECT_EQ(memory.num_free(), 2);
  EXPECT_EQ(memory.lend(torch::empty({4, 2})).tensor.num_bytes(), 32);
  std::vector<PinnedMemory::Lent> both;
  both.push_back(memory.lend(torch::empty({8})));
  both.push_back(memory.lend(torch::empty({8})));
  EXPECT_TRUE(both[0].tensor.bytes().data() == data || both[1].tensor.bytes().data() == data);
}

TEST(PinnedMemoryTest, IsNotLentAgainIfItIsAbandoned) {
  PinnedMemory memory;
  memory.lend(torch::empty({8})).piece->abandon();
  EXPECT_EQ(memory.num_free(), 0);
}

TEST(PinnedMemoryTest, IsFreedIfNoTensorHasItsSizeAnyMore) {
  PinnedMemory memory;
  for (int size = 1; size <= 1000; ++size) {
    memory.lend(torch::empty({size}));
    memory.lend(torch::empty({5000}));
  }
  EXPECT_LT(memory.num_free(), 40);
}

TEST(PinnedMemoryTest, MayBeReleasedAfterThePool) {
  auto memory = std::make_unique<PinnedMemory>();
  PinnedMemory::Lent lent = memory->lend(torch::empty({8}));
  memory.reset();
  lent.piece->memory().fill_(5);
  EXPECT_EQ(lent.tensor.flat<float>()[7], 5);
}

}  // namespace
}  // namespace crochet::internal
