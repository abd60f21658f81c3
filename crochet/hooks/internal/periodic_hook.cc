// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/periodic_hook.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/hooks/internal/global_step.h"

namespace crochet::inline v0::internal {

Fetches resolve_values(const Graph& graph, const Fetches& values, const SessionRunHook& hook) {
  Fetches resolved = graph.resolve(values);
  std::vector<Output> outputs;
  flatten(resolved, outputs);
  for (const Output& output : outputs)
    if (!output.has_value())
      throw InvalidArgumentError(
          fmt::format("{}: \"{}\" has no value", hook.name(), to_string(output)));
  return resolved;
}

PeriodicHook::PeriodicHook(Fetches values, const SecondOrStepTimerOptions& interval)
    : values_(std::move(values)), every_steps_(interval.every_steps), timer_(interval) {}

void PeriodicHook::begin(Graph& graph) {
  step_ = require_global_step(graph, *this);
  request_ = resolve_values(graph, values_, *this);
}

void PeriodicHook::after_create_session(Session& session, Coordinator&) {
  const int64_t step = read_global_step(session);
  record_trigger(step);
  start_step_ = step;
  next_step_ = step + 1;
}

void PeriodicHook::record_trigger(int64_t step) {
  timer_.update_last_triggered_step(every_steps_ ? step - step % *every_steps_ : step);
}

std::optional<SessionRunArgs> PeriodicHook::before_run(SessionRunContext& context) {
  require_session(static_cast<bool>(step_), *this);
  requested_ = timer_.should_trigger_for_step(next_step_);
  context.request_global_step();
  if (!requested_) return {};
  return SessionRunArgs{.fetches = request_};
}

void PeriodicHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (!requested_) {
    const int64_t start = context.global_step();
    next_step_ = start + 2 * std::max<int64_t>(start - start_step_, 1);
    start_step_ = start;
    return;
  }
  const int64_t step = read_global_step(context.session());
  start_step_ = context.global_step();
  next_step_ = step + std::max<int64_t>(step - start_step_, 1);
  if (!timer_.should_trigger_for_step(step)) return;
  record_trigger(step);
  look(step, values.results, context);
}

}  // namespace crochet::inline v0::internal
