// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/internal/access_gate.h"

#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {
namespace {

// Clocks that count in nanoseconds cannot hold all milliseconds.
constexpr std::chrono::milliseconds kNoLimit = std::chrono::hours(24 * 365);

}  // namespace

thread_local const AccessGate::Pass* AccessGate::passes_ = nullptr;

void AccessGate::check_outside(const char* call) const {
  for (const Pass* pass = passes_; pass != nullptr; pass = pass->outer_)
    if (&pass->gate_ == this)
      throw FailedPreconditionError(
          fmt::format("{} was called from within another call of the same session", call));
}

bool AccessGate::close() {
  check_outside("close");
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (is_closed_.exchange(true)) return false;
  state.changed.notify_all();
  return true;
}

void AccessGate::wait_until_empty() {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  state.changed.wait(
      lock, [&] { return std::ranges::all_of(state.num_inside, [](int n) { return n == 0; }); });
}

int AccessGate::num_waiting() const {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  return state.num_waiting;
}

AccessGate::Pass::Pass(AccessGate& gate, Access access, const char* call,
                       std::chrono::milliseconds limit)
    : gate_(gate), state_(&*gate.state_), access_(access), outer_(passes_) {
  gate_.check_outside(call);
  {
    std::unique_lock lock(state_->mutex);
    const int exclusive = access == Access::kExclusive ? 1 : 0;
    const auto is_decided = [&] { return gate_.is_closed_ || state_->may_enter(access); };
    ++state_->num_waiting;
    state_->num_waiting_exclusive += exclusive;
    bool is_in_time = true;
    if (limit > std::chrono::milliseconds::zero() && limit < kNoLimit)
      is_in_time = state_->changed.wait_for(lock, limit, is_decided);
    else
      state_->changed.wait(lock, is_decided);
    --state_->num_waiting;
    state_->num_waiting_exclusive -= exclusive;
    if (!is_in_time) {
      state_->changed.notify_all();
      throw DeadlineExceededError(fmt::format(
          "{} did not begin within {} ms: a snapshot or an assignment is running, or is waiting "
          "for runs that change variables",
          call, limit.count()));
    }
    if (gate_.is_closed_)
      throw FailedPreconditionError(fmt::format("{} on a closed session", call));
    ++state_->inside(access);
  }
  passes_ = this;
}

AccessGate::Pass::~Pass() {
  passes_ = outer_;
  if (state_ != &*gate_.state_) return;  // Forked during the call: the parent's is inside.
  // Under the mutex: a waiting thread may delete the gate at once.
  const std::lock_guard lock(state_->mutex);
  --state_->inside(access_);
  state_->changed.notify_all();
}

bool AccessGate::State::may_enter(Access access) {
  if (access == Access::kNone) return true;
  if (inside(Access::kExclusive) > 0) return false;
  return access == Access::kShared ? num_waiting_exclusive == 0 : inside(Access::kShared) == 0;
}

}  // namespace crochet::inline v0::internal
