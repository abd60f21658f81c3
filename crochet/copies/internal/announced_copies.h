// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>
#include <utility>

#include "crochet/base/internal/process_owner.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

// Copies that other threads of this process make and announce as made.
class AnnouncedCopies : public PendingCopies {
 public:
  // Also throws FailedPreconditionError in a forked child, if its parent had not made them.
  void wait() override {
    if (!done_.load(std::memory_order_acquire)) {
      owner_.check("the copies of a snapshot");
      done_.wait(false, std::memory_order_acquire);
    }
    if (error_) std::rethrow_exception(error_);
  }

  // Called once. `error` is what stopped a copy; null if nothing did.
  void announce(std::exception_ptr error = nullptr) {
    error_ = std::move(error);
    done_.store(true, std::memory_order_release);
    done_.notify_all();
  }

 private:
  const ProcessOwner owner_;
  std::exception_ptr error_;
  std::atomic<bool> done_ = false;
};

}  // namespace crochet::inline v0::internal
