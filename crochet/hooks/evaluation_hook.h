// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/hooks/internal/periodic_hook.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

namespace internal {
class RunAgreement;
}  // namespace internal

// An evaluation given by the program: a callable that returns Metrics and takes either nothing or
// the session to evaluate in.
class CROCHET_EXPORT Evaluation {
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
  // For 500: after the steps 500, 1000, 1500, whatever step the run was resumed from.
  std::optional<int64_t> every_n_steps = {};
  // Counted from the last evaluation, or from the creation of the session.
  std::optional<double> every_n_secs = {};
  Evaluation evaluate = {};
  // Whether to evaluate before the first step, too.
  bool at_start = false;
  // Whether to evaluate at the clean end, unless the last step was evaluated already, by this
  // process or by an earlier one whose curve says so, or a signal asks the process to end.
  bool at_end = true;
  // Where the curves go: a directory or a writer; with neither, metrics are only logged.
  std::string output_dir = {};
  std::shared_ptr<SummaryWriter> summary_writer = {};
  // Prepended to the metrics' names in the curves' tags.
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
// What it draws from random generators of the graph is put back: it changes no later step.
//
// The metrics are logged, written as curves, and available from the sources that metric() returns;
// hooks after this one in the list see them in the same step. An exception of the evaluation ends
// the run as one of a step does, except OutOfRangeError and StopIteration: the end of the
// evaluation's data must not look like the end of training.
//
// In a run with a group (RankOptions::group), every rank evaluates after the same steps, so that an
// evaluation may use all of them; only the chief logs and writes. Ranks have different clocks:
// every_n_secs is refused there.
class CROCHET_EXPORT EvaluationHook final : public internal::PeriodicHook {
 public:
  // Throws: InvalidArgumentError without an evaluation, unless exactly one interval is set, and
  // above 0.
  explicit EvaluationHook(EvaluationHookOptions options);  // Misspelt? Name the type.

  // The newest value of a metric, for other hooks. May be called at any time; the source may
  // outlive this hook.
  MetricSource metric(std::string name) const;
  // The metrics of the newest evaluation, and its step; empty before the first one.
  const Metrics& metrics() const { return newest_->metrics; }
  std::optional<int64_t> step() const { return newest_->step; }

  // Throws: FailedPreconditionError without a global step; InvalidArgumentError for every_n_secs in
  // a group of several ranks.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  // Throws: what the evaluation throws; FailedPreconditionError if its data ended (see above).
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  void end(Session& session) override;

 private:
  struct Newest {
    std::optional<int64_t> step = {};
    Metrics metrics = {};
  };

  void look(int64_t step, const FetchValues& values, SessionRunContext& context) override;
  void evaluate(Session& session, int64_t step);
  // Takes the metrics of the step from the curve that an earlier process wrote. False if it has
  // none.
  bool read_from_curve(int64_t step);

  EvaluationHookOptions options_;
  bool is_due_at_start_ = false;
  bool made_a_step_ = false;
  std::shared_ptr<internal::RunAgreement> agreement_;  // From begin on.
  std::shared_ptr<SummaryWriter> writer_;
  std::shared_ptr<Newest> newest_;  // Shared with metric sources.
};

namespace internal {

// Calls `evaluate`. Throws: what it throws, but FailedPreconditionError, which begins with `who`,
// at the end of its data.
CROCHET_EXPORT Metrics evaluated(const char* who, const std::function<Metrics()>& evaluate);
// Logs metrics and, unless `writer` is null, writes them as curves.
CROCHET_EXPORT void report_metrics(int64_t step, const Metrics& metrics,
                                   const std::string& tag_prefix, SummaryWriter* writer);

}  // namespace internal
}  // namespace crochet::inline v0
