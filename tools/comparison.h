// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "crochet/tensor/tensor.h"
#include "tools/number.h"

namespace crochet::tool {

// Two numbers count as equal if they differ by at most
// absolute + relative * (the larger of their absolute values); then all NaNs are equal. If both are
// 0, elements must have the same bits.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  bool is_exact() const { return absolute == 0 && relative == 0; }
};

// How the elements of two tensors of one type and shape differ.
struct Comparison {
  uint64_t num_different = 0;
  // The largest differences between elements, absolute and relative to the larger of
  // both absolute values; infinity if one is NaN or infinite and the other is not. 0 for
  // strings.
  double max_absolute = 0;
  double max_relative = 0;
  // The first element that differs: its row-major index, and both values.
  uint64_t first = 0;
  Number first_a = {};
  Number first_b = {};
};

// Requires: the same type and shape.
Comparison compare(const Tensor& a, const Tensor& b, const Tolerance& tolerance);

// "[1,2]": the position of an element in a tensor.
std::string position_text(uint64_t element, const Shape& shape);

}  // namespace crochet::tool
