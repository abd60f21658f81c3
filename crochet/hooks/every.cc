// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/every.h"

#include "crochet/base/pending_signal.h"

namespace crochet::inline v0 {

EveryHook::EveryHook(const EveryOptions& options, ValueList values,
                     std::function<void(int64_t, const FetchValues&)> function)
    : PeriodicHook(
          values.fetches(),
          {.every_steps = options.steps, .every_secs = options.secs, .clock = options.clock}),
      function_(std::move(function)) {}

void EveryHook::look(int64_t step, const FetchValues& values, SessionRunContext&) {
  function_(step, values);
}

AtEndHook::AtEndHook(ValueList values, std::function<void(const FetchValues&)> function)
    : values_(values.fetches()), function_(std::move(function)) {}

void AtEndHook::begin(Graph& graph) { values_ = resolve_values(graph, values_, *this); }

void AtEndHook::end(Session& session) {
  if (left_out_for_signal("the final values are not evaluated")) return;
  function_(session.run(values_));
}

}  // namespace crochet::inline v0
