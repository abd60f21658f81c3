// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

namespace internal {
class SignalHandlers;
class TimeLedger;
}  // namespace internal

// At most one of the intervals is set, and exactly one without signals.
struct ProfilerHookOptions {
  std::optional<int64_t> save_steps = {};
  std::optional<double> save_secs = {};
  // Signals that ask for a profile of the next steps: `kill -USR2 <pid>`, for {SIGUSR2}.
  std::vector<int> signals = {};
  // The steps of a profile.
  int64_t num_steps = 1;
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

// Times steps periodically, or when a signal asks for it, to show where their time goes: the
// operations, what each hook takes, and the saves that are written meanwhile. The profile of the
// steps up to n is `<output_dir>/timeline-<n>.json`, which ui.perfetto.dev and chrome://tracing
// open; TensorBoard finds the operations in the directory's event file under the tag "step_<n>".
//
//   Loop loop({.hooks = {ProfilerHook({.save_steps = 1000, .output_dir = "runs/digits"})}});
//
// The first run of a session is never profiled: it makes plans that later runs reuse. A step
// that is repeated after a recovery replaces its file. Profiles never end a run: one that
// cannot be written is logged.
class CROCHET_EXPORT ProfilerHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError unless exactly one interval is set, and above 0, or none but
  // signals that can be handled; if num_steps is not above 0.
  explicit ProfilerHook(const ProfilerHookOptions& options);  // Misspelt? Name the type.

  ~ProfilerHook() override;
  ProfilerHook(ProfilerHook&&) noexcept;
  ProfilerHook& operator=(ProfilerHook&&) = delete;

  // Throws: FailedPreconditionError without a global step, or if another hook handles one of the
  // signals.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  bool is_for_chief() const override { return true; }
  // After all others, so that a profile has what they do in its last step.
  HookPlace place() const override { return HookPlace::kLast; }

 private:
  struct Window;

  bool is_due() const;
  void save(int64_t step);

  ProfilerHookOptions options_;
  FileSystem* files_;  // Not owned.
  std::optional<SecondOrStepTimer> timer_;
  std::shared_ptr<internal::SignalHandlers> handlers_;  // Set between begin and the end.
  internal::TimeLedger* times_ = nullptr;               // The graph's, from begin on.
  std::shared_ptr<SummaryWriter> writer_;
  // The step that the next run should complete; unset before the first.
  std::optional<int64_t> next_step_;
  bool is_signalled_ = false;
  std::unique_ptr<Window> window_;  // The steps that are being profiled.
};

}  // namespace crochet::inline v0
