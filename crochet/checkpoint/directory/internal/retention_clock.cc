// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/retention_clock.h"

#include <algorithm>

namespace crochet::inline v0::internal {

// The clock of a machine without a battery may start before 1970, which files never contain.
RetentionClock::RetentionClock(const Clock& clock)
    : clock_(clock), start_(clock.now()), start_time_(std::max(0.0, clock.wall_time())) {}

double RetentionClock::now() const { return start_time_ + to_seconds(clock_.now() - start_); }

bool RetentionClock::is_plausible(double time) const {
  constexpr double kMaxAhead = 100 * 365.25 * 24 * 3600;
  return time < std::max(0.0, clock_.wall_time()) + kMaxAhead;
}

void RetentionClock::catch_up(double time) {
  if (is_plausible(time)) start_time_ = std::max(start_time_, time);
}

double RetentionClock::plausible(double time) const { return is_plausible(time) ? time : now(); }

}  // namespace crochet::inline v0::internal
