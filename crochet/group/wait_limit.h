// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "crochet/base/clock.h"
#include "crochet/base/export.h"

namespace crochet::inline v0 {

// A limit of the time for which a call waits for other processes. It counts only time in which this
// process ran: one that was suspended (SIGSTOP, Slurm, a laptop's sleep) has not given the others
// their time. For that, a caller that waits looks often:
//
//   WaitLimit limit(clock, seconds);
//   while (!has_arrived()) {
//     if (limit.is_over()) throw ...;
//     sleep(limit.pause());
//   }
class CROCHET_EXPORT WaitLimit {
 public:
  // Requires: the clock outlives this; `secs` is above 0.
  WaitLimit(Clock& clock, double secs);
  // A part of a longer wait, which it counts for as well, and ends with. Requires: that one
  // outlives this.
  WaitLimit(WaitLimit& whole, double secs);

  // True once the limit is used up. Of the time since the last call it counts a few pauses at most.
  bool is_over();
  // The longest that the caller may sleep until it calls is_over() again.
  Clock::Duration pause() const;
  Clock::Duration rest() const { return limit_ - used_; }
  // At most the limit.
  double waited_secs() const { return to_seconds(std::min(used_, limit_)); }

 private:
  Clock& clock_;
  WaitLimit* const whole_ = nullptr;
  const Clock::Duration limit_;
  Clock::TimePoint looked_;  // The last time.
  Clock::Duration used_{};
};

}  // namespace crochet::inline v0
