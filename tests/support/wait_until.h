// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace crochet::inline v0 {

// Waits until another thread has made `condition` true. `what` completes "waited for ...".
// Throws, after a minute and a test failure, so that no test hangs without a word.
inline void wait_until(const std::string& what, const std::function<bool()>& condition) {
  constexpr std::chrono::minutes kLimit(1);
  const auto start = std::chrono::steady_clock::now();
  while (!condition()) {
    if (std::chrono::steady_clock::now() - start > kLimit) {
      ADD_FAILURE() << "waited for " << what << " in vain";
      throw std::runtime_error("waited for " + what + " in vain");
    }
    std::this_thread::yield();
  }
}

}  // namespace crochet::inline v0
