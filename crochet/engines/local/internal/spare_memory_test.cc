// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/spare_memory.h"

#include <thread>

#include <gtest/gtest.h>

#include "tests/support/wait_until.h"

namespace crochet::local::internal {
namespace {

class SpareMemoryTest : public testing::Test {
 protected:
  SpareMemoryTest() {
    for (int i = 0; i < kVariables; ++i) memory_.expect(kNumBytes);
  }
  static Tensor fresh() { return Tensor(DType::kFloat, {25}); }
  static const std::byte* place_of(const Tensor& tensor) { return tensor.bytes().data(); }

  static constexpr int kVariables = 10;
  static constexpr size_t kNumBytes = 100;
  SpareMemory memory_;
};

TEST_F(SpareMemoryTest, ReusesReturnedMemory) {
  Tensor former = fresh();
  const std::byte* const place = place_of(former);
  memory_.give(std::move(former));
  EXPECT_EQ(place_of(memory_.take(DType::kFloat, {25})), place);
  EXPECT_NE(place_of(memory_.take(DType::kFloat, {25})), nullptr);
}

TEST_F(SpareMemoryTest, ServesAllTensorsOfThatSize) {
  Tensor former = fresh();
  const std::byte* const place = place_of(former);
  memory_.give(std::move(former));
  EXPECT_NE(place_of(memory_.take(DType::kFloat, {26})), place);
  const Tensor taken = memory_.take(DType::kInt16, {10, 5});
  EXPECT_EQ(place_of(taken), place);
  EXPECT_EQ(describe(taken), "int16 [10,5]");
  EXPECT_FALSE(taken.is_shared());
}

TEST_F(SpareMemoryTest, NeverReusesHeldMemory) {
  const Tensor held = fresh();
  memory_.give(held);
  EXPECT_NE(place_of(memory_.take(DType::kFloat, {25})), place_of(held));
}

TEST_F(SpareMemoryTest, MemoryHeldForeverDoesNotBlockTheRest) {
  std::vector<Tensor> held;
  for (int i = 0; i < kVariables; ++i) memory_.give(held.emplace_back(fresh()));
  Tensor free = fresh();
  const std::byte* const place = place_of(free);
  memory_.give(std::move(free));
  bool found = false;
  for (int i = 0; i < kVariables && !found; ++i)
    found = place_of(memory_.take(DType::kFloat, {25})) == place;
  EXPECT_TRUE(found);
}

TEST_F(SpareMemoryTest, KeepsTwoForEachVariable) {
  reset_peak_buffer_usage();
  const size_t before = buffer_usage().num_bytes;
  for (int i = 0; i < 10 * kVariables; ++i) memory_.give(fresh());
  EXPECT_EQ(buffer_usage().num_bytes - before, 2 * kVariables * kNumBytes);
}

TEST_F(SpareMemoryTest, AllocatesLargeMemoryAheadOnceSomeIsMissing) {
  constexpr int64_t kElements = 1 << 18;
  constexpr size_t kLarge = kElements * sizeof(float);
  reset_peak_buffer_usage();
  const size_t before = buffer_usage().num_bytes;
  {
    SpareMemory memory;
    for (int i = 0; i < kVariables; ++i) memory.expect(kLarge);
    EXPECT_EQ(buffer_usage().num_bytes, before);
    const Tensor first = memory.take(DType::kFloat, {kElements});
    wait_until("memory for all variables",
               [&] { return buffer_usage().num_bytes >= before + kVariables * kLarge; });
    std::vector<Tensor> others;
    for (int i = 1; i < kVariables; ++i) others.push_back(memory.take(DType::kFloat, {kElements}));
  }
  EXPECT_LE(buffer_usage().peak_num_bytes, before + (kVariables + 1) * kLarge);
  EXPECT_EQ(buffer_usage().num_bytes, before);
}

TEST_F(SpareMemoryTest, AllocatesMuchSmallMemoryAheadToo) {
  constexpr size_t kMany = 2000;
  constexpr int64_t kElements = 1024;
  constexpr size_t kAll = kMany * kElements * sizeof(float);
  const size_t before = buffer_usage().num_bytes;
  SpareMemory memory;
  for (size_t i = 0; i < kMany; ++i) memory.expect(kElements * sizeof(float));
  const Tensor first = memory.take(DType::kFloat, {kElements});
  wait_until("memory for all variables", [&] { return buffer_usage().num_bytes >= before + kAll; });
}

TEST_F(SpareMemoryTest, LeavesScalarsAndOtherSizesToTheAllocator) {
  memory_.give(Tensor::scalar(1.0f));
  EXPECT_EQ(describe(memory_.take(DType::kFloat, {3})).substr(0, 11), "float32 [3]");
  const size_t before = buffer_usage().num_bytes;
  memory_.give(Tensor(DType::kFloat, {24}));
  EXPECT_EQ(buffer_usage().num_bytes, before);
}

}  // namespace
}  // namespace crochet::local::internal
