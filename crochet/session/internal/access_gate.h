// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/process_bound.h"

namespace crochet::inline v0::internal {

// How much of a session's variables a call needs.
enum class Access {
  kNone,       // Nothing that another call could disturb.
  kShared,     // Them, beside other calls with a share.
  kExclusive,  // Them, without any call that has a share.
};

// Admits the calls of a session that may run at the same time, and knows when the last one has
// left. A call that waits for kExclusive goes before those that ask for a share later.
//
// No mutex is held while a call is inside, so operations may block. A thread that is inside and
// asks again gets an error, not a deadlock. A forked process begins with nobody inside. A call that
// need not wait takes no mutex, either: a step of a loop passes a gate.
//
// Thread-safe.
class CROCHET_EXPORT AccessGate {
 private:
  struct State {
    // Enters, or leaves, if nobody waits and, to enter, no call is in the way. Otherwise false.
    bool enter(Access access) {
      uint64_t now = calls.load(std::memory_order_relaxed);
      while ((now & kWatched) == 0 && admits(now, access))
        if (calls.compare_exchange_weak(now, now + one(access))) return true;
      return false;
    }
    bool leave(Access access) {
      uint64_t now = calls.load(std::memory_order_relaxed);
      while ((now & kWatched) == 0)
        if (calls.compare_exchange_weak(now, now - one(access))) return true;
      return false;
    }
    // The same for the holder of the mutex while somebody waits.
    bool enter_watched(Access access);
    void leave_watched(Access access);
    // For the holder of the mutex: begins to wait, and ends it.
    void watch();
    void unwatch();

    // The calls inside, counted by access, and whether anybody waits: then it changes only under
    // the mutex.
    std::atomic<uint64_t> calls = 0;
    std::mutex mutex;  // Guards what follows.
    std::condition_variable changed;
    int num_watching = 0;  // Calls that wait, and those of wait_until_empty().
    int num_waiting = 0;
    int num_waiting_exclusive = 0;
  };

 public:
  // One call, inside from construction to destruction.
  class Pass {
   public:
    // Waits until it is admitted. `call` names it in errors.
    // Throws: FailedPreconditionError if the gate is or becomes closed, or if this thread is inside
    // already; DeadlineExceededError after `limit`, unless that is 0.
    Pass(AccessGate& gate, Access access, const char* call, std::chrono::milliseconds limit = {});
    // Does not wait: is_inside() is false if another call is in the way, somebody waits, or the
    // gate is closed. Requires: this thread is outside.
    struct IfFree {};
    Pass(AccessGate& gate, Access access, IfFree)
        : gate_(gate), state_(&*gate.state_), access_(access), outer_(passes_) {
      is_inside_ = state_->enter(access);
      if (is_inside_ && gate.is_closed_) leave();
      if (is_inside_) passes_ = this;
    }
    ~Pass() {
      if (!is_inside_) return;
      passes_ = outer_;
      // Otherwise forked during the call: the parent's is inside.
      if (state_ == &*gate_.state_) leave();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    bool is_inside() const { return is_inside_; }

   private:
    friend class AccessGate;
    // Waits until it is admitted, or throws.
    void wait(const char* call, std::chrono::milliseconds limit);
    void leave() {
      is_inside_ = false;
      if (!state_->leave(access_)) leave_watched();
    }
    void leave_watched();

    AccessGate& gate_;
    State* const state_;  // Of the process that made this.
    const Access access_;
    const Pass* const outer_;  // This thread's pass of another gate, or null.
    bool is_inside_ = false;
  };

  // Throws: FailedPreconditionError if this thread is inside.
  void check_outside(const char* call) const {
    for (const Pass* pass = passes_; pass != nullptr; pass = pass->outer_)
      if (&pass->gate_ == this) throw_inside(call);
  }
  // Admits no call from now on. False if it was closed before. Throws: as check_outside().
  bool close();
  // Returns once no call is inside.
  void wait_until_empty();
  // The number of calls that wait now.
  int num_waiting() const;

 private:
  // State::calls has 20 bits for each kind of access, and one that says that it is watched.
  static constexpr int kBits = 20;
  static constexpr uint64_t kWatched = uint64_t{1} << 63;

  static constexpr uint64_t one(Access access) {
    return uint64_t{1} << (kBits * static_cast<int>(access));
  }
  static constexpr uint64_t num_inside(uint64_t calls) { return calls & ~kWatched; }
  static constexpr uint64_t num_inside(uint64_t calls, Access access) {
    return (calls / one(access)) & ((uint64_t{1} << kBits) - 1);
  }
  // False if a call that is inside keeps others with this access out.
  static constexpr bool admits(uint64_t calls, Access access) {
    if (access == Access::kNone) return true;
    return num_inside(calls, Access::kExclusive) == 0 &&
           (access == Access::kShared || num_inside(calls, Access::kShared) == 0);
  }
  [[noreturn]] static void throw_inside(const char* call);

  static constinit thread_local const Pass* passes_;  // Of this thread, innermost first.

  std::atomic<bool> is_closed_ = false;  // Also in forked processes. Set under the mutex.
  mutable PerProcess<State> state_;
};

}  // namespace crochet::inline v0::internal
