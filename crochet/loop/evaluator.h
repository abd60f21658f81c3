// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>
#include <utility>

#include "crochet/base/export.h"
#include "crochet/engines/local/graph.h"
#include "crochet/loop/evaluate_repeatedly.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {

// Follows a Loop that trains in another process: restores the values tracked here, all or some of
// those that the Loop tracks, from each of its checkpoints, and evaluates them.
//
//   Evaluator evaluator({.checkpoint_dir = "runs/digits", .checkpoints = {.final_step = 2000}});
//   evaluator.track("model", model);
//   evaluator.run([&] { return Metrics{{"accuracy", accuracy(model, digits.test)}}; });
//
// For one thread. Tracked values must outlive run().
class CROCHET_EXPORT Evaluator {
 public:
  explicit Evaluator(EvaluatorOptions options);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Restores `value` from the value that a Loop saved under this name. Throws: as Loop::track does.
  template <typename T>
  void track(std::string_view name, T&& value) {
    tracker_(name, std::forward<T>(value));
  }

  // Calls `evaluate` after each new checkpoint; see evaluate_repeatedly. May be called again.
  EvaluationReport run(const std::function<Metrics()>& evaluate);

 private:
  EvaluatorOptions options_;
  local::Graph graph_;
  Tracker tracker_;
};

}  // namespace crochet::inline v0
