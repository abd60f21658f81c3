// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace crochet::local {

// The right to use a session's state, held by one thread at a time. No mutex is
// held meanwhile, so callables of users may block as they like; asking for it
// again on the thread that has it is an error, not a deadlock.
class RunToken {
 public:
  // Holds the token from construction to destruction.
  class Holder {
   public:
    // Waits for the token. Throws: FailedPreconditionError if this thread has it.
    Holder(RunToken& token, const char* what);
    ~Holder();
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;

   private:
    RunToken& token_;
  };

 private:
  std::mutex mutex_;  // Guards what follows.
  std::condition_variable returned_;
  std::thread::id owner_;  // Of no thread if the token is free.
};

}  // namespace crochet::local
