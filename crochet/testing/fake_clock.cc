// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/fake_clock.h"

#include <stop_token>

namespace crochet::inline v0 {

Clock::TimePoint FakeClock::now() const {
  const std::lock_guard lock(mutex_);
  return now_;
}

double FakeClock::wall_time() const {
  const std::lock_guard lock(mutex_);
  return wall_time_;
}

bool FakeClock::sleep_for(Duration duration, const std::stop_token& stop) {
  if (stop.stop_requested()) return false;
  {
    const std::lock_guard lock(mutex_);
    sleeps_.push_back(duration);
  }
  advance(duration);
  return true;
}

void FakeClock::advance(Duration duration) {
  const std::lock_guard lock(mutex_);
  now_ += duration;
  wall_time_ += to_seconds(duration);
}

void FakeClock::set_wall_time(double wall_time) {
  const std::lock_guard lock(mutex_);
  wall_time_ = wall_time;
}

std::vector<Clock::Duration> FakeClock::sleeps() const {
  const std::lock_guard lock(mutex_);
  return sleeps_;
}

}  // namespace crochet::inline v0
