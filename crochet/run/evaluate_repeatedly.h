// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/monitor/monitored_session.h"
#include "crochet/summary/read_metrics.h"

namespace crochet {

// What an evaluator does with the checkpoints of a job that runs elsewhere.
struct EvaluateRepeatedlyOptions {
  Graph& graph;  // Not owned; outlives the call.
  // Where the job saves. It is only read, and its lock is the job's.
  std::string checkpoint_dir;
  std::string checkpoint_basename = "model.ckpt";
  // Holds the curves of what is found. Default: `<checkpoint_dir>/eval`.
  std::string eval_dir = {};
  // Where the session runs; see Graph::new_session.
  std::string master = {};
  // Its saver restores the checkpoints. Null: a saver that takes what the graph has, and leaves out
  // what else there is.
  std::shared_ptr<Scaffold> scaffold = {};
  // They begin and end with each evaluation.
  HookList hooks = {};
  // The evaluator ends after a checkpoint of this step or a later one, the job's last.
  std::optional<int64_t> final_step = {};
  std::optional<int64_t> max_number_of_evaluations = {};
  // See CheckpointsIteratorOptions.
  double min_interval_secs = 0;
  std::optional<double> timeout_secs = {};
  std::function<bool()> timeout_fn = {};
  std::stop_token stop = {};
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// What an evaluator has done.
struct EvaluationReport {
  int64_t num_evaluations = 0;
  // Of the last one.
  std::optional<int64_t> last_step = {};
  Metrics metrics = {};
};

// Evaluates a model while another process trains it: restores each new checkpoint into a session
// of its own, calls `evaluate` with it, logs what that finds, and writes it as curves under the
// checkpoint's step.
//
//   evaluate_repeatedly({.graph = graph, .checkpoint_dir = "runs/graph", .final_step = 500},
//                       [&](MonitoredSession& session) {
//                         return Metrics{{"accuracy", session.run("accuracy").scalar<float>()}};
//                       });
//
// It returns when the final step was evaluated, no new checkpoint comes, it is stopped, or a signal
// asks the process to end. A checkpoint that is damaged, or that the job removes while it is
// read, is passed over with a warning. If the job goes back, to an older checkpoint after a crash,
// what was found for later steps is taken back.
//
// Throws: InvalidArgumentError for a checkpoint that does not fit the graph; what `evaluate`
// throws, but FailedPreconditionError for an OutOfRangeError or StopIteration.
EvaluationReport evaluate_repeatedly(
    const EvaluateRepeatedlyOptions& options,
    const std::function<Metrics(MonitoredSession& session)>& evaluate);

}  // namespace crochet
