// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/periodic_values.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/hooks/global_step.h"

namespace crochet::inline v0 {

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

PeriodicValues::PeriodicValues(Fetches values, const SecondOrStepTimerOptions& interval)
    : values_(std::move(values)), every_steps_(interval.every_steps), timer_(interval) {}

void PeriodicValues::begin(Graph& graph, const SessionRunHook& hook) {
  step_ = require_global_step(graph, hook);
  request_ = resolve_values(graph, values_, hook);
}

void PeriodicValues::after_create_session(Session& session) {
  const int64_t step = read_global_step(session);
  note_trigger(step);
  start_step_ = step;
  next_step_ = step + 1;
}

void PeriodicValues::note_trigger(int64_t step) {
  timer_.update_last_triggered_step(every_steps_ ? step - step % *every_steps_ : step);
}

SessionRunArgs PeriodicValues::before_run(const SessionRunHook& hook) {
  require_session(static_cast<bool>(step_), hook);
  requested_ = timer_.should_trigger_for_step(next_step_);
  if (!requested_) return {.fetches = step_};
  return {.fetches = Fetches::List{step_, request_}};
}

std::optional<PeriodicValues::Due> PeriodicValues::after_run(SessionRunContext& context,
                                                             const SessionRunValues& values) {
  if (!requested_) {
    const int64_t start = global_step_value(values.results.tensor());
    next_step_ = start + 2 * std::max<int64_t>(start - start_step_, 1);
    start_step_ = start;
    return std::nullopt;
  }
  const int64_t step = read_global_step(context.session());
  start_step_ = global_step_value(values.results[0].tensor());
  next_step_ = step + std::max<int64_t>(step - start_step_, 1);
  if (!timer_.should_trigger_for_step(step)) return std::nullopt;
  note_trigger(step);
  return Due{step, values.results[1]};
}

}  // namespace crochet::inline v0
