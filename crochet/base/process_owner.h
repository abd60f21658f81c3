// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string_view>

namespace crochet {

namespace internal {
// How often this process and those before it were forked, since the first ProcessOwner was made.
extern constinit std::atomic<int> forks_so_far;
}  // namespace internal

// The process that made an object.
//
// A process made by fork() has a copy of all memory and one thread. The other threads of its parent
// are missing, locks that they held stay locked, and rings of the kernel are shared with the
// parent. So each object that has a thread, a lock that others may hold, a ring or an unfinished
// file has one of these as a member, directly or by ProcessBound, PerProcess or Thread. In a child:
//
// - what needs the parent's resources throws check()'s error, or uses resources of its own;
// - destructors neither wait, nor lock, nor touch the parent's files.
//
// Asking costs a load: no call of the system. A process made by clone() without fork()'s handlers
// is not noticed.
class ProcessOwner {
 public:
  ProcessOwner() noexcept;

  // True in the process that made this.
  bool is_here() const noexcept {
    return generation_ == internal::forks_so_far.load(std::memory_order_relaxed) ||
           is_here_unregistered();
  }
  // Throws: FailedPreconditionError in any other process: "<what>: belongs to process 12, from
  // which this process 13 was forked".
  void check(std::string_view what) const {
    if (!is_here()) throw_forked(what);
  }

 private:
  [[noreturn]] void throw_forked(std::string_view what) const;
  bool is_here_unregistered() const noexcept;

  int generation_;  // -1 if forks cannot be counted.
  pid_t pid_;
};

// Keeps an object of the parent process that a child does not destroy, so that leak checkers find
// it. Thread-safe.
void leave_to_parent(const void* object) noexcept;

// What a fork does besides, at the hands of the one handler of forks: `before` it in the parent,
// and afterwards in each of the two, where no other thread has run since.
struct ForkActions {
  void (*before)();
  void (*in_parent)();
  void (*in_child)();
  ForkActions* next = nullptr;  // Set by add_fork_actions().
};
// Requires: `actions` lives as long as the process, and is added once.
void add_fork_actions(ForkActions& actions) noexcept;

}  // namespace crochet
