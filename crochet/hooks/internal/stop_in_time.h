// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// Ends a loop before its process is ended from outside. Of a hook, which knows when that is, and
// measures how long a run takes, so that the next one is not the one too many.
class CROCHET_EXPORT StopInTime {
 public:
  explicit StopInTime(Clock& clock) : clock_(&clock) {}

  // In after_create_session: what follows is the first run.
  void begin() { last_ = next_request_ = clock_->coarse_now(); }
  // In each after_run.
  void measure();
  // In after_run, each time until then. `time` in seconds since 1970-01-01 UTC; `reason` outlives
  // the run. The savers stop the loop earlier, for their last save. Requires: measure().
  void request(SessionRunContext& context, double time, std::string_view reason);

 private:
  Clock* clock_;  // Not owned.
  Clock::TimePoint last_;
  Clock::TimePoint next_request_;
  double run_secs_ = 0;  // The longest, of which older ones count less.
};

}  // namespace crochet::inline v0::internal
