// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

namespace crochet::inline v0 {

// Counts the attacks of one kind made by a test: a member of its fixture, or a local variable. The
// number becomes a property of the test; scripts/attack-counts adds up those of all tests for
// docs/testing.md.
//
// Thread-safe.
class AttackCount {
 public:
  // "power_cuts", "io_errors" or "damaged_files".
  explicit AttackCount(const char* kind) : kind_(kind) {}
  ~AttackCount() { testing::Test::RecordProperty(kind_, std::to_string(number_)); }
  AttackCount(const AttackCount&) = delete;
  AttackCount& operator=(const AttackCount&) = delete;

  void add(int64_t number = 1) { number_ += number; }
  int64_t number() const { return number_; }

 private:
  const char* const kind_;
  std::atomic<int64_t> number_ = 0;
};

}  // namespace crochet::inline v0
