// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/coordinator.h"

#include "crochet/base/error.h"
#include "crochet/base/log.h"

namespace crochet {

void Coordinator::request_stop(StopRequest request) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    request_ = std::move(request);
  }
  changed_.notify_all();
}

void Coordinator::request_stop(std::exception_ptr error) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) {
      log_warning("an error after the stop was requested: {}", describe(error));
      return;
    }
    stopped_ = true;
    error_ = error;
  }
  log_error("a thread of the session reports: {}", describe(error));
  changed_.notify_all();
}

bool Coordinator::should_stop() const {
  const std::lock_guard lock(mutex_);
  return stopped_;
}

bool Coordinator::wait_for_stop(std::chrono::nanoseconds timeout) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [this] { return stopped_; });
}

std::optional<StopRequest> Coordinator::stop_request() const {
  const std::lock_guard lock(mutex_);
  return request_;
}

void Coordinator::raise_requested_exception() const {
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    error = error_;
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace crochet
