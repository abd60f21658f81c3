// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/save_estimate.h"

#include <algorithm>

namespace crochet::inline v0::internal {
namespace {

// Disks are slow at times, so the slowest of the last few saves counts, plus half as much.
constexpr size_t kRemembered = 4;
constexpr double kMargin = 1.5;
// Used before anything is measured: a slow, shared disk.
constexpr double kUnknownStartSecs = 1;
constexpr double kUnknownBytesPerSec = 50e6;

}  // namespace

void SaveEstimate::measured(uint64_t bytes, double seconds) {
  measured_.push_back({bytes, seconds});
  if (measured_.size() > kRemembered) measured_.pop_front();
}

double SaveEstimate::seconds_for(uint64_t bytes) const {
  if (measured_.empty())
    return kUnknownStartSecs + static_cast<double>(bytes) / kUnknownBytesPerSec;
  double slowest = 0;
  for (const Save& save : measured_) {
    // The constant cost of a save is unknown, so a smaller save is assumed to be as slow.
    const double growth =
        save.bytes == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(save.bytes);
    slowest = std::max(slowest, save.seconds * std::max(1.0, growth));
  }
  return kMargin * slowest;
}

}  // namespace crochet::inline v0::internal
