// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/internal/spike_detector.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace crochet::inline v0::internal {
namespace {

// Of values that hardly vary: a smaller deviation than this part of the median does not count.
constexpr double kLeastDeviation = 1e-3;

}  // namespace

SpikeDetector::SpikeDetector(double factor, size_t window, size_t min_values)
    : factor_(factor), window_(window), min_values_(min_values) {}

bool SpikeDetector::is_spike(double value) const {
  if (!std::isfinite(value)) return true;
  if (values_.size() < min_values_) return false;
  const double above = value - median();
  // Most values need no deviation.
  return above > factor_ * kLeastDeviation * std::abs(median()) && above > factor_ * deviation();
}

void SpikeDetector::add(double value) {
  if (values_.size() == window_) {
    sorted_.erase(std::ranges::lower_bound(sorted_, values_.front()));
    values_.erase(values_.begin());
  }
  values_.push_back(value);
  sorted_.insert(std::ranges::upper_bound(sorted_, value), value);
}

std::string SpikeDetector::text() const {
  if (values_.size() < min_values_) return fmt::format("after {} values", values_.size());
  return fmt::format(
      "the median of the last {} is {:.4g} and their median absolute deviation {:.2g}",
      values_.size(), median(), deviation());
}

void SpikeDetector::set_values(std::span<const double> values) {
  values_.clear();
  sorted_.clear();
  for (const double value : values.last(std::min(values.size(), window_)))
    if (std::isfinite(value)) add(value);
}

double SpikeDetector::median() const { return sorted_[sorted_.size() / 2]; }

double SpikeDetector::deviation() const {
  std::vector<double> distances;
  distances.reserve(sorted_.size());
  for (const double value : sorted_) distances.push_back(std::abs(value - median()));
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::ranges::nth_element(distances, middle);
  return *middle;
}

}  // namespace crochet::inline v0::internal
