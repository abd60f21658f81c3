// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/clock.h"

namespace crochet::internal {

// The time by which retention counts hours. It starts as the wall clock's and goes on with the
// steady one, so that an administrator who corrects the date, or a battery that is empty, neither
// preserves a checkpoint nor lets one go. A later process starts behind what an earlier one wrote.
//
// Not thread-safe.
class RetentionClock {
 public:
  // Requires: `clock` outlives this.
  explicit RetentionClock(const Clock& clock);

  // Seconds since 1970-01-01 UTC, if the wall clock was right at the start.
  double now() const;
  // An earlier process wrote this time: this one began no sooner.
  void catch_up(double time);

 private:
  const Clock& clock_;
  const Clock::TimePoint start_;
  double start_time_;
};

}  // namespace crochet::internal
