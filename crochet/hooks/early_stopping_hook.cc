// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/early_stopping_hook.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0 {
namespace {

using Direction = EarlyStoppingHook::Direction;

// False if either is NaN.
bool is_beyond(Direction direction, double value, double limit) {
  return direction == Direction::kHigher ? value > limit : value < limit;
}

std::string name_of(const Fetches& metric) {
  if (const std::string* name = metric.as_name()) return *name;
  if (const Output* output = metric.as_output()) return to_string(*output);
  throw InvalidArgumentError("EarlyStoppingHook: the metric must be one output or one name");
}

const std::string& name_of(const MetricSource& metric) {
  if (!metric.newest)
    throw InvalidArgumentError(
        fmt::format("EarlyStoppingHook: the source of \"{}\" is empty", metric.name));
  return metric.name;
}

}  // namespace

EarlyStoppingHook::EarlyStoppingHook(std::string metric_name, Fetches metric, MetricSource source,
                                     const EarlyStoppingOptions& options)
    : metric_name_(std::move(metric_name)),
      values_(std::move(metric), {.every_steps = options.run_every_steps}),
      source_(std::move(source)),
      min_steps_(options.min_steps) {
  if (min_steps_ < 0)
    throw InvalidArgumentError(
        fmt::format("EarlyStoppingHook: min_steps is {}, expected 0 or more", min_steps_));
}

EarlyStoppingHook::EarlyStoppingHook(Fetches metric, Patience rule,
                                     const EarlyStoppingOptions& options)
    : EarlyStoppingHook(name_of(metric), metric, {}, options) {
  set(rule);
}

EarlyStoppingHook::EarlyStoppingHook(Fetches metric, Threshold rule,
                                     const EarlyStoppingOptions& options)
    : EarlyStoppingHook(name_of(metric), metric, {}, options) {
  set(rule);
}

EarlyStoppingHook::EarlyStoppingHook(MetricSource metric, Patience rule,
                                     const EarlyStoppingOptions& options)
    : EarlyStoppingHook(name_of(metric), Fetches::List{}, metric, options) {
  set(rule);
}

EarlyStoppingHook::EarlyStoppingHook(MetricSource metric, Threshold rule,
                                     const EarlyStoppingOptions& options)
    : EarlyStoppingHook(name_of(metric), Fetches::List{}, metric, options) {
  set(rule);
}

void EarlyStoppingHook::set(const Patience& rule) {
  if (rule.max_steps <= 0)
    throw InvalidArgumentError(
        fmt::format("EarlyStoppingHook: {} steps without an improvement of {}, expected 1 or more",
                    rule.max_steps, metric_name_));
  patience_ = rule;
}

void EarlyStoppingHook::set(const Threshold& rule) {
  if (std::isnan(rule.value))
    throw InvalidArgumentError(
        fmt::format("EarlyStoppingHook: the threshold of {} is NaN", metric_name_));
  threshold_ = rule;
}

void EarlyStoppingHook::begin(Graph& graph) { values_.begin(graph, *this); }

void EarlyStoppingHook::after_create_session(Session& session, Coordinator&) {
  values_.after_create_session(session);
  last_source_step_.reset();
}

std::optional<SessionRunArgs> EarlyStoppingHook::before_run(SessionRunContext&) {
  return values_.before_run(*this);
}

void EarlyStoppingHook::after_run(SessionRunContext& context, const SessionRunValues& values) {
  const auto due = values_.after_run(context, values);
  if (!due) return;
  const auto point = newest(*due);
  if (point && point->step >= min_steps_) look(point->step, point->value, context);
}

std::optional<MetricPoint> EarlyStoppingHook::newest(const PeriodicValues::Due& due) {
  if (!source_.newest) {
    const Tensor& metric = due.values.tensor();
    if (!metric.is_set()) return std::nullopt;
    return MetricPoint{due.step, metric.to_double()};
  }
  const auto point = source_.newest();
  // A point of a later step was found before a recovery, for a step that is lost.
  if (!point || point->step > due.step || point->step == last_source_step_) return std::nullopt;
  last_source_step_ = point->step;
  return point;
}

