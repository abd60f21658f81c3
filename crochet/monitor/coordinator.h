// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>

#include "crochet/monitor/stop_request.h"

namespace crochet {

// Brings the threads of one session to a common stop: each may ask for it, each
// looks whether somebody did, and the first error is kept for whoever joins.
//
// Thread-safe.
class Coordinator {
 public:
  // Asks for a clean stop. The first request counts.
  void request_stop(StopRequest request);
  // Asks for a stop because of an error, which raise_requested_exception() will throw.
  void request_stop(std::exception_ptr error);

  bool should_stop() const;
  // Waits until a stop is requested, at most `timeout`; true if it is.
  bool wait_for_stop(std::chrono::nanoseconds timeout) const;
  // Set once somebody asked for a clean stop.
  std::optional<StopRequest> stop_request() const;
  // Throws the error that stopped the threads, if it was one.
  void raise_requested_exception() const;

 private:
  mutable std::mutex mutex_;  // Guards what follows.
  mutable std::condition_variable changed_;
  bool stopped_ = false;
  std::optional<StopRequest> request_;
  std::exception_ptr error_;
};

}  // namespace crochet
