// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/save_deadline.h"

#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"

namespace crochet::inline v0::internal {

Clock::TimePoint SaveDeadline::time(const Clock& clock) {
  if (!time_) time_ = clock.now() + from_seconds(*secs_) - pending_signal_age();
  return *time_;
}

bool SaveDeadline::leaves_to_the_end(int64_t step) const {
  if (!is_limited() || has_begun() || pending_signal() == 0) return false;
  log_info(fmt::format("the checkpoint of step {} is left to the end: received {}", step,
                       signal_name(pending_signal())));
  return true;
}

bool SaveDeadline::has_time(const Clock& clock) {
  if (!has_begun() || secs_left(clock) > 0) return true;
  reason_unsaved_ = "no time left";
  return false;
}

bool SaveDeadline::has_time_for(int64_t step, double expected_secs, const Clock& clock) {
  const double left = std::max(0.0, secs_left(clock));
  const std::string times =
      fmt::format("expected to take {:.1f} s, {:.1f} s left", expected_secs, left);
  if (left <= 0 || expected_secs > left) {
    reason_unsaved_ = times;
    return false;
  }
  log_info(fmt::format("saving step {}: {}", step, times));
  return true;
}

}  // namespace crochet::inline v0::internal
