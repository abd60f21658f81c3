// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "crochet/base/internal/export.h"
#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0::internal {

// Graph::resolve for requests whose values `hook` needs. Throws as that does, and
// InvalidArgumentError for an operation without a value.
CROCHET_EXPORT Fetches resolve_values(const Graph& graph, const Fetches& values,
                                      const SessionRunHook& hook);

// Fetches values periodically, for a hook that needs them every n steps or seconds: with an
// interval of 100 steps after the steps 100, 200, 300, whatever step the run was resumed from;
// with one of seconds, counted from the last trigger or the creation of the session.
//
// The number of steps a run adds is learnt from earlier runs: if it is more than one, the first
// due step may be noticed two runs late.
class CROCHET_EXPORT PeriodicHook : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError unless exactly one interval is set, and above 0.
  PeriodicHook(Fetches values, const SecondOrStepTimerOptions& interval);

  // Throws: FailedPreconditionError without a global step; as resolve_values.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  // Called after a step that is due, with the number of completed steps and the fetched values.
  virtual void look(int64_t step, const FetchValues& values, SessionRunContext& context) = 0;
  void record_trigger(int64_t step);

  Fetches values_;
  std::optional<int64_t> every_steps_;
  SecondOrStepTimer timer_;
  Output step_;
  Fetches request_;         // values_, resolved.
  int64_t start_step_ = 0;  // Before the last run.
  int64_t next_step_ = 0;   // The step that the next run is likely to complete.
  bool requested_ = false;
};

}  // namespace crochet::inline v0::internal
