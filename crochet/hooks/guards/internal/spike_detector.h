// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// Knows the last values of a number, and whether another one jumps out of them: see
// SpikeGuardHookOptions. The median and the median absolute deviation, since one jump that was
// accepted does not hide the next.
class CROCHET_EXPORT SpikeDetector {
 public:
  SpikeDetector(double factor, size_t window, size_t min_values);

  bool is_spike(double value) const;
  // Requires: not a spike.
  void add(double value);

  // "the median of the last 100 is 2.31 and their median absolute deviation 0.04"; without enough
  // values, their number.
  std::string text() const;

  // The oldest first.
  const std::vector<double>& values() const { return values_; }
  void set_values(std::span<const double> values);

 private:
  double median() const;
  double deviation() const;

  const double factor_;
  const size_t window_;
  const size_t min_values_;
  std::vector<double> values_;
  std::vector<double> sorted_;
};

}  // namespace crochet::inline v0::internal
