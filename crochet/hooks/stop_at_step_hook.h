// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// Exactly one of the two is set.
struct StopAtStepHookOptions {
  // Steps to run, counted from the step found when the session is created.
  std::optional<int64_t> num_steps = {};
  // The step at which to stop, whichever worker reaches it.
  std::optional<int64_t> last_step = {};
};

// Requests a stop once the global step reaches a target.
//
// The target is fixed when the first session is created; a session recovered
// from a checkpoint keeps it, so no step is counted twice. A run that is restored
// at the target or past it makes no step.
//
// If several workers train one model, in sessions with a session target, each finishes the step it
// is in when another worker reaches the last step, and makes no other: the final step is less
// than last_step + workers. For this, the step is read once more after each run of the last
// thousand steps or so. A worker that is stalled while the others make more steps than that may
// begin one more.
//
//   Loop loop({.hooks = {StopAtStepHook({.last_step = 10'000})}});
//
// Not thread-safe; the monitored session calls it from one thread.
class CROCHET_EXPORT StopAtStepHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError unless exactly one of the options is set, to 0 or more.
  explicit StopAtStepHook(const StopAtStepHookOptions& options);  // Misspelt? Name the type.

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  std::optional<int64_t> last_step() const override { return last_step_; }

 private:
  // True if the step is to be read after a run that began at `step`: it may reach the last one.
  bool is_near(int64_t step) const;

  std::optional<int64_t> num_steps_;
  std::optional<int64_t> last_step_;
  bool others_train_ = false;             // May train the variables of this session.
  std::optional<int64_t> previous_step_;  // Before the previous run.
  int64_t pace_ = 1;  // The most steps seen between the starts of two runs of this session.
  Output step_;
};

struct StopAfterHookOptions {
  // How long the run may last, including restoring.
  double secs = 0;
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Requests a stop once the run has lasted for some time: for machines that are rented by the hour.
// The time is checked after each step, so leave room for one step and the last checkpoint. It
// counts from the hook's begin, not from that of a run it resumes. The last step is unknown, so a
// progress bar shows no time left.
//
//   Loop loop({.hooks = {StopAfterHook({.secs = 3600})}});
class CROCHET_EXPORT StopAfterHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError unless secs is above 0.
  explicit StopAfterHook(const StopAfterHookOptions& options);  // Misspelt? Name the type.

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;

 private:
  bool is_over() const;
  std::string reason() const;

  double secs_;
  Clock* clock_;  // Not owned.
  Clock::TimePoint start_;
};

}  // namespace crochet::inline v0
