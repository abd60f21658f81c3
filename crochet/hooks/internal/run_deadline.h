// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/saver/save_ticket.h"

namespace crochet::inline v0::internal {

// Ends a run early enough for its last save before the process is ended from outside.
class CROCHET_EXPORT RunDeadline {
 public:
  // `at` in seconds since 1970-01-01 UTC. `saves` returns those of the run so far; empty: it saves
  // nothing. Requires: `clock` outlives this.
  RunDeadline(double at, std::function<SaveStatistics()> saves, Clock& clock);

  // Called again and again, at most a step, or a second, after the last call. Why the run has to
  // end now; unset if it may make a further step.
  std::optional<std::string> reached();

 private:
  void measure();

  double at_;
  std::function<SaveStatistics()> saves_;
  Clock* clock_;  // Not owned.
  std::optional<Clock::TimePoint> last_call_;
  SaveStatistics last_saves_;
  double save_secs_ = 0;  // Of the slowest save, from its snapshot until it was published.
  double call_secs_ = 0;  // Between two calls: the longest, of which older ones count less.
};

// The end of the allocation in which Slurm runs this process: SLURM_JOB_END_TIME. Unset without
// one; what is not a time is logged.
CROCHET_EXPORT std::optional<double> slurm_end_time();

}  // namespace crochet::inline v0::internal
