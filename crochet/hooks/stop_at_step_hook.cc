// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/stop_at_step_hook.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/hooks/internal/global_step.h"

namespace crochet::inline v0 {
namespace {

// If runs add several steps each: how many runs before the last step it is read after each run.
constexpr int64_t kRunsAhead = 4;
// With other workers, the step is read after each run for at least this many steps before the last
// one: reading it takes some tenths of a millisecond, and a worker may be stalled meanwhile.
constexpr int64_t kWatchedSteps = 1000;

}  // namespace

StopAtStepHook::StopAtStepHook(const StopAtStepHookOptions& options)
    : num_steps_(options.num_steps), last_step_(options.last_step) {
  if (num_steps_ && last_step_)
    throw InvalidArgumentError(
        fmt::format("StopAtStepHook: num_steps is {} and last_step is {}: exactly one of "
                    "them may be given",
                    *num_steps_, *last_step_));
  if (!num_steps_ && !last_step_)
    throw InvalidArgumentError(
        "StopAtStepHook: exactly one of num_steps and last_step must be given");
  internal::check_at_least("StopAtStepHook: num_steps", num_steps_, 0);
  internal::check_at_least("StopAtStepHook: last_step", last_step_, 0);
}

void StopAtStepHook::begin(Graph& graph) { step_ = internal::require_global_step(graph, *this); }

void StopAtStepHook::after_create_session(Session& session, Coordinator&) {
  others_train_ = !session.target().empty();
  previous_step_.reset();
  pace_ = 1;
  if (last_step_) return;
  const int64_t step = read_global_step(session);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  last_step_ = step + std::min(*num_steps_, kMost - std::max<int64_t>(step, 0));
}

std::optional<SessionRunArgs> StopAtStepHook::before_run(SessionRunContext& context) {
  internal::require_session(step_ && last_step_, *this);
  context.request_global_step();
  return {};
}

bool StopAtStepHook::is_near(int64_t step) const {
  const int64_t distance = std::min(*last_step_, kMaxGlobalStep) - step;
  // Most runs add one step: then only the last one is worth a run to read the step.
  if (!others_train_) return distance <= (pace_ == 1 ? 1 : kRunsAhead * pace_);
  // After the first run, which may have been long, the pace of the others is unknown.
  return !previous_step_ || distance <= std::max(kWatchedSteps, kRunsAhead * pace_);
}

void StopAtStepHook::after_run(SessionRunContext& context, const SessionRunValues&) {
  const int64_t before = context.global_step();
  pace_ = std::max(pace_, before - previous_step_.value_or(before));
  const bool is_read = is_near(before);
  previous_step_ = before;
  if (!is_read) return;
  const int64_t step = read_global_step(context.session());
  if (step >= *last_step_) context.request_stop(fmt::format("reached step {}", *last_step_));
}

}  // namespace crochet::inline v0
