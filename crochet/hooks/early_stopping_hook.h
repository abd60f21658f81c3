// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/hooks/internal/periodic_hook.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/training/session_run_hook.h"

namespace crochet::inline v0 {

struct EarlyStoppingOptions {
  // The metric is ignored before this step.
  int64_t min_steps = 0;
  // The metric is checked after the steps that are multiples of this.
  int64_t run_every_steps = 100;
};

// What is watched: a value of the graph, or the points of a source, each with its own step.
struct CROCHET_EXPORT EarlyStoppingMetric {
  // Throw: InvalidArgumentError for a value that is not one output or name, and an empty source.
  EarlyStoppingMetric(Fetches metric);
  EarlyStoppingMetric(MetricSource metric);
  template <std::convertible_to<Fetches> Value>
  EarlyStoppingMetric(Value metric) : EarlyStoppingMetric(Fetches(std::move(metric))) {}

  std::string name;
  Fetches value = Fetches::List{};  // Empty for a source.
  MetricSource source = {};
};

// Requests a stop when a metric shows that more training is of no use. Created by the functions
// below, which follow the rules of tf.estimator.experimental.
//
//   Loop loop({.hooks = {stop_if_no_decrease_hook("validation_loss", 5000)}});
//
// The metric is one real number: a value of the graph, or the result of an evaluation in this loop
// (EvaluationHook::metric) or in another process (metric_in_directory). While it is unset or NaN it
// is neither an improvement nor beyond a threshold. The best value and its step are part of
// checkpoints: patience carries over when a run resumes.
class CROCHET_EXPORT EarlyStoppingHook final : public internal::PeriodicHook {
 public:
  enum class Direction { kLower, kHigher };
  // What ends the run: no value better than the best for max_steps, or one beyond a threshold.
  struct Patience {
    Direction better;
    int64_t max_steps;
  };
  struct Threshold {
    Direction beyond;
    double value;
  };

  // Throw: InvalidArgumentError for a max_steps or run_every_steps below 1, a negative min_steps,
  // or a threshold that is NaN.
  EarlyStoppingHook(EarlyStoppingMetric metric, Patience patience,
                    const EarlyStoppingOptions& options);
  EarlyStoppingHook(EarlyStoppingMetric metric, Threshold threshold,
                    const EarlyStoppingOptions& options);

  void after_create_session(Session& session, Coordinator& coordinator) override;
  SaveableMap saveables() override;
  // By the last value that was checked.
  std::optional<StopRequest> finished() const override;

  // The best value so far, NaN if there is none, and its step, -1 before the first.
  double best() const { return best_; }
  int64_t best_step() const { return best_step_; }

 private:
  EarlyStoppingHook(EarlyStoppingMetric metric, const EarlyStoppingOptions& options);

  // The point to check after a step; unset if the source has none, or no new one.
  std::optional<MetricPoint> newest(int64_t step, const FetchValues& values);
  void look(int64_t step, const FetchValues& values, SessionRunContext& context) override;
  void record_improvement();
  // Unset if the last value gives no reason to stop.
  std::optional<std::string> reason_to_stop() const;

  EarlyStoppingMetric metric_;
  std::optional<int64_t> last_source_step_;  // Of the last point that was checked.
  int64_t min_steps_;
  // One of the two is set.
  std::optional<Patience> patience_;
  std::optional<Threshold> threshold_;
  // The last value that was checked, and its step; -1 before the first.
  double last_ = std::numeric_limits<double>::quiet_NaN();
  int64_t last_step_ = -1;
  double best_ = std::numeric_limits<double>::quiet_NaN();
  int64_t best_step_ = -1;
};

// Stops once the metric has not fallen below its minimum for max_steps_without_decrease steps.
CROCHET_EXPORT EarlyStoppingHook stop_if_no_decrease_hook(EarlyStoppingMetric metric,
                                                          int64_t max_steps_without_decrease,
                                                          const EarlyStoppingOptions& options = {});
// Stops once the metric has not risen above its maximum for max_steps_without_increase steps.
CROCHET_EXPORT EarlyStoppingHook stop_if_no_increase_hook(EarlyStoppingMetric metric,
                                                          int64_t max_steps_without_increase,
                                                          const EarlyStoppingOptions& options = {});
// Stops once the metric is above the threshold.
CROCHET_EXPORT EarlyStoppingHook stop_if_higher_hook(EarlyStoppingMetric metric, double threshold,
                                                     const EarlyStoppingOptions& options = {});
// Stops once the metric is below the threshold.
CROCHET_EXPORT EarlyStoppingHook stop_if_lower_hook(EarlyStoppingMetric metric, double threshold,
                                                    const EarlyStoppingOptions& options = {});

}  // namespace crochet::inline v0
