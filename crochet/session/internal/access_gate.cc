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

// AccessGate::State::calls: 20 bits for each kind of access, and one that says that it is watched.
constexpr int kBits = 20;
constexpr uint64_t kWatched = uint64_t{1} << 63;

constexpr uint64_t one(Access access) { return uint64_t{1} << (kBits * static_cast<int>(access)); }

constexpr uint64_t num_inside(uint64_t calls) { return calls & ~kWatched; }

constexpr uint64_t num_inside(uint64_t calls, Access access) {
  return (calls / one(access)) & ((uint64_t{1} << kBits) - 1);
}

// False if a call that is inside keeps others with this access out.
constexpr bool admits(uint64_t calls, Access access) {
  if (access == Access::kNone) return true;
  return num_inside(calls, Access::kExclusive) == 0 &&
         (access == Access::kShared || num_inside(calls, Access::kShared) == 0);
}

[[noreturn]] void throw_closed(const char* call) {
  throw FailedPreconditionError(fmt::format("{} on a closed session", call));
}

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

AccessGate::Pass::~Pass() {
  passes_ = outer_;
  if (state_ == &*gate_.state_)
    leave();  // Otherwise forked during the call: the parent's is inside.
}

void AccessGate::Pass::leave() {
  if (state_->leave(access_)) return;
  // Under the mutex: a waiting thread may delete the gate at once.
  const std::lock_guard lock(state_->mutex);
  state_->leave_watched(access_);
  state_->changed.notify_all();
}

bool AccessGate::State::enter(Access access) {
  uint64_t now = calls.load(std::memory_order_relaxed);
  while ((now & kWatched) == 0 && admits(now, access))
    if (calls.compare_exchange_weak(now, now + one(access))) return true;
  return false;
}

bool AccessGate::State::leave(Access access) {
  uint64_t now = calls.load(std::memory_order_relaxed);
  while ((now & kWatched) == 0)
    if (calls.compare_exchange_weak(now, now - one(access))) return true;
  return false;
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
