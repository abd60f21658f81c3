// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// When a quantity that grows, with its last samples on a line, reaches a limit.
class CROCHET_EXPORT Forecast {
 public:
  // At `secs` on any clock that does not go back.
  void add(double secs, double value);

  // How many seconds it is from the last sample until the line is at `limit`: the line of least
  // squares through the last two hours, or less as long as there is less. Unset without growth,
  // and before there are ten samples: a program that has just started always grows.
  std::optional<double> secs_until(double limit) const;

 private:
  std::deque<std::pair<double, double>> samples_;
};

}  // namespace crochet::inline v0::internal
