// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <string>

#include "crochet/base/export.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/base/internal/thread.h"

namespace crochet::inline v0 {

// A named thread that can be asked whether it has ended.
//
// It is never detached: the destructor waits for it, however long that takes, so
// what the body uses need only outlive this object. Most threads of a session are best
// started with Coordinator::start_thread, which also handles their errors.
//
// In a forked child, where the thread does not exist, it counts as ended.
//
// Thread-safe.
class CROCHET_EXPORT CoordinatedThread {
 public:
  // Runs `body` at once. As with std::thread, an exception that escapes it ends the process.
  // Throws: ResourceExhaustedError if the system cannot start a thread.
  CoordinatedThread(std::string name, std::function<void()> body);
  // Waits until the body has returned. Must not be called from the body.
  ~CoordinatedThread();
  CoordinatedThread(const CoordinatedThread&) = delete;
  CoordinatedThread& operator=(const CoordinatedThread&) = delete;

  const std::string& name() const { return name_; }
  bool has_ended() const { return has_ended_ || !signal_.is_here(); }
  // A stop is requested on it once the thread has ended, for sleeps that should end with the
  // thread. Stop callbacks registered on it run without a mutex held.
  std::stop_token end_token() const { return ended_.get_token(); }
  // Waits until it has ended or `stop` is requested; true if it has ended.
  bool wait(const std::stop_token& stop = {}) const;

 private:
  void run(std::function<void()> body);

  const std::string name_;
  std::stop_source ended_;
  std::atomic<bool> has_ended_ = false;  // Set under the signal's mutex.
  struct Signal;
  const internal::ProcessBound<Signal> signal_;

  internal::Thread thread_;  // Last: joins before what it uses is gone.
};

}  // namespace crochet::inline v0
