// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/second_or_step_timer.h"

#include <string>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0 {
namespace {

// An interval that a coarse clock would lengthen by more than a hundredth.
constexpr Clock::Duration kShort = std::chrono::seconds(1);

}  // namespace

SecondOrStepTimer::SecondOrStepTimer(const SecondOrStepTimerOptions& options)
    : options_(options),
      clock_(&Clock::or_real(options.clock)),
      interval_(from_seconds(options.every_secs.value_or(0))) {
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgumentError(fmt::format("{}: {}", options_.owner, why));
  };
  if (options_.every_secs && options_.every_steps)
    refuse(fmt::format("{} is {} and {} is {}: exactly one of them may be given",
                       options_.steps_option, *options_.every_steps, options_.secs_option,
                       *options_.every_secs));
  if (!options_.every_secs && !options_.every_steps)
    refuse(fmt::format("exactly one of {} and {} must be given", options_.steps_option,
                       options_.secs_option));
  if (options_.every_secs && !(*options_.every_secs > 0))
    refuse(
        fmt::format("{} is {}, expected more than 0", options_.secs_option, *options_.every_secs));
  if (options_.every_steps && *options_.every_steps <= 0)
    refuse(
        fmt::format("{} is {}, expected 1 or more", options_.steps_option, *options_.every_steps));
}

bool SecondOrStepTimer::should_trigger_for_step(int64_t step) const {
  if (!last_step_) return true;
  if (step == *last_step_) return false;
  if (options_.every_steps) return step - *last_step_ >= *options_.every_steps;
  // Asked in each step.
  return (interval_ < kShort ? clock_->now() : clock_->coarse_now()) >= last_time_ + interval_;
}

std::optional<SecondOrStepTimer::Elapsed> SecondOrStepTimer::update_last_triggered_step(
    int64_t step) {
  const Clock::TimePoint now = clock_->now();
  std::optional<Elapsed> elapsed;
  if (last_step_) elapsed = Elapsed{to_seconds(now - last_time_), step - *last_step_};
  last_step_ = step;
  last_time_ = now;
  return elapsed;
}

}  // namespace crochet::inline v0
