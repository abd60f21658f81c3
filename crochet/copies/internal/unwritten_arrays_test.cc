// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/unwritten_arrays.h"

#include <array>

#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

class UnwrittenArraysTest : public testing::Test {
 protected:
  uint64_t version_of(size_t begin, size_t end) {
    return arrays_.version_of(bytes_.data() + begin, bytes_.data() + end, identity_);
  }
  void record_write(size_t begin, size_t end) {
    arrays_.record_write(bytes_.data() + begin, bytes_.data() + end);
  }

  std::array<std::byte, 100> bytes_;
  std::shared_ptr<const void> identity_ = std::make_shared<int>();
  UnwrittenArrays arrays_;
};

TEST_F(UnwrittenArraysTest, AWriteToAnyByteGivesANewVersion) {
  for (const auto& [begin, end] : std::vector<std::pair<size_t, size_t>>{
           {10, 11}, {19, 20}, {0, 11}, {19, 100}, {0, 100}, {12, 13}}) {
    const uint64_t before = version_of(10, 20);
    const uint64_t other = version_of(30, 40);
    EXPECT_EQ(version_of(10, 20), before);
    record_write(begin, end);
    EXPECT_NE(version_of(10, 20), before) << begin << " to " << end;
    EXPECT_EQ(version_of(30, 40) == other, end <= 30);
  }
  const uint64_t before = version_of(10, 20);
  for (const auto& [begin, end] : std::vector<std::pair<size_t, size_t>>{{0, 10}, {20, 30}})
    record_write(begin, end);
  EXPECT_EQ(version_of(10, 20), before);
}

TEST_F(UnwrittenArraysTest, OtherMemoryIsAnotherArray) {
  const uint64_t before = version_of(10, 20);
  EXPECT_NE(version_of(10, 21), before);
  EXPECT_NE(version_of(10, 20), before);  // It overlapped the other one.
  const uint64_t again = version_of(10, 20);
  // Memory that was freed, and is in use again.
  identity_ = std::make_shared<int>();
  EXPECT_NE(version_of(10, 20), again);
}

TEST_F(UnwrittenArraysTest, ForgetsWhatASnapshotDidNotHave) {
  arrays_.begin_snapshot();
  const uint64_t first = version_of(10, 20);
  const uint64_t second = version_of(30, 40);
  arrays_.begin_snapshot();
  EXPECT_EQ(version_of(10, 20), first);
  arrays_.begin_snapshot();
  EXPECT_EQ(version_of(10, 20), first);
  EXPECT_NE(version_of(30, 40), second);
}

TEST_F(UnwrittenArraysTest, AQuarterIsMany) {
  EXPECT_FALSE(arrays_.are_many());
  for (size_t begin = 0; begin < 100; begin += 10) version_of(begin, begin + 10);
  for (size_t begin = 0; begin < 100; begin += 10) {
    EXPECT_EQ(arrays_.are_many(), begin <= 70) << begin;
    record_write(begin, begin + 1);
  }
  EXPECT_TRUE(arrays_.empty());
  version_of(0, 10);
  EXPECT_TRUE(arrays_.are_many());
}

}  // namespace
}  // namespace crochet::internal
