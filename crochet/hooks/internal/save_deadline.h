// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crochet/base/clock.h"

namespace crochet::inline v0::internal {

// The time that the saves at the end of a run have: SavingOptions::deadline_secs from the signal
// that asks the process to end, or else from the start of the end.
class SaveDeadline {
 public:
  // Unset: there is no limit.
  explicit SaveDeadline(std::optional<double> secs) : secs_(secs) {}

  bool is_limited() const { return secs_.has_value(); }
  // True once the time runs.
  bool has_begun() const { return time_.has_value(); }
  // The time by which everything must be done: fixed by the first call. Requires: is_limited().
  Clock::TimePoint time(const Clock& clock);
  double secs_left(const Clock& clock) { return to_seconds(time(clock) - clock.now()); }

  // True if a signal asks the process to end, so that the next save is the last one, which the end
  // makes.
  bool leaves_to_the_end(int64_t step) const;
  // False if the time is over, or too short for a save that takes `expected_secs`. Then
  // reason_unsaved() says so. The first is true before the time runs; the second requires that it
  // does.
  bool has_time(const Clock& clock);
  bool has_time_for(int64_t step, double expected_secs, const Clock& clock);
  // Why there was no time for the last save; empty if there was.
  const std::string& reason_unsaved() const { return reason_unsaved_; }

 private:
  const std::optional<double> secs_;
  std::optional<Clock::TimePoint> time_;
  std::string reason_unsaved_;
};

}  // namespace crochet::inline v0::internal
