// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/evaluator.h"

#include "crochet/base/error.h"
#include "crochet/loop/restore_purpose.h"

namespace crochet::inline v0 {

Evaluator::Evaluator(EvaluatorOptions options)
    : options_(std::move(options)), tracker_(graph_, "") {
  graph_.create_global_step();
  internal::RestorePurpose::of(graph_)->is_same_training = false;
  const FileSystem& files = options_.files ? *options_.files : FileSystem::posix();
  options_.checkpoint_dir = files.fixed_path(options_.checkpoint_dir);
  options_.eval_dir = files.fixed_path(options_.eval_dir);
}

EvaluationReport Evaluator::run(const std::function<Metrics()>& evaluate) {
  if (!evaluate) throw InvalidArgumentError("Evaluator: evaluate is not set");
  return evaluate_repeatedly({.graph = graph_,
                              .checkpoint_dir = options_.checkpoint_dir,
                              .checkpoint_basename = options_.checkpoint_basename,
                              .which = options_.which,
                              .all_checkpoints = options_.all_checkpoints,
                              .eval_dir = options_.eval_dir,
                              .final_step = options_.final_step,
                              .max_number_of_evaluations = options_.max_number_of_evaluations,
                              .min_interval_secs = options_.min_interval_secs,
                              .timeout_secs = options_.timeout_secs,
                              .timeout_fn = options_.timeout_fn,
                              .stop = options_.stop,
                              .files = options_.files,
                              .clock = options_.clock},
                             [&](MonitoredSession&) { return evaluate(); });
}

}  // namespace crochet::inline v0
