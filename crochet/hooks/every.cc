// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/every.h"

#include "crochet/base/pending_signal.h"

namespace crochet::inline v0 {

EveryHook::EveryHook(const EveryOptions& options, internal::ValueList values,
                     std::function<void(int64_t, const FetchValues&)> function)
    : internal::PeriodicHook(values.fetches(), {.every_steps = options.steps,
                                                .every_secs = options.secs,
                                                .clock = options.clock,
                                                .owner = "every",
                                                .steps_option = "steps",
                                                .secs_option = "secs"}),
      function_(std::move(function)) {}

void EveryHook::look(int64_t step, const FetchValues& values, SessionRunContext&) {
  function_(step, values);
}

std::function<void(int64_t, const FetchValues&)> internal::only_at(
    std::optional<int64_t> step, std::function<void(int64_t, const FetchValues&)> function) {
  return [step, function = std::move(function), was_called = false](
             int64_t now, const FetchValues& values) mutable {
    const bool is_multiple = step && now - *step >= *step;  // Resumed from a later step.
    if (!is_multiple && !std::exchange(was_called, true)) function(now, values);
  };
}

AtEndHook::AtEndHook(internal::ValueList values, std::function<void(const FetchValues&)> function)
    : values_(values.fetches()), function_(std::move(function)) {}

void AtEndHook::begin(Graph& graph) { values_ = internal::resolve_values(graph, values_, *this); }

void AtEndHook::end(Session& session) {
  if (left_out_for_signal("the final values are not evaluated")) return;
  function_(session.run(values_));
}

}  // namespace crochet::inline v0
