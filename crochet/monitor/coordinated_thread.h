// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>

#include "crochet/base/process_bound.h"
#include "crochet/base/thread.h"

namespace crochet {

// A thread with a name that can be asked whether it has ended.
//
// It is never detached: the destructor waits for it, however long that takes, so
// what the body uses must outlive this object only. Most threads of a session are best
// made by Coordinator::start_thread, which also looks after their errors.
//
// In a forked process, which does not have it, it counts as ended.
//
// Thread-safe.
class CoordinatedThread {
 public:
  // Runs `body` at once. As in std::thread, an exception that leaves it ends the process.
  // Throws: ResourceExhaustedError if the system gives no thread.
  CoordinatedThread(std::string name, std::function<void()> body);
  // Waits until the body has returned. Not to be called from the body.
  ~CoordinatedThread() = default;
  CoordinatedThread(const CoordinatedThread&) = delete;
  CoordinatedThread& operator=(const CoordinatedThread&) = delete;

  const std::string& name() const { return name_; }
  bool has_ended() const { return has_ended_ || !changed_.is_here(); }
  // Requested once it has ended: to sleep no longer than that. Callbacks of others that wait for
  // it are called without a mutex.
  std::stop_token end_token() const { return ended_.get_token(); }
  // Waits until it has ended or `stop` is requested; true if it has ended.
  bool wait(const std::stop_token& stop = {}) const;

 private:
  void run(std::function<void()> body);

  const std::string name_;
  std::stop_source ended_;
  std::atomic<bool> has_ended_ = false;  // Set under the mutex.
  mutable std::mutex mutex_;
  const ProcessBound<std::condition_variable_any> changed_{"a thread of a session"};

  Thread thread_;  // Last: joins before what it uses is gone.
};

}  // namespace crochet
