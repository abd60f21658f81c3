// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <vector>

#include "crochet/base/clock.h"

namespace crochet {

// A clock that moves only when told to, so that tests neither sleep nor guess.
//
//   FakeClock clock;
//   clock.advance(std::chrono::seconds(600));
//
// Thread-safe.
class FakeClock final : public Clock {
 public:
  // `wall_time` is what wall_time() says until the clock moves.
  explicit FakeClock(double wall_time = 1'000'000'000) : wall_time_(wall_time) {}

  TimePoint now() const override;
  double wall_time() const override;
  // Moves the clock at once and returns true; with `stop` requested the clock
  // stays and the answer is false.
  bool sleep_for(Duration duration, const std::stop_token& stop = {}) override;

  void advance(Duration duration);
  // Moves the wall clock alone, as an administrator or a leap second does.
  void set_wall_time(double wall_time);

  // What sleep_for was asked for, in order; not the sleeps that a stop cut short.
  std::vector<Duration> sleeps() const;

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  // Not 0, so that a time point nobody set is noticed.
  TimePoint now_{std::chrono::hours(1)};
  double wall_time_;
  std::vector<Duration> sleeps_;
};

}  // namespace crochet
