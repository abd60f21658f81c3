// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/saveable.h"

#include "crochet/base/error.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0 {

const Tensor& single_value(const TensorMap& state, DType dtype) {
  if (state.size() != 1 || !state.begin()->first.empty())
    throw InvalidArgumentError(
        fmt::format("stored state: found {} values, expected one number", state.size()));
  const Tensor& value = state.begin()->second;
  if (value.dtype() != dtype || value.num_elements() != 1)
    throw InvalidArgumentError(
        fmt::format("stored state: found {}, expected one {}", describe(value), dtype));
  return value;
}

}  // namespace crochet::inline v0
