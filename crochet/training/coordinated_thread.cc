// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <condition_variable>
#include <mutex>
#include <utility>

#include "crochet/training/coordinator.h"

namespace crochet::inline v0 {

struct CoordinatedThread::Signal {
  std::mutex mutex;
  std::condition_variable_any changed;
};

CoordinatedThread::CoordinatedThread(std::string name, std::function<void()> body)
    : name_(std::move(name)),
      signal_("a thread of a session"),
      thread_(name_, [this, body = std::move(body)]() mutable { run(std::move(body)); }) {}

CoordinatedThread::~CoordinatedThread() = default;

void CoordinatedThread::run(std::function<void()> body) {
  body();
  body = nullptr;  // Its captures are destroyed before the thread counts as ended.
  {
    const std::lock_guard lock(signal_->mutex);
    has_ended_ = true;
  }
  signal_->changed.notify_all();
  ended_.request_stop();  // Runs callbacks of others: not under the mutex.
}

bool CoordinatedThread::wait(const std::stop_token& stop) const {
  if (has_ended()) return true;
  std::unique_lock lock(signal_->mutex);
  return signal_->changed.wait(lock, stop, [this] { return has_ended(); });
}

}  // namespace crochet::inline v0
