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

[[noreturn]] void throw_closed(const char* call) {
  throw FailedPreconditionError(fmt::format("{} on a closed session", call));
}

}  // namespace

constinit thread_local const AccessGate::Pass* AccessGate::passes_ = nullptr;

void AccessGate::throw_inside(const char* call) {
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
  state.watch();
  state.changed.wait(lock, [&] { return num_inside(state.calls) == 0; });
  state.unwatch();
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
  if (!state_->enter(access)) wait(call, limit);
  is_inside_ = true;
  // Checked inside: either this sees that the gate is closed, or wait_until_empty() sees this.
  if (gate_.is_closed_) {
    leave();
    throw_closed(call);
  }
  passes_ = this;
}

void AccessGate::Pass::wait(const char* call, std::chrono::milliseconds limit) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  const int exclusive = access_ == Access::kExclusive ? 1 : 0;
  bool is_inside = false;
  const auto is_decided = [&] {
    is_inside = (access_ != Access::kShared || state.num_waiting_exclusive == 0) &&
                state.enter_watched(access_);
    return is_inside || gate_.is_closed_;
  };
  state.watch();
  ++state.num_waiting;
  state.num_waiting_exclusive += exclusive;
  bool is_in_time = true;
  if (limit > std::chrono::milliseconds::zero() && limit < kNoLimit)
    is_in_time = state.changed.wait_for(lock, limit, is_decided);
  else
    state.changed.wait(lock, is_decided);
  --state.num_waiting;
  state.num_waiting_exclusive -= exclusive;
  state.unwatch();
  if (is_inside) return;
  state.changed.notify_all();
  if (is_in_time) throw_closed(call);
  throw DeadlineExceededError(fmt::format(
      "{} did not begin within {} ms: a snapshot or an assignment is running, or is waiting for "
      "runs that change variables",
      call, limit.count()));
}

void AccessGate::Pass::leave_watched() {
  // Under the mutex: a waiting thread may delete the gate at once.
  const std::lock_guard lock(state_->mutex);
  state_->leave_watched(access_);
  state_->changed.notify_all();
}

bool AccessGate::State::enter_watched(Access access) {
  if (!admits(calls, access)) return false;
  calls += one(access);
  return true;
}

void AccessGate::State::leave_watched(Access access) { calls -= one(access); }

void AccessGate::State::watch() {
  if (num_watching++ == 0) calls |= kWatched;
}

void AccessGate::State::unwatch() {
  if (--num_watching == 0) calls &= ~kWatched;
}

}  // namespace crochet::inline v0::internal
