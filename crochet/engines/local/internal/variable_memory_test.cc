// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/variable_memory.h"

#include <gtest/gtest.h>

#include "crochet/engines/local/internal/spare_memory.h"

namespace crochet::local::internal {
namespace {

Tensor fives() { return Tensor::from<float>(std::vector<float>(100, 5)); }

TEST(VariableMemoryTest, CopiesTheInitialValue) {
  SpareMemory spare;
  const Tensor initial = fives();
  VariableMemory memory(initial, spare);
  EXPECT_EQ(memory.value(), initial);
  EXPECT_NE(memory.value().bytes().data(), initial.bytes().data());
  EXPECT_FALSE(initial.is_shared());
}

TEST(VariableMemoryTest, IsNotMovedIfNobodyElseHoldsIt) {
  SpareMemory spare;
  VariableMemory memory(fives(), spare);
  const std::byte* const place = memory.value().bytes().data();
  memory.make_unique();
  EXPECT_EQ(memory.value().bytes().data(), place);
}

TEST(VariableMemoryTest, IsCopiedIfSomebodyHoldsIt) {
  SpareMemory spare;
  VariableMemory memory(fives(), spare);
  const Tensor held = memory.value();
  memory.make_unique();
  EXPECT_EQ(memory.value(), held);
  memory.value().mutable_flat<float>()[0] = 1;
  EXPECT_EQ(held.flat<float>()[0], 5);
}

TEST(VariableMemoryTest, SwapsBetweenTwoBuffers) {
  SpareMemory spare;
  VariableMemory memory(fives(), spare);
  const std::byte* const place = memory.value().bytes().data();
  memory.prepare_next();
  EXPECT_NE(memory.next().bytes().data(), place);
  memory.commit_next();
  memory.prepare_next();
  EXPECT_EQ(memory.next().bytes().data(), place);
}

TEST(VariableMemoryTest, NeverReusesHeldMemory) {
  SpareMemory spare;
  VariableMemory memory(fives(), spare);
  std::vector<Tensor> held;
  for (int i = 0; i < 10; ++i) {
    held.push_back(memory.value());
    memory.prepare_next();
    EXPECT_FALSE(memory.next().is_shared());
    memory.next().mutable_flat<float>()[0] = static_cast<float>(i);
    memory.commit_next();
  }
  for (size_t i = 1; i < held.size(); ++i)
    EXPECT_EQ(held[i].flat<float>()[0], static_cast<float>(i - 1));
}

TEST(VariableMemoryTest, SharesFreeMemoryWithOtherVariables) {
  SpareMemory spare;
  VariableMemory first(fives(), spare);
  VariableMemory second(fives(), spare);
  const std::byte* place = nullptr;
  {
    const Tensor held = first.value();
    place = held.bytes().data();
    first.make_unique();  // By a copy.
  }
  const Tensor held = second.value();
  second.make_unique();
  EXPECT_EQ(second.value().bytes().data(), place);
}

TEST(VariableMemoryTest, HoldsScalarsAndStringsToo) {
  SpareMemory spare;
  VariableMemory number(Tensor::scalar(1), spare);
  number.prepare_next();
  number.next().mutable_flat<int>()[0] = 2;
  EXPECT_EQ(number.value(), Tensor::scalar(1));
  number.commit_next();
  EXPECT_EQ(number.value(), Tensor::scalar(2));
  VariableMemory text(Tensor::from({"a"}), spare);
  const Tensor held = text.value();
  text.make_unique();
  text.value().mutable_strings()[0] = "b";
  EXPECT_EQ(held.strings()[0], "a");
}

}  // namespace
}  // namespace crochet::local::internal
