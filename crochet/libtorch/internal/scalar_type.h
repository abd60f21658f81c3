// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <c10/core/ScalarType.h>

#include "crochet/tensor/dtype.h"

namespace crochet::inline v0::libtorch::internal {

// The element type of the same meaning; empty for types that only LibTorch has, such as those of
// quantized tensors.
std::optional<DType> dtype_of(c10::ScalarType type);
// The inverse; empty for types that this version of LibTorch does not have, and for kString.
std::optional<c10::ScalarType> scalar_type_of(DType dtype);

}  // namespace crochet::inline v0::libtorch::internal
