// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

// Counts the allocations of a thread: its calls of any form of operator new since the counter
// was created. For tests of code that must not allocate once it is warm.
//
//   for (int i = 0; i < 10; ++i) session.run(train);
//   const AllocationCounter allocations;
//   session.run(train);
//   EXPECT_EQ(allocations.count(), 0);
//
// Counters on one thread nest like their scopes. In a program that uses this class, operator new is
// replaced by one that counts and calls malloc. Direct calls of malloc are not counted.
class CROCHET_EXPORT AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  // Requires, like largest(): called on the thread that created the counter.
  int64_t count() const;
  // The bytes of the largest allocation; 0 without any. For tests of code that must not
  // trust sizes it has read.
  uint64_t largest() const;

 private:
  int64_t at_start_;
  uint64_t largest_before_;
};

// While it exists, operator new fails on all threads but the one that made it: `length` calls in a
// row, from the one with the number `first` on. For tests of what a thread does when memory is
// short. One at a time.
class CROCHET_EXPORT FailingAllocations {
 public:
  FailingAllocations(int64_t first, int64_t length);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  // The calls so far.
  int64_t count() const;
};

}  // namespace crochet::inline v0
