// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/clock.h"

#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "crochet/base/internal/immortal.h"

namespace crochet::inline v0 {
namespace {

class RealClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }

  // Of the same clock, as it was at the last tick, of which there are 100 a second or more.
  TimePoint coarse_now() const override {
    timespec time = {};
    if (::clock_gettime(CLOCK_MONOTONIC_COARSE, &time) != 0) return now();
    return TimePoint(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }

  double wall_time() const override {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  bool sleep_for(Duration duration, const std::stop_token& stop) override {
    std::mutex mutex;
    std::condition_variable_any never_notified;
    std::unique_lock lock(mutex);
    // Longer sleeps would overflow the time point of their end.
    constexpr Duration kLongest = std::chrono::hours(24 * 365 * 100);
    never_notified.wait_for(lock, stop, std::min(duration, kLongest), [] { return false; });
    return !stop.stop_requested();
  }
};

}  // namespace

Clock& Clock::real() {
  static internal::Immortal<RealClock> clock;
  return *clock;
}

}  // namespace crochet::inline v0
