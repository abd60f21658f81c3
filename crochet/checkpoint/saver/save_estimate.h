// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

namespace crochet::internal {

// Foretells how long a save will take, from those before it: rather too long than too short, as it
// is asked whether a save can be finished before a process is killed.
//
// A value.
class SaveEstimate {
 public:
  // A save of so many bytes was written in so many seconds.
  void measured(uint64_t bytes, double seconds);
  // Seconds for a save of so many bytes.
  double seconds_for(uint64_t bytes) const;
  bool has_measured() const { return !measured_.empty(); }

 private:
  struct Save {
    uint64_t bytes;
    double seconds;
  };
  std::deque<Save> measured_;  // The last few.
};

}  // namespace crochet::internal
