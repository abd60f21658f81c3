// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace crochet::tool {

// Numbers by another one, such as a step, which rises.
struct Curve {
  std::string name = {};
  std::vector<std::pair<double, double>> points = {};
};

// False for NaN and what is beyond 1e300: differences of others are numbers, too.
inline bool is_drawn(double value) { return std::abs(value) < 1e300; }

}  // namespace crochet::tool
