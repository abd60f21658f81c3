// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

struct GlobalStepWaiterHookOptions {
  // The global step at which this worker starts to train; 0 or less: at once.
  int64_t wait_until_step = 0;
  // The longest wait; unset: no limit.
  std::optional<double> max_secs = {};
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
};

// Delays a worker's first run until the others have brought the global step to a target, so that
// asynchronous workers start one after another. It polls every half second. It waits only once: a
// recovered session does not wait again.
//
//   GlobalStepWaiterHook(staggered_start_step(task, /*k=*/100))
//
// In a run with a group (RankOptions::group) it does not wait: the ranks make each step together.
//
// If the session's coordinator or a signal asks to stop meanwhile, the worker ends
// cleanly without a run: the request is passed on and StopIteration is thrown.
class CROCHET_EXPORT GlobalStepWaiterHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError for a limit that is not above 0.
  explicit GlobalStepWaiterHook(GlobalStepWaiterHookOptions options);  // Misspelt? Name the type.
  explicit GlobalStepWaiterHook(int64_t wait_until_step)
      : GlobalStepWaiterHook(GlobalStepWaiterHookOptions{.wait_until_step = wait_until_step}) {}

  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  // Throws: StopIteration for a stop, DeadlineExceededError after max_secs; the error of a
  // thread of the session.
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;

 private:
  void wait(SessionRunContext& context);
  void stop_if_asked(SessionRunContext& context) const;
  void check_limit(int64_t step, Clock::TimePoint start) const;

  GlobalStepWaiterHookOptions options_;
  Clock* clock_;                              // Not owned.
  const Coordinator* coordinator_ = nullptr;  // Of the current session.
  bool in_group_ = false;
  bool started_ = false;
};

// The step at which worker `task`, counted from 0, may start: k * log(task + 1), rounded down.
// The first starts at once; the distance between two neighbours decreases.
// Throws: InvalidArgumentError for a negative task or k.
CROCHET_EXPORT int64_t staggered_start_step(int task, double k);

}  // namespace crochet::inline v0