void EarlyStoppingHook::look(int64_t step, double value, SessionRunContext& context) {
  if (patience_) {
    look_for_improvement(step, value, context);
  } else {
    look_for_threshold(value, context);
  }
}

void EarlyStoppingHook::look_for_improvement(int64_t step, double value,
                                             SessionRunContext& context) {
  // A first value that is NaN starts the count, but any number is an improvement.
  const bool first = best_step_ < 0 || (std::isnan(best_) && !std::isnan(value));
  if (first || is_beyond(patience_->better, value, best_)) {
    best_ = value;
    best_step_ = step;
  }
  if (step - best_step_ >= patience_->max_steps)
    context.request_stop(
        fmt::format("no {} of {} since step {}, where it was {:g}",
                    patience_->better == Direction::kLower ? "decrease" : "increase", metric_name_,
                    best_step_, best_));
}

void EarlyStoppingHook::look_for_threshold(double value, SessionRunContext& context) const {
  if (is_beyond(threshold_->beyond, value, threshold_->value))
    context.request_stop(fmt::format("{} is {:g}, {} than {:g}", metric_name_, value,
                                     threshold_->beyond == Direction::kLower ? "lower" : "higher",
                                     threshold_->value));
}

SaveableMap EarlyStoppingHook::saveables() {
  if (!patience_) return {};
  return {{"best", saveable_value(best_)}, {"best_step", saveable_value(best_step_)}};
}

EarlyStoppingHook stop_if_no_decrease_hook(Fetches metric, int64_t max_steps_without_decrease,
                                           const EarlyStoppingOptions& options) {
  return {std::move(metric),
          EarlyStoppingHook::Patience{Direction::kLower, max_steps_without_decrease}, options};
}

EarlyStoppingHook stop_if_no_increase_hook(Fetches metric, int64_t max_steps_without_increase,
                                           const EarlyStoppingOptions& options) {
  return {std::move(metric),
          EarlyStoppingHook::Patience{Direction::kHigher, max_steps_without_increase}, options};
}

EarlyStoppingHook stop_if_higher_hook(Fetches metric, double threshold,
                                      const EarlyStoppingOptions& options) {
  return {std::move(metric), EarlyStoppingHook::Threshold{Direction::kHigher, threshold}, options};
}

EarlyStoppingHook stop_if_lower_hook(Fetches metric, double threshold,
                                     const EarlyStoppingOptions& options) {
  return {std::move(metric), EarlyStoppingHook::Threshold{Direction::kLower, threshold}, options};
}

EarlyStoppingHook stop_if_no_decrease_hook(MetricSource metric, int64_t max_steps_without_decrease,
                                           const EarlyStoppingOptions& options) {
  return {std::move(metric),
          EarlyStoppingHook::Patience{Direction::kLower, max_steps_without_decrease}, options};
}

EarlyStoppingHook stop_if_no_increase_hook(MetricSource metric, int64_t max_steps_without_increase,
                                           const EarlyStoppingOptions& options) {
  return {std::move(metric),
          EarlyStoppingHook::Patience{Direction::kHigher, max_steps_without_increase}, options};
}

EarlyStoppingHook stop_if_higher_hook(MetricSource metric, double threshold,
                                      const EarlyStoppingOptions& options) {
  return {std::move(metric), EarlyStoppingHook::Threshold{Direction::kHigher, threshold}, options};
}

EarlyStoppingHook stop_if_lower_hook(MetricSource metric, double threshold,
                                     const EarlyStoppingOptions& options) {
  return {std::move(metric), EarlyStoppingHook::Threshold{Direction::kLower, threshold}, options};
}

}  // namespace crochet::inline v0
