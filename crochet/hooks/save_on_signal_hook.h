// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <memory>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/monitor/session_run_hook.h"

namespace crochet::inline v0 {

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
