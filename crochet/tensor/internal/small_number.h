// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/dtype.h"

namespace crochet::inline v0::internal {

// True for the types of at most 8 bits that C++ lacks: float8, float6, float4, int4, int2.
CROCHET_EXPORT bool is_small_number(DType dtype);

// The value of an element of such a type. Bits above those of the type are ignored.
// Requires: is_small_number().
CROCHET_EXPORT float small_number_to_float(DType dtype, uint8_t byte);

// An element of such a type.
template <DType kDType>
struct SmallNumber {
  uint8_t byte = 0;

  operator float() const { return small_number_to_float(kDType, byte); }
};

}  // namespace crochet::inline v0::internal
