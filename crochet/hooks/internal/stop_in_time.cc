// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/stop_in_time.h"

#include <algorithm>

#include <fmt/format.h>

namespace crochet::inline v0::internal {
namespace {

// After 10 runs, an exceptional one counts a third.
constexpr double kDecay = 0.9;
// Between two requests, so that short steps do not read the time of day: of what is left.
constexpr double kPause = 0.02;
constexpr double kMaxPauseSecs = 1;
// For what follows the last save: hooks, and the end of the program.
constexpr double kEndSecs = 1;

}  // namespace

void StopInTime::measure() {
  const Clock::TimePoint now = clock_->coarse_now();
  run_secs_ = std::max(to_seconds(now - last_), kDecay * run_secs_);
  last_ = now;
}

void StopInTime::request(SessionRunContext& context, double time, std::string_view reason) {
  if (last_ < next_request_) return;
  time -= kEndSecs;
  const double left = time - clock_->wall_time();
  const double pause = std::clamp(kPause * left, 0.0, kMaxPauseSecs);
  next_request_ = last_ + from_seconds(pause);
  const double run_secs = run_secs_ + pause;
  context.request_stop_before(time, run_secs, reason);
  if (!(run_secs < left))  // NaN stops, too.
    context.request_stop(*context.stop_before(), fmt::format("a step may take {:.1f} s", run_secs));
}

}  // namespace crochet::inline v0::internal
