// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

// What becomes of a process that is hung, once its stacks are written.
enum class HungAction {
  kWarn,   // Nothing: it may be slow, and not hung.
  kStop,   // It gets SIGTERM: what waits within crochet ends, and the run with its last checkpoint.
  kAbort,  // It gets SIGABRT, so that a core file is written, and a launcher starts it again.
};

struct WatchdogHookOptions {
  // How long a step may take, with its hooks, saves and waits for other ranks: this time, or
  // `factor` times the median of the last steps, whichever is more; while a save is being written
  // in the background, as long as that.
  double min_step_secs = 60;
  double factor = 20;
  // What does not count as part of a step: how long a session may take to be created, with its
  // restore and the first step; a save, in the background or while training waits; an evaluation;
  // and the end.
  double restore_secs = 3600;
  double save_secs = 3600;
  double evaluation_secs = 3600;
  double end_secs = 3600;
  HungAction action = HungAction::kWarn;
  // The directory of the run, where stacks are written as hung-<step>.txt, and recorded in the
  // journal. Empty: they are only written to the error stream.
  std::string dir = {};
  // Values whose last numbers are written with them, at most 8.
  std::vector<std::string> values = {};
  // The command `crochet`, found in PATH unless it has a slash.
  std::string helper = "crochet";
};

// Notices a step, a restore, a save or an end that takes too long, and writes down where every
// thread of the process is, with function, file and line: a helper process, started with the first
// session, looks from outside. Nothing is allocated in the process that is hung.
//
//   Loop loop({.checkpoint = {.dir = "runs/x"}, .hooks = {WatchdogHook({.dir = "runs/x"})}});
//
// If the helper cannot be started, the log has a warning, and the run is not watched. Once in a
// process: another one is not watched either.
class CROCHET_EXPORT WatchdogHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for options that are out of range.
  explicit WatchdogHook(WatchdogHookOptions options);
  ~WatchdogHook() override;
  WatchdogHook(WatchdogHook&&) noexcept;
  WatchdogHook& operator=(WatchdogHook&&) = delete;

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void before_end(Session& session) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  // Its end comes last: that of the others is watched.
  HookPlace place() const override { return HookPlace::kLast; }

 private:
  class Watched;

  WatchdogHookOptions options_;
  Fetches values_ = Fetches::List{};
  std::unique_ptr<Watched> watched_;  // Between begin and the end.
};

}  // namespace crochet::inline v0
