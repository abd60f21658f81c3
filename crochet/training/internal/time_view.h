// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace crochet::inline v0::internal {

// What the training thread is doing now, of what has a TimeKind and is not a wait for other ranks;
// in memory that another process can read. Times are nanoseconds of the run's clock.
struct TimeView {
  std::atomic<uint32_t> kind = 0;  // 1 + TimeKind; 0: something else.
  std::atomic<int64_t> since = 0;
  std::atomic<int64_t> sum = 0;  // Of what has ended; a reader of steps sets it to 0.
};

}  // namespace crochet::inline v0::internal
