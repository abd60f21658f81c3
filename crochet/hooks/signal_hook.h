// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <memory>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

namespace internal {
class SignalHandlers;
}  // namespace internal

// Ends a run cleanly when the process receives one of these signals: the step is finished, the
// state saved, hooks end. Launchers and batch systems send several signals for one request, so
// those of the next second change nothing. To end the process at once, without its last save, press
// Ctrl-C again after more than a second, or send a third signal, each more than a second after the
// one before. A signal that the process ignores when the run begins, as under nohup, stays ignored.
//
//   Loop loop({.hooks = {SignalHook({SIGINT, SIGTERM}), ...}});
//   const RunReport report = loop.run(body);
//   return report.exit_code();
//
// The handlers are installed in begin; the previous ones are restored in end, on_error and the
// destructor. A handler only sets pending_signal(), which restoring, waiting and
// evaluating check too. The flag stays set afterwards: a process that was asked to end starts
// no further run. set_pending_signal(0) clears it.
class CROCHET_EXPORT SignalHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for no signals, or one that cannot be handled.
  explicit SignalHook(std::vector<int> signals);
  ~SignalHook() override;
  SignalHook(SignalHook&&) noexcept;
  SignalHook& operator=(SignalHook&&) = delete;

  // Throws: FailedPreconditionError if another hook handles one of the signals now.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;
  // Last, so that the handlers are still installed during the last save.
  HookPlace place() const override { return HookPlace::kLast; }

 private:
  std::vector<int> signals_;
  std::shared_ptr<internal::SignalHandlers> handlers_;  // Set between begin and the end.
};

namespace internal {
class SignalHandlers;
}  // namespace internal

// Saves a checkpoint when the process receives one of these signals, after the current step, and
// continues. For batch systems that announce the end, and for people:
//
//   Loop loop({.hooks = {SaveOnSignalHook({SIGUSR1}), SignalHook({SIGINT, SIGTERM})}, ...});
//   $ kill -USR1 <pid>
//
// Signals that arrive during one step make one save. The handlers are installed in begin; the
// previous ones are restored in end, on_error and the destructor: outside a run, SIGUSR1 ends the
// process. A signal that the process ignores when the run begins stays ignored.
class CROCHET_EXPORT SaveOnSignalHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for no signals, or one that cannot be handled.
  explicit SaveOnSignalHook(std::vector<int> signals);
  ~SaveOnSignalHook() override;
  SaveOnSignalHook(SaveOnSignalHook&&) noexcept;
  SaveOnSignalHook& operator=(SaveOnSignalHook&&) = delete;

  // Throws: FailedPreconditionError if another hook handles one of the signals now.
  void begin(Graph& graph) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;
  void on_error(std::exception_ptr error) override;

 private:
  std::vector<int> signals_;
  std::shared_ptr<internal::SignalHandlers> handlers_;  // Set between begin and the end.
};

}  // namespace crochet::inline v0
