// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <stop_token>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

// A clock that moves only on request, so that tests neither sleep nor guess.
//
//   FakeClock clock;
//   clock.advance(std::chrono::seconds(600));
//
// Thread-safe.
class CROCHET_EXPORT FakeClock final : public Clock {
 public:
  // `wall_time` is the initial wall_time().
  explicit FakeClock(double wall_time = 1'000'000'000) : wall_time_(wall_time) {}

  TimePoint now() const override;
  double wall_time() const override;
  // Moves the clock at once and returns true; if `stop` is requested, leaves the
  // clock unchanged and returns false.
  bool sleep_for(Duration duration, const std::stop_token& stop = {}) override;

  void advance(Duration duration);
  // Moves only the wall clock, as an administrator or a leap second does.
  void set_wall_time(double wall_time);

  // The durations passed to sleep_for, in order, except for sleeps cut short by a stop.
  std::vector<Duration> sleeps() const;

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  // Not 0, so that an unset time point is noticed.
  TimePoint now_{std::chrono::hours(1)};
  double wall_time_;
  std::vector<Duration> sleeps_;
};

}  // namespace crochet::inline v0
