// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace crochet {

// Counts what a thread allocates: its calls of operator new, of every form, since the counter
// was made. For tests of code that is to allocate nothing once it is warm.
//
//   for (int i = 0; i < 10; ++i) session.run(train);
//   const AllocationCounter allocations;
//   session.run(train);
//   EXPECT_EQ(allocations.count(), 0);
//
// Counters on one thread are nested, as their scopes are. A program that uses this class has its
// operator new replaced, by one that counts and calls malloc. What calls malloc itself is not
// counted.
class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;

  // Requires, like largest(): called on the thread that made the counter.
  int64_t count() const;
  // The bytes of the largest one; 0 without any. For tests of code that is not to
  // believe sizes it has read.
  uint64_t largest() const;

 private:
  int64_t at_start_;
  uint64_t largest_before_;
};

}  // namespace crochet
