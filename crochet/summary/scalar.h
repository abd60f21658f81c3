// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace crochet::inline v0 {

// A named number at some step: a point of a curve.
struct Scalar {
  std::string tag = {};
  double value = 0;
};

}  // namespace crochet::inline v0
