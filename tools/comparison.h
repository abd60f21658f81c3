// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "crochet/tensor/tensor.h"
#include "tools/number.h"

namespace crochet::tool {

// Two numbers are taken for equal if they differ by at most
// absolute + relative * (the larger of their absolute values); all NaNs are equal then. With both
// 0, elements must have the same bits.
struct Tolerance {
  double absolute = 0;
  double relative = 0;

  bool is_exact() const { return absolute == 0 && relative == 0; }
};

// How the elements of two tensors of one type and shape differ.
struct Comparison {
  uint64_t num_different = 0;
  // Of the elements that differ: the largest differences, absolute and as parts of the larger of
  // both absolute values; infinity where one is NaN or infinite and the other is not. Of strings
  // there are none.
  double max_absolute = 0;
  double max_relative = 0;
  // The first that differs: its place, row-major, and both values.
  uint64_t first = 0;
  Number first_a = {};
  Number first_b = {};
};

// Requires: the same type and shape.
Comparison compare(const Tensor& a, const Tensor& b, const Tolerance& tolerance);

// "[1,2]": where an element lies in a tensor.
std::string place_text(uint64_t element, const Shape& shape);

}  // namespace crochet::tool
