// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/every.h"

#include "crochet/base/pending_signal.h"

namespace crochet::inline v0 {

EveryHook::EveryHook(const EveryOptions& options, ValueList values,
                     std::function<void(int64_t, const FetchValues&)> function)
    : values_(values.fetches(),
              {.every_steps = options.steps, .every_secs = options.secs, .clock = options.clock}),
      function_(std::move(function)) {}

void EveryHook::begin(Graph& graph) { values_.begin(graph, *this); }

void EveryHook::after_create_session(Session& session, Coordinator&) {
  values_.after_create_session(session);
}

std::optional<SessionRunArgs> EveryHook::before_run(SessionRunContext&) {
  return values_.before_run(*this);
}

void EveryHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  if (const auto due = values_.after_run(context, values)) function_(due->step, due->values);
}

AtEndHook::AtEndHook(ValueList values, std::function<void(const FetchValues&)> function)
    : values_(values.fetches()), function_(std::move(function)) {}

void AtEndHook::begin(Graph& graph) { values_ = resolve_values(graph, values_, *this); }

void AtEndHook::end(Session& session) {
  if (left_out_for_signal("the final values are not evaluated")) return;
  function_(session.run(values_));
}

}  // namespace crochet::inline v0
