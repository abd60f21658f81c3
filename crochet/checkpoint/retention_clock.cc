// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/retention_clock.h"

#include <algorithm>

namespace crochet::internal {

// A machine without a battery may begin before 1970, and files say no such times.
RetentionClock::RetentionClock(const Clock& clock)
    : clock_(clock), start_(clock.now()), start_time_(std::max(0.0, clock.wall_time())) {}

double RetentionClock::now() const { return start_time_ + to_seconds(clock_.now() - start_); }

void RetentionClock::catch_up(double time) {
  constexpr double kYear10000 = 253'402'300'800;  // A time behind it is a mistake in a file.
  if (time < kYear10000) start_time_ = std::max(start_time_, time);
}

}  // namespace crochet::internal
