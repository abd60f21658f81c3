// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

namespace crochet::inline v0::internal {

// Estimates the duration of a save from earlier ones: rather too long than too short, since it
// decides whether a save can be finished before a process is killed.
//
// A value.
class SaveEstimate {
 public:
  // Records that a save of `bytes` bytes took `seconds` seconds.
  void measured(uint64_t bytes, double seconds);
  // The estimated seconds for a save of `bytes` bytes.
  double seconds_for(uint64_t bytes) const;

 private:
  struct Save {
    uint64_t bytes;
    double seconds;
  };
  std::deque<Save> measured_;  // The last few.
};

}  // namespace crochet::inline v0::internal
