// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "crochet/hooks/metric_source.h"
#include "crochet/hooks/periodic_values.h"
#include "crochet/monitor/session_run_hook.h"
#include "crochet/summary/read_metrics.h"
#include "crochet/summary/summary_writer.h"

namespace crochet {

// A program's own evaluation: a callable that returns Metrics, and takes nothing or the session to
// evaluate in.
class Evaluation {
 public:
  Evaluation() = default;
  template <std::invocable<> Callable>
  Evaluation(Callable callable)
      : function_(
            [callable = std::move(callable)](Session&) mutable -> Metrics { return callable(); }) {}
  template <std::invocable<Session&> Callable>
  Evaluation(Callable callable) : function_(std::move(callable)) {}

  explicit operator bool() const { return static_cast<bool>(function_); }
  Metrics operator()(Session& session) const { return function_(session); }

 private:
  std::function<Metrics(Session&)> function_;
};

// Exactly one of the intervals is set.
struct EvaluationHookOptions {
  // After the steps 500, 1000, 1500, say, whatever step the run was resumed from.
  std::optional<int64_t> every_n_steps = {};
  // Since the last evaluation, or the creation of the session.
  std::optional<double> every_n_secs = {};
  Evaluation evaluate = {};
  // Before the first step, too.
  bool at_start = false;
  // At the clean end, unless the last step was evaluated; not if a signal asks the process to end.
  bool at_end = true;
  // Where the curves go: a directory, or a writer, or neither for the log alone.
  std::string output_dir = {};
  std::shared_ptr<SummaryWriter> summary_writer = {};
  // Stands before the metrics' names in the curves' tags.
  std::string tag_prefix = "eval/";
  // The operating system's, and the machine's, if null. Not owned.
  FileSystem* files = nullptr;
  Clock* clock = nullptr;
};

// Evaluates a model in its training loop, while training waits.
//
//   EvaluationHook evaluation({.every_n_steps = 500,
//                              .evaluate = [&] {
//                                return Metrics{{"accuracy", accuracy(model, digits.test)}};
//                              },
//                              .output_dir = "runs/digits"});
//   auto patience = stop_if_no_increase_hook(evaluation.metric("accuracy"), 5000);
//   Loop loop({.hooks = {std::move(evaluation), std::move(patience)}});
//
// What was found is logged, written as curves, and given to whoever asked for a metric; hooks
// behind this one in the list see it in the same step. Exceptions of the evaluation end the run as
// those of a step do, but for OutOfRangeError and StopIteration: that the data of the evaluation
// has ended must not look like the end of training.
class EvaluationHook final : public SessionRunHook {
 public:
  // Throws: InvalidArgumentError without an evaluation, unless exactly one interval is set, and
  // above 0.
  explicit EvaluationHook(EvaluationHookOptions options);

  // The newest value of a metric, for other hooks. May be asked for at any time, and lives as
  // long as it is needed.
  MetricSource metric(std::string name) const;
  // What the newest evaluation found, and at which step; nothing before the first.
  const Metrics& metrics() const { return newest_->metrics; }
  std::optional<int64_t> step() const { return newest_->step; }

  // Throws: FailedPreconditionError without a global step.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  // Throws: what the evaluation throws; FailedPreconditionError if its data ended.
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;

 private:
  struct Newest {
    std::optional<int64_t> step = {};
    Metrics metrics = {};
  };

  void evaluate(Session& session, int64_t step);
  Metrics call(Session& session) const;
  void report(int64_t step) const;

  EvaluationHookOptions options_;
  PeriodicValues timer_;
  std::shared_ptr<SummaryWriter> writer_;
  std::shared_ptr<Newest> newest_ = std::make_shared<Newest>();  // Shared with metric sources.
};

}  // namespace crochet
