// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

// Exactly one of the two is set.
struct SecondOrStepTimerOptions {
  std::optional<int64_t> every_steps = {};
  std::optional<double> every_secs = {};
  // The machine's if null. Not owned.
  Clock* clock = nullptr;
  // For errors: whose intervals these are, and the names under which they are set. Literals.
  const char* owner = "SecondOrStepTimer";
  const char* steps_option = "every_steps";
  const char* secs_option = "every_secs";
};

// Decides at which steps something periodic happens.
//
// A value.
class CROCHET_EXPORT SecondOrStepTimer {
 public:
  // The time and steps between two triggers.
  struct Elapsed {
    double secs;
    int64_t steps;
  };

  // Throws: InvalidArgumentError unless exactly one interval is set, and above 0.
  explicit SecondOrStepTimer(const SecondOrStepTimerOptions& options);

  // True if the timer never triggered, or the interval has passed since; never twice for one step.
  bool should_trigger_for_step(int64_t step) const;
  // Records a trigger. Returns the time and steps since the last one; unset the first time.
  std::optional<Elapsed> update_last_triggered_step(int64_t step);
  std::optional<int64_t> last_triggered_step() const { return last_step_; }
  // Changes an interval of seconds, from the last trigger on. Requires: it is one, and above 0.
  void set_every_secs(double secs) { interval_ = from_seconds(secs); }
  // Forgets the last trigger.
  void reset() { last_step_.reset(); }

 private:
  SecondOrStepTimerOptions options_;
  Clock* clock_;              // Not owned.
  Clock::Duration interval_;  // Unless it is one of steps.
  std::optional<int64_t> last_step_;
  Clock::TimePoint last_time_;  // Of last_step_.
};

}  // namespace crochet::inline v0
