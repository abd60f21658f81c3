// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "crochet/hooks/metric_source.h"
#include "crochet/hooks/periodic_values.h"
#include "crochet/monitor/session_run_hook.h"

namespace crochet {

struct EarlyStoppingOptions {
  // Before this step the metric is not looked at.
  int64_t min_steps = 0;
  // The metric is looked at after the steps that are multiples of this.
  int64_t run_every_steps = 100;
};

// Requests a stop when a metric says that more training is of no use. Made by the functions below,
// which have the rules of tf.estimator.experimental.
//
//   Loop loop({.hooks = {stop_if_no_decrease_hook("validation_loss", 5000)}});
//
// The metric is one real number: a value of the graph, or what an evaluation finds, in this loop
// (EvaluationHook::metric) or in another process (metric_in_directory). While it is unset or NaN it
// is not an improvement, nor beyond a threshold. The best value and its step are part of
// checkpoints, so a run that is resumed has as much patience left as it had.
class EarlyStoppingHook final : public SessionRunHook {
 public:
  enum class Direction { kLower, kHigher };
  // What ends the run: no value better than the best for so many steps, or one beyond a threshold.
  struct Patience {
    Direction better;
    int64_t max_steps;
  };
  struct Threshold {
    Direction beyond;
    double value;
  };

  // Throws: InvalidArgumentError for a metric that is not one output or name, a number of steps
  // that is negative (max_steps, run_every_steps: not above 0), or a threshold that is NaN.
  EarlyStoppingHook(Fetches metric, Patience rule, const EarlyStoppingOptions& options);
  EarlyStoppingHook(Fetches metric, Threshold rule, const EarlyStoppingOptions& options);
  // Of each point that the source gives, its step counts. Throws: as above.
  EarlyStoppingHook(MetricSource metric, Patience rule, const EarlyStoppingOptions& options);
  EarlyStoppingHook(MetricSource metric, Threshold rule, const EarlyStoppingOptions& options);

  // Throws: NotFoundError for a metric the graph does not have.
  void begin(Graph& graph) override;
  void after_create_session(Session& session, Coordinator& coordinator) override;
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override;
  void after_run(SessionRunContext& context, const SessionRunValues& values) override;
  SaveableMap saveables() override;

  // The best value so far, NaN if there is none, and its step, -1 before the first.
  double best() const { return best_; }
  int64_t best_step() const { return best_step_; }

 private:
  EarlyStoppingHook(std::string metric_name, Fetches metric, MetricSource source,
                    const EarlyStoppingOptions& options);

  void set(const Patience& rule);
  void set(const Threshold& rule);
  // The point to look at after a step; nothing if there is none, or none that is new.
  std::optional<MetricPoint> newest(const PeriodicValues::Due& due);
  void look(int64_t step, double value, SessionRunContext& context);
  void look_for_improvement(int64_t step, double value, SessionRunContext& context);
  void look_for_threshold(double value, SessionRunContext& context) const;

  std::string metric_name_;
  PeriodicValues values_;
  MetricSource source_;                      // Empty for a value of the graph.
  std::optional<int64_t> last_source_step_;  // Of the point that was looked at last.
  int64_t min_steps_;
  std::optional<Patience> patience_;  // One of the two is set.
  std::optional<Threshold> threshold_;
  double best_ = std::numeric_limits<double>::quiet_NaN();
  int64_t best_step_ = -1;
};

// Stops once the metric has not become less than its least value for so many steps.
EarlyStoppingHook stop_if_no_decrease_hook(Fetches metric, int64_t max_steps_without_decrease,
                                           const EarlyStoppingOptions& options = {});
EarlyStoppingHook stop_if_no_decrease_hook(MetricSource metric, int64_t max_steps_without_decrease,
                                           const EarlyStoppingOptions& options = {});
// Stops once the metric has not become more than its greatest value for so many steps.
EarlyStoppingHook stop_if_no_increase_hook(Fetches metric, int64_t max_steps_without_increase,
                                           const EarlyStoppingOptions& options = {});
EarlyStoppingHook stop_if_no_increase_hook(MetricSource metric, int64_t max_steps_without_increase,
                                           const EarlyStoppingOptions& options = {});
// Stops once the metric is more than the threshold.
EarlyStoppingHook stop_if_higher_hook(Fetches metric, double threshold,
                                      const EarlyStoppingOptions& options = {});
EarlyStoppingHook stop_if_higher_hook(MetricSource metric, double threshold,
                                      const EarlyStoppingOptions& options = {});
// Stops once the metric is less than the threshold.
EarlyStoppingHook stop_if_lower_hook(Fetches metric, double threshold,
                                     const EarlyStoppingOptions& options = {});
EarlyStoppingHook stop_if_lower_hook(MetricSource metric, double threshold,
                                     const EarlyStoppingOptions& options = {});

}  // namespace crochet
