// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/clock.h"

namespace crochet::internal {

// The time by which retention counts hours. It starts as the wall clock's and goes on with the
// steady one, so that an administrator who corrects the date, or a battery that is empty, neither
// preserves a checkpoint nor removes one. A later process starts after what an earlier one wrote.
//
// Times in files are hints: one of more than 100 years beyond the wall clock's was not written by a
// clock, and is not believed. (A clock without a battery may start in 1970.)
//
// Not thread-safe.
class RetentionClock {
 public:
  // Requires: `clock` outlives this.
  explicit RetentionClock(const Clock& clock);

  // Seconds since 1970-01-01 UTC, if the wall clock was right at the start.
  double now() const;
  // An earlier process wrote this time: this one began no sooner. now() never decreases by it.
  void catch_up(double time);
  // A time that a file has; now() if it is not believed.
  double plausible(double time) const;

 private:
  bool is_plausible(double time) const;

  const Clock& clock_;
  const Clock::TimePoint start_;
  double start_time_;
};

}  // namespace crochet::internal
