// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/tensor/dtype.h"

namespace crochet::inline v0::internal {

// Calls `visit` with a value of the type that has this DType. False if no type has it.
template <typename... Types, typename Visit>
bool visit_type(DType dtype, const Visit& visit) {
  return ((dtype == dtype_of<Types> && (visit(Types()), true)) || ...);
}

// The same for the types of real numbers, and bool.
template <typename Visit>
bool visit_real_type(DType dtype, const Visit& visit) {
  return visit_type<float, double, Half, Bfloat16, int8_t, int16_t, int32_t, int64_t, uint8_t,
                    uint16_t, uint32_t, uint64_t, bool>(dtype, visit);
}

}  // namespace crochet::inline v0::internal
