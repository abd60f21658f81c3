// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>

#include <cerrno>
#include <ctime>

namespace crochet::inline v0::internal {

// Keeps a signal that the calling thread raises by a system call from ending the process: SIGPIPE
// by a line of the log whose reader is gone, SIGXFSZ by a file that exceeds the process's limit.
// The call then fails with EPIPE or EFBIG, like any other error. `errno` is unchanged.
class BlockedSignal {
 public:
  explicit BlockedSignal(int signal) {
    ::sigemptyset(&blocked_);
    ::sigaddset(&blocked_, signal);
    sigset_t pending;
    ::sigemptyset(&pending);
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, signal) == 1;
    ::pthread_sigmask(SIG_BLOCK, &blocked_, &previous_);
  }
  ~BlockedSignal() {
    const int saved_errno = errno;
    constexpr struct timespec kNoWait = {};
    if (!was_pending_)
      while (::sigtimedwait(&blocked_, nullptr, &kNoWait) < 0 && errno == EINTR) {
      }
    ::pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
    errno = saved_errno;
  }
  BlockedSignal(const BlockedSignal&) = delete;
  BlockedSignal& operator=(const BlockedSignal&) = delete;

 private:
  sigset_t blocked_ = {};
  sigset_t previous_ = {};
  bool was_pending_ = false;
};

}  // namespace crochet::inline v0::internal
