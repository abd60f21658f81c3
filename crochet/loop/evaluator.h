// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/directory/checkpoints_iterator.h"
#include "crochet/engines/local/graph.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/tracking/tracker.h"
#include "crochet/training/monitored_session.h"

namespace crochet::inline v0 {

// How to evaluate the checkpoints of a job that trains in another process.
struct EvaluatorOptions {
  // Where the job saves. It is only read; its lock is not taken.
  std::string checkpoint_dir = {};
  // Which of them to evaluate, until which step, and how long to wait for them. Those that
  // `is_done` leaves out are left out beside those that an earlier evaluator has evaluated.
  CheckpointsIteratorOptions checkpoints = {};
  // Where the curves of the metrics are written: a directory of this evaluator alone. Default:
  // `<checkpoint_dir>/eval`.
  std::string eval_dir = {};
  std::optional<int64_t> max_number_of_evaluations = {};
};

struct EvaluateRepeatedlyOptions {
  Graph& graph;  // Not owned; outlives the call.
  EvaluatorOptions evaluation = {};
  // Where the session runs; see Graph::new_session.
  std::string master = {};
  // Its saver restores the checkpoints. Null: a saver that restores all that the graph has, and
  // ignores other contents.
  std::shared_ptr<Scaffold> scaffold = {};
  // Begun and ended with each evaluation.
  HookList hooks = {};
};

// The result of evaluate_repeatedly().
struct EvaluationReport {
  int64_t num_evaluations = 0;
  // The step and the metrics of the last evaluation.
  std::optional<int64_t> last_step = {};
  Metrics metrics = {};
};

// Evaluates a model while another process trains it: restores the newest checkpoint each time there
// is a new one, or another one that options choose, into its own session, calls `evaluate` with it,
// logs the metrics it returns, and writes them as curves under the checkpoint's step.
//
//   evaluate_repeatedly(
//       {.graph = graph,
//        .evaluation = {.checkpoint_dir = "runs/graph", .checkpoints = {.final_step = 500}}},
//       [&](MonitoredSession& session) {
//         return Metrics{{"accuracy", session.run("accuracy").scalar<float>()}};
//       });
//
// Returns once the final step or the maximum number of evaluations is reached, no new checkpoint
// arrives in time, it is stopped, or a signal asks the process to end. A checkpoint that is
// damaged, or that the job removes while it is read, is skipped with a warning.
//
// An evaluator that is started again continues its curves. With all_checkpoints, it leaves out
// those that it has evaluated: to evaluate them again, use another eval_dir. A point is withdrawn
// only if its checkpoint was replaced or lost, because the job resumed from an older one after a
// crash; those of checkpoints that retention has removed stay.
//
// Throws: InvalidArgumentError for a checkpoint that does not match the graph, and an eval_dir with
// the curves of another program; FailedPreconditionError for one that another evaluator uses now;
// what `evaluate` throws, but FailedPreconditionError for an OutOfRangeError or StopIteration.
CROCHET_EXPORT EvaluationReport
evaluate_repeatedly(const EvaluateRepeatedlyOptions& options,
                    const std::function<Metrics(MonitoredSession& session)>& evaluate);

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
