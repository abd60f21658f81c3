// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string_view>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// The number of forks between the process that created the first ProcessOwner and this one.
CROCHET_EXPORT extern constinit std::atomic<int> forks_so_far;
// The process that created an object.
//
// A process created by fork() has a copy of all memory and one thread. The other threads of its
// parent are missing, locks that they held stay locked, and io_uring rings are shared with the
// parent. So each object with a thread, a lock that other threads may hold, a ring or an unfinished
// file has one of these as a member, directly or through ProcessBound, PerProcess or Thread. In a
// child:
//
// - functions that need the parent's resources throw check()'s error, or use their own resources;
// - destructors do not wait, lock, or touch the parent's files.
//
// A check costs one load and no system call. A process created by clone() without running fork()'s
// handlers is not detected.
class CROCHET_EXPORT ProcessOwner {
 public:
  ProcessOwner() noexcept;

  // True in the process that created this.
  bool is_here() const noexcept {
    return generation_ == forks_so_far.load(std::memory_order_relaxed) || is_here_unregistered();
  }
  // Throws: FailedPreconditionError in any other process: "<what>: belongs to process 12, from
  // which process 13 was forked".
  void check(std::string_view what) const {
    if (!is_here()) throw_forked(what);
  }

 private:
  [[noreturn]] void throw_forked(std::string_view what) const;
  bool is_here_unregistered() const noexcept;

  int generation_;  // -1 if forks cannot be counted.
  pid_t pid_;
};

// Keeps a pointer to an object of the parent process that a child must not destroy, so that leak
// checkers find it. Thread-safe.
CROCHET_EXPORT void leave_to_parent(const void* object) noexcept;

// Functions called at a fork by the library's fork handlers: `before` it in the parent, and after
// it in parent and child, where no other thread has run in between.
struct CROCHET_EXPORT ForkActions {
  void (*before)();
  void (*in_parent)();
  void (*in_child)();
  ForkActions* next = nullptr;  // Set by add_fork_actions().
};
// Requires: `actions` lives until the process ends, and is added once.
CROCHET_EXPORT void add_fork_actions(ForkActions& actions) noexcept;

}  // namespace crochet::inline v0::internal
