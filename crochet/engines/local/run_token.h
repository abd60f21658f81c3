// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <condition_variable>
#include <mutex>

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
// Who wants it exclusively does not wait for shares that are asked for later.
class RunToken {
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
    const Access access_;
    const Holder* const outer_;  // This thread's holder of another token, or null.
  };

  // Throws: FailedPreconditionError if this thread has a right of this token.
  void check_not_held(const char* what) const;
  // How many wait for it now.
  int num_waiting() const;

 private:
  int& holders(Access access) { return holders_[static_cast<size_t>(access)]; }
  bool may_enter(Access access);

  static thread_local const Holder* held_;  // The rights of this thread, innermost first.

  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::array<int, 4> holders_ = {};  // By access.
  int num_waiting_ = 0;
  int num_waiting_for_more_ = 0;  // Than a share.
};

}  // namespace crochet::local
