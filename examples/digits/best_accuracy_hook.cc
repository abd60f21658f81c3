// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "best_accuracy_hook.h"

namespace digits {

void BestAccuracyHook::begin(crochet::Graph& graph) { accuracy_ = graph.output("accuracy"); }

void BestAccuracyHook::after_create_session(crochet::Session& session,
                                            crochet::Coordinator& /*coordinator*/) {
  step_ = crochet::read_global_step(session);  // Not 0 in a resumed run.
}

std::optional<crochet::SessionRunArgs> BestAccuracyHook::before_run(
    crochet::SessionRunContext& /*context*/) {
  const int64_t coming_step = step_ + 1;
  if (coming_step % kEverySteps != 0) return std::nullopt;
  return crochet::SessionRunArgs{.fetches = accuracy_};
}

void BestAccuracyHook::after_run(crochet::SessionRunContext& /*context*/,
                                 const crochet::SessionRunValues& values) {
  ++step_;
  if (!values.results) return;
  const auto accuracy = values.results.scalar<float>();
  if (accuracy <= best_) return;
  best_ = accuracy;
  best_step_ = step_;
}

crochet::SaveableMap BestAccuracyHook::saveables() {
  return {{"best", crochet::saveable_value(best_)},
          {"best_step", crochet::saveable_value(best_step_)}};
}

}  // namespace digits
