// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/run_gate.h"

#include "crochet/base/error.h"

namespace crochet::tensorflow::internal {
namespace {

// Clocks that count in nanoseconds have no room for all milliseconds.
constexpr std::chrono::milliseconds kNoLimit = std::chrono::hours(24 * 365);

}  // namespace

bool RunGate::may_enter(Access access) const {
  switch (access) {
    case Access::kRead:
      return true;
    case Access::kChange:
      return !is_exclusive_ && num_waiting_exclusive_ == 0;
    case Access::kExclusive:
      return !is_exclusive_ && num_changing_ == 0;
  }
  return false;
}

void RunGate::enter(Access access, const char* call, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (access == Access::kExclusive) ++num_waiting_exclusive_;
  const auto is_let_go = [&] { return is_closed_ || may_enter(access); };
  bool is_in_time = true;
  if (limit > std::chrono::milliseconds::zero() && limit < kNoLimit)
    is_in_time = changed_.wait_for(lock, limit, is_let_go);
  else
    changed_.wait(lock, is_let_go);
  if (access == Access::kExclusive) --num_waiting_exclusive_;
  if (!is_in_time) {
    changed_.notify_all();
    throw DeadlineExceededError(
        "{} did not begin within {} ms: a snapshot or an assignment is made, or waits for runs "
        "that change variables",
        call, limit.count());
  }
  if (is_closed_) throw FailedPreconditionError("{} on a closed session", call);
  ++num_inside_;
  if (access == Access::kChange) ++num_changing_;
  if (access == Access::kExclusive) is_exclusive_ = true;
}

void RunGate::leave(Access access) {
  const std::lock_guard lock(mutex_);
  --num_inside_;
  if (access == Access::kChange) --num_changing_;
  if (access == Access::kExclusive) is_exclusive_ = false;
  // Under the mutex: whoever waits may delete the gate at once.
  changed_.notify_all();
}

bool RunGate::close() {
  const std::lock_guard lock(mutex_);
  if (is_closed_) return false;
  is_closed_ = true;
  changed_.notify_all();
  return true;
}

void RunGate::wait_until_empty() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return num_inside_ == 0; });
}

}  // namespace crochet::tensorflow::internal
