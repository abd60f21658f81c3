// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::tensorflow::internal {

// Parts of tensors of numbers, as in partitioned variables: a box of `shape` that begins at
// `offset`. Requires: the box lies in the whole.

Tensor cut_part(const Tensor& whole, std::span<const int64_t> offset, const Shape& shape);
void place_part(Tensor& whole, const Tensor& part, std::span<const int64_t> offset);

}  // namespace crochet::inline v0::tensorflow::internal
