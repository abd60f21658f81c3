// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/clock.h"

namespace crochet::inline v0::internal {

// The time by which retention counts hours. It starts at the wall clock's time and continues with
// the steady clock, so that a corrected date or an empty battery neither preserves nor removes a
// checkpoint. A later process does not start before the times written by an earlier one.
//
// Times in files are hints: a time more than 100 years after the wall clock's was not written by a
// clock, and is ignored. (A clock without a battery may start in 1970.)
//
// Not thread-safe.
class RetentionClock {
 public:
  // Requires: `clock` outlives this.
  explicit RetentionClock(const Clock& clock);

  // Seconds since 1970-01-01 UTC, if the wall clock was right at the start.
  double now() const;
  // Moves the start to at least this time, written by an earlier process. now() never decreases.
  void catch_up(double time);
  // A time from a file; now() if it is implausible.
  double plausible(double time) const;

 private:
  bool is_plausible(double time) const;

  const Clock& clock_;
  const Clock::TimePoint start_;
  double start_time_;
};

}  // namespace crochet::inline v0::internal
