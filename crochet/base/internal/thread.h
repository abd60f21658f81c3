// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/process_owner.h"

namespace crochet::inline v0::internal {

// A thread of the library, which starts threads in no other way (tests/lifetime checks this).
//
// In a forked child, which has none of its parent's threads, joinable() is false and nothing waits.
class CROCHET_EXPORT Thread {
 public:
  enum class Priority {
    kNormal,
    // For work beside a training, which uses all cores: the thread gets about a tenth of a core
    // that another thread of the process needs, and all of one that is idle. A woken thread does
    // not interrupt another. Without effect where the system refuses it.
    kBackground,
  };

  // Not a thread.
  Thread() noexcept;
  // Runs `body` at once. An exception that escapes it ends the process. Debuggers and profilers
  // show the beginning of `what`, as long as the system allows (15 bytes), as the thread's name.
  // Throws: ResourceExhaustedError, prefixed with `what`, if the system cannot start a thread.
  Thread(const std::string& what, std::function<void()> body,
         Priority priority = Priority::kNormal);
  // Waits until the body has returned.
  ~Thread();
  Thread(Thread&& other) noexcept;
  // First waits for its own thread.
  Thread& operator=(Thread&& other) noexcept;

  bool joinable() const noexcept { return handle_ != nullptr && owner_.is_here(); }
  // Waits until the body has returned, if this is a thread.
  void join();
  // Detaches it, if this is a thread. Requires: everything the body uses outlives the thread.
  void detach();

 private:
  struct Handle;

  ProcessOwner owner_;
  std::unique_ptr<Handle> handle_;  // Null once it is joined or detached.
};

}  // namespace crochet::inline v0::internal
