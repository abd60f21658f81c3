// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/early_stopping_hook.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/hooks/internal/from_tensor.h"

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

}  // namespace

EarlyStoppingMetric::EarlyStoppingMetric(Fetches metric)
    : name(name_of(metric)), value(std::move(metric)) {}

EarlyStoppingMetric::EarlyStoppingMetric(MetricSource metric)
    : name(metric.name), source(std::move(metric)) {
  if (!source.newest)
    throw InvalidArgumentError(
        fmt::format("EarlyStoppingHook: the source of \"{}\" is empty", name));
}

EarlyStoppingHook::EarlyStoppingHook(EarlyStoppingMetric metric,
                                     const EarlyStoppingOptions& options)
    : internal::PeriodicHook(metric.value, {.every_steps = options.run_every_steps,
                                            .owner = "EarlyStoppingHook",
                                            .steps_option = "run_every_steps"}),
      metric_(std::move(metric)),
      min_steps_(options.min_steps) {
  internal::check_at_least("EarlyStoppingHook: min_steps", min_steps_, 0);
}

EarlyStoppingHook::EarlyStoppingHook(EarlyStoppingMetric metric, Patience patience,
                                     const EarlyStoppingOptions& options)
    : EarlyStoppingHook(std::move(metric), options) {
  patience_ = patience;
  internal::check_at_least("EarlyStoppingHook: max_steps", patience_->max_steps, 1);
}

EarlyStoppingHook::EarlyStoppingHook(EarlyStoppingMetric metric, Threshold threshold,
                                     const EarlyStoppingOptions& options)
    : EarlyStoppingHook(std::move(metric), options) {
  threshold_ = threshold;
  if (std::isnan(threshold_->value))
    throw InvalidArgumentError(
        fmt::format("EarlyStoppingHook: the threshold of {} is NaN", metric_.name));
}

void EarlyStoppingHook::after_create_session(Session& session, Coordinator& coordinator) {
  internal::PeriodicHook::after_create_session(session, coordinator);
  last_source_step_.reset();
  if (metric_.source.resume_at) metric_.source.resume_at(read_global_step(session));
}

std::optional<MetricPoint> EarlyStoppingHook::newest(int64_t step, const FetchValues& values) {
  if (!metric_.source.newest) {
    const Tensor& metric = values.tensor();
    if (!metric.is_set()) return std::nullopt;
    return MetricPoint{step, internal::number_of("EarlyStoppingHook: ", metric_.name, metric)};
  }
  const auto point = metric_.source.newest();
  // A point of a later step was found before a recovery, for a step that is lost.
  if (!point || point->step > step || point->step == last_source_step_) return std::nullopt;
  last_source_step_ = point->step;
  return point;
}

void EarlyStoppingHook::look(int64_t step, const FetchValues& values, SessionRunContext& context) {
  const auto point = newest(step, values);
  if (!point || point->step < min_steps_) return;
  last_ = point->value;
  last_step_ = point->step;
  if (patience_) record_improvement();
  if (const auto reason = reason_to_stop()) context.request_stop(*reason);
}

void EarlyStoppingHook::record_improvement() {
  // A first value that is NaN starts the count, but any number is an improvement.
  const bool first = best_step_ < 0 || (std::isnan(best_) && !std::isnan(last_));
  if (!first && !is_beyond(patience_->better, last_, best_)) return;
  best_ = last_;
  best_step_ = last_step_;
}

std::optional<std::string> EarlyStoppingHook::reason_to_stop() const {
  if (last_step_ < min_steps_ || last_step_ < 0) return std::nullopt;
  if (patience_ && best_step_ >= 0 && last_step_ - best_step_ >= patience_->max_steps)
    return fmt::format("no {} of {} since step {}, where it was {:g}",
                       patience_->better == Direction::kLower ? "decrease" : "increase",
                       metric_.name, best_step_, best_);
  if (threshold_ && is_beyond(threshold_->beyond, last_, threshold_->value))
    return fmt::format("{} is {:g}, {} than {:g}", metric_.name, last_,
                       threshold_->beyond == Direction::kLower ? "lower" : "higher",
                       threshold_->value);
  return std::nullopt;
}

std::optional<StopRequest> EarlyStoppingHook::finished() const {
  const std::optional<std::string> reason = reason_to_stop();
  if (!reason) return std::nullopt;
  return StopRequest{name(), *reason};
}

SaveableMap EarlyStoppingHook::saveables() {
  SaveableMap state = {{"last", saveable_value(last_)}, {"last_step", saveable_value(last_step_)}};
  if (metric_.source.state) state["source"] = metric_.source.state;
  if (!patience_) return state;
  state["best"] = saveable_value(best_);
  state["best_step"] = saveable_value(best_step_);
  return state;
}

EarlyStoppingHook stop_if_no_decrease_hook(EarlyStoppingMetric metric,
                                           int64_t max_steps_without_decrease,
                                           const EarlyStoppingOptions& options) {
  return {std::move(metric),
          EarlyStoppingHook::Patience{Direction::kLower, max_steps_without_decrease}, options};
}

EarlyStoppingHook stop_if_no_increase_hook(EarlyStoppingMetric metric,
                                           int64_t max_steps_without_increase,
                                           const EarlyStoppingOptions& options) {
  return {std::move(metric),
          EarlyStoppingHook::Patience{Direction::kHigher, max_steps_without_increase}, options};
}

EarlyStoppingHook stop_if_higher_hook(EarlyStoppingMetric metric, double threshold,
                                      const EarlyStoppingOptions& options) {
  return {std::move(metric), EarlyStoppingHook::Threshold{Direction::kHigher, threshold}, options};
}

EarlyStoppingHook stop_if_lower_hook(EarlyStoppingMetric metric, double threshold,
                                     const EarlyStoppingOptions& options) {
  return {std::move(metric), EarlyStoppingHook::Threshold{Direction::kLower, threshold}, options};
}

}  // namespace crochet::inline v0
