// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/global_step_waiter_hook.h"

#include <cmath>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/hooks/internal/global_step.h"
#include "crochet/ranks/ranks.h"

namespace crochet::inline v0 {
namespace {

constexpr std::chrono::milliseconds kPollEvery(500);
// The steps between two log lines that report the global step.
constexpr int64_t kLogEverySteps = 1000;

}  // namespace

GlobalStepWaiterHook::GlobalStepWaiterHook(GlobalStepWaiterHookOptions options)
    : options_(options), clock_(&Clock::or_real(options.clock)) {
  internal::check_above("GlobalStepWaiterHook: max_secs", options_.max_secs, 0);
}

void GlobalStepWaiterHook::begin(Graph& graph) {
  internal::require_global_step(graph, *this);
  const Group* const group = group_of(graph);
  in_group_ = group != nullptr && group->size() > 1;
  started_ = false;
}

void GlobalStepWaiterHook::after_create_session(Session&, Coordinator& coordinator) {
  coordinator_ = &coordinator;
}

std::optional<SessionRunArgs> GlobalStepWaiterHook::before_run(SessionRunContext& context) {
  // Without a wait the step is not even read: this worker may be the one that initialises it.
  if (!started_ && options_.wait_until_step > 0 && !in_group_) wait(context);
  started_ = true;
  return std::nullopt;
}

void GlobalStepWaiterHook::wait(SessionRunContext& context) {
  log_info(fmt::format("waiting for step {}", options_.wait_until_step));
  const Clock::TimePoint start = clock_->now();
  int64_t logged_step = 0;
  for (;;) {
    const int64_t step = read_global_step(context.session());
    if (step >= options_.wait_until_step) return;
    stop_if_asked(context);
    check_limit(step, start);
    if (step - logged_step > kLogEverySteps) {
      log_info(fmt::format("waiting for step {}: it is {} now", options_.wait_until_step, step));
      logged_step = step;
    }
    sleep_unless_signalled(*clock_, kPollEvery);
  }
}

void GlobalStepWaiterHook::stop_if_asked(SessionRunContext& context) const {
  if (const int signal = pending_signal(); signal != 0) {
    context.request_stop(signal_name(signal), signal);
    throw StopIteration();
  }
  if (coordinator_ == nullptr || !coordinator_->should_stop()) return;
  coordinator_->raise_requested_exception();
  throw StopIteration();
}

void GlobalStepWaiterHook::check_limit(int64_t step, Clock::TimePoint start) const {
  if (!options_.max_secs || clock_->now() - start < from_seconds(*options_.max_secs)) return;
  throw DeadlineExceededError(
      fmt::format("GlobalStepWaiterHook: after {} seconds the step is {}, expected {}",
                  *options_.max_secs, step, options_.wait_until_step));
}

int64_t staggered_start_step(int task, double k) {
  internal::check_at_least("staggered_start_step: task", task, 0);
  internal::check_at_least("staggered_start_step: k", k, 0);
  return static_cast<int64_t>(k * std::log(task + 1.0));
}

}  // namespace crochet::inline v0
