// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/base/clock.h"
#include "crochet/base/export.h"
#include "crochet/monitor/session_run_hook.h"

namespace crochet::inline v0 {

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
