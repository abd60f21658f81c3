// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "crochet/base/process_owner.h"

namespace crochet {

// A thread of the library, which starts threads in no other way (tests/lifetime checks this).
//
// In a forked child, which has none of its parent's threads, joinable() is false and nothing waits.
class Thread {
 public:
  // Not a thread.
  Thread() = default;
  // Runs `body` at once. An exception that escapes it ends the process.
  // Throws: ResourceExhaustedError, prefixed with `what`, if the system cannot start a thread.
  Thread(const std::string& what, std::function<void()> body);
  // Waits until the body has returned.
  ~Thread();
  Thread(Thread&& other) noexcept = default;
  // First waits for its own thread.
  Thread& operator=(Thread&& other) noexcept;

  bool joinable() const noexcept { return thread_ != nullptr && owner_.is_here(); }
  // Waits until the body has returned, if this is a thread.
  void join();
  // Detaches it, if this is a thread. Requires: everything the body uses outlives the thread.
  void detach();

 private:
  ProcessOwner owner_;
  std::unique_ptr<std::thread> thread_;  // Null once it is joined or detached.
};

}  // namespace crochet
