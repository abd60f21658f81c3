// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/coordinated_thread.h"

#include <utility>

namespace crochet {

CoordinatedThread::CoordinatedThread(std::string name, std::function<void()> body)
    : name_(std::move(name)),
      thread_(name_, [this, body = std::move(body)]() mutable { run(std::move(body)); }) {}

void CoordinatedThread::run(std::function<void()> body) {
  body();
  body = nullptr;  // Its captures are destroyed before the thread counts as ended.
  {
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
  }
  changed_->notify_all();
  ended_.request_stop();  // Runs callbacks of others: not under the mutex.
}

bool CoordinatedThread::wait(const std::stop_token& stop) const {
  if (has_ended()) return true;
  std::unique_lock lock(mutex_);
  return changed_->wait(lock, stop, [this] { return has_ended(); });
}

}  // namespace crochet
