// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <stop_token>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

// The source of the library's time, which tests can replace. Intervals are
// measured with now(), which never jumps; wall_time() is only written into files.
//
// Thread-safe.
class CROCHET_EXPORT Clock {
 public:
  using Duration = std::chrono::nanoseconds;
  using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

  virtual ~Clock() = default;

  // Monotonic time.
  virtual TimePoint now() const = 0;
  // The same, or up to 10 ms before, for a fifth of the cost: to ask in each step whether a long
  // interval is over.
  virtual TimePoint coarse_now() const { return now(); }
  // Seconds since 1970-01-01 UTC.
  virtual double wall_time() const = 0;
  // Sleeps; returns early, with false, if `stop` is requested.
  virtual bool sleep_for(Duration duration, const std::stop_token& stop = {}) = 0;

  // The real clock of the machine.
  static Clock& real();
  // `clock`, or the real one if it is null: of options with a clock.
  static Clock& or_real(Clock* clock) { return clock != nullptr ? *clock : real(); }
};

// A duration in seconds, as used in options and logs.
inline double to_seconds(Clock::Duration duration) {
  return std::chrono::duration<double>(duration).count();
}
// Clamps to a century, so that a time point this far away can be represented. NaN becomes 0.
inline Clock::Duration from_seconds(double seconds) {
  constexpr double kCentury = 100 * 365 * 24 * 3600.0;
  if (seconds != seconds) return {};
  if (seconds > kCentury) seconds = kCentury;
  if (seconds < -kCentury) seconds = -kCentury;
  return std::chrono::duration_cast<Clock::Duration>(std::chrono::duration<double>(seconds));
}

}  // namespace crochet::inline v0
