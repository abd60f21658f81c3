// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// Exactly one of the intervals is set.
struct ProfilerHookOptions {
  std::optional<int64_t> save_steps = {};
  std::optional<double> save_secs = {};
  // Where the profiles go; empty: the current directory.
  std::string output_dir = {};
  // Arrows from each operation to those that use its values, as far as the engine reports them.
  bool show_dataflow = true;
  // A curve of the bytes that the operations' values occupy.
  bool show_memory = false;
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// Periodically times the operations of a run, to show where a step's time goes. The profile of
// step n is `<output_dir>/timeline-<n>.json`, which ui.perfetto.dev and chrome://tracing open;
// TensorBoard finds it in the directory's event file under the tag "step_<n>".
//
//   Loop loop({.hooks = {ProfilerHook({.save_steps = 1000, .output_dir = "runs/digits"})}});
//
// The first run of a session is never profiled: it makes plans that later runs reuse. A step
// that is repeated after a recovery replaces its file. Profiles never end a run: one that
// cannot be written is logged.
class CROCHET_EXPORT ProfilerHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError unless exactly one interval is set, and above 0.
  explicit ProfilerHook(const ProfilerHookOptions& options);  // Misspelt? Name the type.

  // Throws: FailedPreconditionError without a global step.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  bool is_for_chief() const override { return true; }

 private:
  void save(int64_t step, const RunMetadata& metadata);

  ProfilerHookOptions options_;
  FileSystem* files_;  // Not owned.
  SecondOrStepTimer timer_;
  std::shared_ptr<SummaryWriter> writer_;
  std::optional<int64_t>
      next_step_;  // The step the next run should complete; unset before the first.
  bool requested_ = false;
};

}  // namespace crochet::inline v0
