// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "crochet/tensor/tensor.h"
#include "tools/number.h"

namespace crochet::tool {

// Statistics of a tensor's elements. Only finite numbers count; for bools, true is 1 in the
// mean; complex numbers have a mean but no minimum and maximum;
// strings have none of these.
struct Statistics {
  Number min = {};
  Number max = {};
  Number mean = {};
  // For complex numbers, those with such a part.
  uint64_t num_nan = 0;
  uint64_t num_infinite = 0;
};

Statistics statistics_of(const Tensor& tensor);

// The first elements, at most `count`, row-major.
std::vector<Number> first_values(const Tensor& tensor, uint64_t count);

}  // namespace crochet::tool
