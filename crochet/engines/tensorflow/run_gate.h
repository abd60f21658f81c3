// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace crochet::tensorflow::internal {

// What a call of a session does to the variables.
enum class Access {
  kRead,       // Nothing: goes on beside all others.
  kChange,     // Changes them, beside other such runs, which TensorFlow orders, and readers.
  kExclusive,  // Wants them as they are between two steps: no run that changes them, nor another.
};

// Lets the runs of a session pass that may go on together, and counts them, so that the session
// is deleted behind the last. Whoever waits for kExclusive comes before changes that begin later.
//
// Thread-safe.
class RunGate {
 public:
  // One run. Throws FailedPreconditionError, naming the call, if the gate is closed or is closed
  // while it waits.
  class Pass {
   public:
    // Throws besides: DeadlineExceededError if it had to wait for so long; 0: there is no limit.
    Pass(RunGate& gate, Access access, const char* call, std::chrono::milliseconds limit = {})
        : gate_(gate), access_(access) {
      gate.enter(access, call, limit);
    }
    ~Pass() { gate_.leave(access_); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    RunGate& gate_;
    const Access access_;
  };

  // Lets nobody in any more. False if it was closed before.
  bool close();
  // Returns once nobody is inside.
  void wait_until_empty();

 private:
  void enter(Access access, const char* call, std::chrono::milliseconds limit);
  void leave(Access access);
  // Requires: the mutex is held.
  bool may_enter(Access access) const;

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  bool is_closed_ = false;
  int64_t num_inside_ = 0;
  int64_t num_changing_ = 0;
  int64_t num_waiting_exclusive_ = 0;
  bool is_exclusive_ = false;
};

}  // namespace crochet::tensorflow::internal
