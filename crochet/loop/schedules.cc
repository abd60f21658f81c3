// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/schedules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/ranges.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/check_number.h"
#include "crochet/base/internal/class_name.h"
#include "crochet/base/log.h"

namespace crochet::inline v0 {
namespace {

double as_double(int64_t number) { return static_cast<double>(number); }

// Vectors of numbers are stored as one float64 [n].
TensorMap stored(const std::vector<double>& numbers) { return {{"", Tensor::from(numbers)}}; }

std::vector<double> read_numbers(const TensorMap& state) {
  const auto found = state.find("");
  if (state.size() != 1 || found == state.end() || found->second.dtype() != DType::kDouble ||
      found->second.shape().rank() != 1)
    throw InvalidArgumentError("the state of a schedule is not a vector of float64");
  const auto numbers = found->second.flat<double>();
  return {numbers.begin(), numbers.end()};
}

std::vector<double> parameters_of(const MultiStepScheduleOptions& options) {
  std::vector<double> parameters = {options.initial, options.gamma, as_double(options.warm_up),
                                    options.warm_up_from};
  std::ranges::transform(options.milestones, std::back_inserter(parameters), as_double);
  return parameters;
}

}  // namespace

Schedule::Schedule(double initial, WarmUp warm_up, std::vector<double> parameters)
    : initial_(initial), warm_up_(warm_up), parameters_(std::move(parameters)) {
  if (!std::isfinite(initial))
    throw InvalidArgumentError(fmt::format("a schedule: initial is {}", initial));
  internal::check_at_least("a schedule: warm_up", warm_up.steps, 0);
  internal::check_at_least("a schedule: warm_up_from", warm_up.from, 0);
}

double Schedule::at(int64_t step) const {
  const int64_t before = std::max<int64_t>(0, step - 1);
  if (before >= warm_up_.steps) return after_warm_up(before - warm_up_.steps);
  const double done = as_double(before) / as_double(warm_up_.steps);
  return after_warm_up(0) * (warm_up_.from + (1 - warm_up_.from) * done);
}

TensorMap Schedule::save() const { return stored(parameters_); }

void Schedule::restore(const TensorMap& state) { record_changes(read_numbers(state)); }

bool Schedule::record_changes(const std::vector<double>& stored) const {
  if (stored.size() >= parameters_.size() &&
      std::equal(parameters_.begin(), parameters_.end(), stored.begin()))
    return false;
  log_warning(fmt::format("{}: the checkpoint was saved with other options: found {}, uses {}",
                          internal::class_name_of(*this, "Schedule"), stored, parameters_));
  return true;
}

StepSchedule::StepSchedule(const StepScheduleOptions& options)
    : Schedule(options.initial, {options.warm_up, options.warm_up_from},
               {options.initial, as_double(options.step_size), options.gamma,
                as_double(options.warm_up), options.warm_up_from}),
      options_(options) {
  internal::check_at_least("StepSchedule: step_size", options_.step_size, 1);
}

double StepSchedule::after_warm_up(int64_t steps) const {
  return initial() * std::pow(options_.gamma, as_double(steps / options_.step_size));
}

MultiStepSchedule::MultiStepSchedule(const MultiStepScheduleOptions& options)
    : Schedule(options.initial, {options.warm_up, options.warm_up_from}, parameters_of(options)),
      options_(options) {
  if (!std::ranges::is_sorted(options_.milestones))
    throw InvalidArgumentError(
        fmt::format("MultiStepSchedule: the milestones {} do not ascend", options_.milestones));
}

double MultiStepSchedule::after_warm_up(int64_t steps) const {
  const auto passed = std::ranges::upper_bound(options_.milestones, steps);
  return initial() * std::pow(options_.gamma, as_double(passed - options_.milestones.begin()));
}

ExponentialSchedule::ExponentialSchedule(const ExponentialScheduleOptions& options)
    : Schedule(options.initial, {options.warm_up, options.warm_up_from},
               {options.initial, options.gamma, as_double(options.warm_up), options.warm_up_from}),
      options_(options) {
  internal::check_above("ExponentialSchedule: gamma", options_.gamma, 0);
}

double ExponentialSchedule::after_warm_up(int64_t steps) const {
  return initial() * std::pow(options_.gamma, as_double(steps));
}

CosineSchedule::CosineSchedule(const CosineScheduleOptions& options)
    : Schedule(options.initial, {options.warm_up, options.warm_up_from},
               {options.initial, as_double(options.steps), options.minimum,
                as_double(options.warm_up), options.warm_up_from}),
      options_(options) {
  if (options_.steps <= options_.warm_up)
    throw InvalidArgumentError(
        fmt::format("CosineSchedule: steps is {}, expected more than warm_up, which is {}",
                    options_.steps, options_.warm_up));
}

double CosineSchedule::after_warm_up(int64_t steps) const {
  const int64_t all = options_.steps - options_.warm_up;
  if (steps >= all) return options_.minimum;
  const double angle = std::numbers::pi * as_double(steps) / as_double(all);
  return options_.minimum + (initial() - options_.minimum) * (1 + std::cos(angle)) / 2;
}

PlateauSchedule::PlateauSchedule(const PlateauScheduleOptions& options)
    : Schedule(options.initial, {options.warm_up, options.warm_up_from},
               {options.initial, static_cast<double>(options.mode), options.factor,
                as_double(options.patience), options.threshold, as_double(options.cooldown),
                options.minimum, options.eps, as_double(options.warm_up), options.warm_up_from}),
      options_(options),
      value_(options.initial),
      best_(options.mode == PlateauScheduleOptions::Mode::kMin
                ? std::numeric_limits<double>::infinity()
                : -std::numeric_limits<double>::infinity()) {
  internal::check_at_least("PlateauSchedule: factor", options_.factor, 0);
  if (options_.factor >= 1)
    throw InvalidArgumentError(
        fmt::format("PlateauSchedule: factor is {}, expected less than 1", options_.factor));
  internal::check_at_least("PlateauSchedule: patience", options_.patience, 0);
  internal::check_at_least("PlateauSchedule: cooldown", options_.cooldown, 0);
}

bool PlateauSchedule::is_better(double metric) const {
  if (options_.mode == PlateauScheduleOptions::Mode::kMin)
    return metric < best_ * (1 - options_.threshold);
  return metric > best_ * (1 + options_.threshold);
}

void PlateauSchedule::observe(double metric) {
  if (is_better(metric)) {
    best_ = metric;
    num_bad_ = 0;
  } else {
    ++num_bad_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    num_bad_ = 0;
  }
  if (num_bad_ <= options_.patience) return;
  const double reduced = std::max(value_ * options_.factor, options_.minimum);
  if (value_ - reduced > options_.eps) value_ = reduced;
  cooldown_left_ = options_.cooldown;
  num_bad_ = 0;
}

TensorMap PlateauSchedule::save() const {
  std::vector<double> numbers = parameters();
  numbers.insert(numbers.end(), {value_, best_, as_double(num_bad_), as_double(cooldown_left_)});
  return stored(numbers);
}

void PlateauSchedule::restore(const TensorMap& state) {
  const std::vector<double> numbers = read_numbers(state);
  const size_t num_parameters = parameters().size();
  record_changes(numbers);
  if (numbers.size() != num_parameters + 4) return;  // Of another schedule.
  const auto count = [&](size_t i) {
    const double number = numbers[num_parameters + i];
    if (!(number >= 0 && number <= 1e15) || number != std::floor(number))
      throw InvalidArgumentError(
          fmt::format("the state of a PlateauSchedule has {} for a count", number));
    return static_cast<int64_t>(number);
  };
  const int64_t num_bad = count(2);
  const int64_t cooldown_left = count(3);
  value_ = numbers[num_parameters];
  best_ = numbers[num_parameters + 1];
  num_bad_ = num_bad;
  cooldown_left_ = cooldown_left;
}

}  // namespace crochet::inline v0
