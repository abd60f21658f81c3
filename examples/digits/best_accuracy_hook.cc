// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "best_accuracy_hook.h"

namespace digits {

using namespace crochet;

void BestAccuracyHook::begin(Graph& graph) { accuracy_ = graph.output("accuracy"); }

void BestAccuracyHook::after_create_session(Session& session, Coordinator& /*coordinator*/) {
  step_ = read_global_step(session);  // Not 0 in a resumed run.
}

std::optional<SessionRunArgs> BestAccuracyHook::before_run(SessionRunContext& /*context*/) {
  const int64_t coming_step = step_ + 1;
  if (coming_step % kEverySteps != 0) return std::nullopt;
  return SessionRunArgs{.fetches = accuracy_};
}

void BestAccuracyHook::after_run(SessionRunContext& /*context*/, const SessionRunValues& values) {
  ++step_;
  if (!values.results) return;
  const auto accuracy = values.results.scalar<float>();
  if (accuracy <= best_) return;
  best_ = accuracy;
  best_step_ = step_;
}

SaveableMap BestAccuracyHook::saveables() {
  return {{"best", saveable_value(best_)}, {"best_step", saveable_value(best_step_)}};
}

}  // namespace digits
