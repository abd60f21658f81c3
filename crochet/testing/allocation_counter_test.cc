// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/allocation_counter.h"

#include <cstdint>
#include <new>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet {
namespace {

constexpr std::align_val_t kAlignment = std::align_val_t(64);

// Called as functions, since the compiler may elide a new-expression.
void check_aligned(void* memory) {
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % static_cast<size_t>(kAlignment), 0);
  ::operator delete(memory, kAlignment);
}

TEST(AllocationCounterTest, CountsNothingWithoutAllocations) {
  const AllocationCounter allocations;
  EXPECT_EQ(allocations.count(), 0);
}

TEST(AllocationCounterTest, ReportsTheLargest) {
  const AllocationCounter allocations;
  EXPECT_EQ(allocations.largest(), 0);
  ::operator delete(::operator new(100));
  ::operator delete(::operator new(50));
  {
    const AllocationCounter inner;
    ::operator delete(::operator new(70));
    EXPECT_EQ(inner.largest(), 70);
  }
  EXPECT_EQ(allocations.largest(), 100);
  {
    const AllocationCounter inner;
    ::operator delete[](::operator new[](300));
  }
  EXPECT_EQ(allocations.largest(), 300);
}

TEST(AllocationCounterTest, CountsEveryForm) {
  const AllocationCounter allocations;
  ::operator delete(::operator new(0));
  ::operator delete[](::operator new[](10));
  ::operator delete(::operator new(10, std::nothrow));
  ::operator delete[](::operator new[](10, std::nothrow));
  EXPECT_EQ(allocations.count(), 4);
  check_aligned(::operator new(10, kAlignment));
  check_aligned(::operator new[](100, kAlignment));
  check_aligned(::operator new(64, kAlignment, std::nothrow));
  check_aligned(::operator new[](65, kAlignment, std::nothrow));
  EXPECT_EQ(allocations.count(), 8);
}

TEST(AllocationCounterTest, CountsAllocationsOfTheLibrary) {
  const AllocationCounter allocations;
  std::string text(1000, 'x');
  text.reserve(2 * text.capacity());
  EXPECT_EQ(allocations.count(), 2);
}

TEST(AllocationCounterTest, CountsFromItsConstruction) {
  ::operator delete(::operator new(10));
  const AllocationCounter first;
  ::operator delete(::operator new(10));
  const AllocationCounter second;
  ::operator delete(::operator new(10));
  EXPECT_EQ(first.count(), 2);
  EXPECT_EQ(second.count(), 1);
}

TEST(AllocationCounterTest, IgnoresOtherThreads) {
  int64_t in_thread = 0;
  std::thread thread([&] {
    const AllocationCounter allocations;
    ::operator delete(::operator new(10));
    in_thread = allocations.count();
  });
  const AllocationCounter allocations;
  thread.join();
  EXPECT_EQ(in_thread, 1);
  EXPECT_EQ(allocations.count(), 0);
}

// With a size that cannot be rounded up: a sanitizer's malloc aborts on other huge sizes.
TEST(AllocationCounterTest, ThrowsWithoutMemory) {
  volatile size_t too_much = SIZE_MAX - 10;  // Volatile: avoids a compiler warning.
  EXPECT_THROW(::operator delete(::operator new(too_much, kAlignment), kAlignment), std::bad_alloc);
  EXPECT_EQ(::operator new(too_much, kAlignment, std::nothrow), nullptr);
}

}  // namespace
}  // namespace crochet
