// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// True if both are types of real numbers, or bool.
CROCHET_EXPORT bool can_convert(DType from, DType to);

// Writes the elements of a tensor to `destination` as numbers of another type: rounded to the
// nearest if that is a floating-point type (to half and bfloat16 by way of float32).
// Requires: can_convert(), and memory of the right size.
// Throws: InvalidArgumentError for a number that the type cannot hold: a finite one beyond its
// range, or for an integer type any that is not among its values.
CROCHET_EXPORT void convert(const Tensor& tensor, DType to, std::span<std::byte> destination);

}  // namespace crochet::inline v0::internal
