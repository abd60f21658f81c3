// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/hooks/internal/stop_in_time.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// Ends a run early enough for its last save before the process is ended from outside, at a time
// that is known from the start. Of the chief.
class CROCHET_EXPORT DeadlineHook final : public SessionRunHook {
 public:
  // `time` in seconds since 1970-01-01 UTC. Requires: `clock` outlives this.
  DeadlineHook(double time, Clock& clock);

  void after_create_session(Session&, Coordinator&) override { stop_.begin(); }
  void after_run(SessionRunContext& context, const SessionRunValues&) override;
  bool is_for_chief() const override { return true; }
  std::string name() const override { return "crochet"; }

 private:
  double time_;
  std::string reason_;
  StopInTime stop_;
};

// The end of the allocation in which Slurm runs this process: SLURM_JOB_END_TIME. Unset without
// one; what is not a time is logged.
CROCHET_EXPORT std::optional<double> slurm_end_time();

}  // namespace crochet::inline v0::internal
