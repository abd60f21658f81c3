// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

#include "crochet/base/internal/export.h"
#include "crochet/testing/fake_clock.h"

namespace crochet::inline v0 {

// A clock that only a test advances: unlike with a FakeClock, a sleep does not
// move it, but lasts until a stop is requested or the test advances the clock far enough.
//
// Thread-safe.
class CROCHET_EXPORT StandingClock final : public Clock {
 public:
  TimePoint now() const override { return clock_.now(); }
  double wall_time() const override { return clock_.wall_time(); }

  bool sleep_for(Duration duration, const std::stop_token& stop = {}) override {
    const std::stop_callback wake(stop, [this] {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    });
    std::unique_lock lock(mutex_);
    const TimePoint end = now() + duration;
    ++num_asleep_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return stop.stop_requested() || now() >= end; });
    --num_asleep_;
    return !stop.stop_requested();
  }

  void advance(Duration duration) {
    const std::lock_guard lock(mutex_);
    clock_.advance(duration);
    changed_.notify_all();
  }
  // Returns once `num_threads` threads sleep.
  void wait_for_sleepers(int num_threads = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return num_asleep_ >= num_threads; });
  }

 private:
  FakeClock clock_;
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  int num_asleep_ = 0;
};

}  // namespace crochet::inline v0
