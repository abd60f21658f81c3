// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/evaluator.h"

#include "crochet/base/error.h"
#include "crochet/tracking/internal/restore_purpose.h"

namespace crochet::inline v0 {

Evaluator::Evaluator(EvaluatorOptions options)
    : options_(std::move(options)), tracker_(graph_, "") {
  graph_.create_global_step();
  internal::RestorePurpose::of(graph_)->is_same_training = false;
  const FileSystem* const given = options_.checkpoints.files;
  const FileSystem& files = given != nullptr ? *given : FileSystem::posix();
  options_.checkpoint_dir = files.fixed_path(options_.checkpoint_dir);
  options_.eval_dir = files.fixed_path(options_.eval_dir);
}

EvaluationReport Evaluator::run(const std::function<Metrics()>& evaluate) {
  if (!evaluate) throw InvalidArgumentError("Evaluator: evaluate is not set");
  return evaluate_repeatedly({.graph = graph_, .evaluation = options_},
                             [&](MonitoredSession&) { return evaluate(); });
}

}  // namespace crochet::inline v0
