// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/no_options.h"
#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// At most one of the intervals is set; with neither, every 100 steps.
struct StepCounterHookOptions {
  std::optional<int64_t> every_n_steps = {};
  std::optional<double> every_n_secs = {};
  // Where the curve goes: a directory or a writer; with neither, the rate is only logged.
  std::string output_dir = {};
  std::shared_ptr<SummaryWriter> summary_writer = {};
  // The steps that one run is expected to make.
  int64_t steps_per_run = 1;
  // The least time between two lines in the log; the curve has every point.
  double min_log_secs = 0;
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Logs the steps made per second and writes them as a curve named after the step:
// "global_step/sec". The first trigger starts the clock; so does the first one after a recovery
// that takes the step back to before the last trigger. Warns if the step does not advance, at most
// five times.
class CROCHET_EXPORT StepCounterHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError if both intervals are given, or one that is not above 0.
  explicit StepCounterHook(StepCounterHookOptions options = {});  // Misspelt? Name the type.
  explicit StepCounterHook(internal::NoOptions) : StepCounterHook() {}

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  bool is_for_chief() const override { return true; }

 private:
  void report(int64_t step, const SecondOrStepTimer::Elapsed& elapsed);
  void warn_if_stuck(int64_t step);

  StepCounterHookOptions options_;
  SecondOrStepTimer timer_;
  std::shared_ptr<SummaryWriter> writer_;
  Output step_;
  std::string tag_;  // "global_step/sec".
  std::optional<int64_t> last_step_;
  double secs_since_log_ = 0;
  int warnings_ = 0;
};

}  // namespace crochet::inline v0
