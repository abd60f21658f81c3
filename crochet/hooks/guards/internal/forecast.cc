// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/internal/forecast.h"

#include <algorithm>

namespace crochet::inline v0::internal {
namespace {

constexpr double kWindowSecs = 2 * 3600;
constexpr size_t kMinSamples = 10;

}  // namespace

void Forecast::add(double secs, double value) {
  samples_.emplace_back(secs, value);
  while (secs - samples_.front().first > kWindowSecs) samples_.pop_front();
}

std::optional<double> Forecast::secs_until(double limit) const {
  if (samples_.size() < kMinSamples) return std::nullopt;
  const auto count = static_cast<double>(samples_.size());
  double mean_secs = 0;
  double mean_value = 0;
  for (const auto& [secs, value] : samples_) {
    mean_secs += secs / count;
    mean_value += value / count;
  }
  double spread = 0;
  double both = 0;
  for (const auto& [secs, value] : samples_) {
    spread += (secs - mean_secs) * (secs - mean_secs);
    both += (secs - mean_secs) * (value - mean_value);
  }
  if (!(spread > 0) || !(both > 0)) return std::nullopt;
  const double growth = both / spread;
  return std::max(0.0, (limit - samples_.back().second) / growth);
}

}  // namespace crochet::inline v0::internal
