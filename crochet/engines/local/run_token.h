// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>

#include "crochet/base/process_bound.h"
namespace crochet::local {

// How much of a session's state a call wants.
enum class Access {
  kNone,       // Nothing: it goes on beside all others.
  kShared,     // What does not change meanwhile.
  kExclusive,  // To change it: nobody else has a share.
  kAlone,      // No other call at all is under way.
};

// The right to use a session's state. No mutex is held meanwhile, so callables of users may block
// as they like; asking for it again on a thread that has it is an error, not a deadlock.
// A forked child has the right of nobody else in its way.
// Who wants it exclusively does not wait for shares that are asked for later.
class RunToken {
 private:
  struct State;

 public:
  // Holds the right from construction to destruction.
  class Holder {
   public:
    // Waits for the right. Throws: as check_not_held().
    Holder(RunToken& token, Access access, const char* what);
    ~Holder();
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   private:
    friend class RunToken;
    RunToken& token_;
    State* const state_;  // Of the process that made this.
    const Access access_;
    const Holder* const outer_;  // This thread's holder of another token, or null.
  };

  // Throws: FailedPreconditionError if this thread has a right of this token.
  void check_not_held(const char* what) const;
  // How many wait for it now.
  int num_waiting() const;

 private:
  static thread_local const Holder* held_;  // The rights of this thread, innermost first.

  struct State {
    int& holders_of(Access access) { return holders[static_cast<size_t>(access)]; }
    bool may_enter(Access access);

    std::mutex mutex;  // Guards what follows.
    std::condition_variable changed;
    std::array<int, 4> holders = {};  // By access.
    int num_waiting = 0;
    int num_waiting_for_more = 0;  // Than a share.
  };

  mutable PerProcess<State> state_;
};

}  // namespace crochet::local
