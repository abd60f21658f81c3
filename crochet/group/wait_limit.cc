// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "crochet/group/group.h"

namespace crochet::inline v0 {
namespace {

constexpr Clock::Duration kLongestPause = std::chrono::milliseconds(100);
// A short limit has as many.
constexpr int kLeastPauses = 8;
// A process that has not looked for longer was suspended. On a busy machine, threads are late.
constexpr int kMostPauses = 5;

Clock::Duration longest_pause(Clock::Duration limit) {
  return std::clamp(limit / kLeastPauses, Clock::Duration(1), kLongestPause);
}

}  // namespace

WaitLimit::WaitLimit(Clock& clock, double secs)
    : clock_(clock),
      limit_(std::max(from_seconds(secs), Clock::Duration(1))),
      looked_(clock.now()) {}

WaitLimit::WaitLimit(WaitLimit& whole, double secs)
    : clock_(whole.clock_),
      whole_(&whole),
      limit_(std::clamp(from_seconds(secs), Clock::Duration(1),
                        std::max(whole.rest(), Clock::Duration(1)))),
      looked_(clock_.now()) {}

bool WaitLimit::is_over() {
  const Clock::TimePoint now = clock_.now();
  used_ += std::min(now - looked_, kMostPauses * longest_pause(limit_));
  looked_ = now;
  return (whole_ != nullptr && whole_->is_over()) || used_ >= limit_;
}

Clock::Duration WaitLimit::pause() const {
  return std::clamp(rest(), Clock::Duration::zero(), longest_pause(limit_));
}

}  // namespace crochet::inline v0
