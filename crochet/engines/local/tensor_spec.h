// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crochet/base/export.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::local {

// What is known about a value before it is computed. By default nothing.
struct CROCHET_EXPORT TensorSpec {
  static constexpr int64_t kAnyNumber = -1;

  DType dtype = DType::kInvalid;    // kInvalid: any type.
  std::optional<Shape> shape = {};  // Unset: any shape. Sizes may be unknown.
  int64_t num_elements = kAnyNumber;

  // False if no value can match both.
  bool agrees_with(const TensorSpec& other) const;
  // True if the value matches. An unset value matches only if nothing is known.
  bool admits(const Tensor& value) const {
    if (dtype == DType::kInvalid) return true;
    return value.dtype() == dtype && (!shape || shape->is_compatible_with(value.shape())) &&
           (num_elements == kAnyNumber || num_elements == value.num_elements());
  }

  // The spec of a value of exactly this type and shape.
  static TensorSpec of(DType dtype, Shape shape) { return {dtype, std::move(shape)}; }
};

// "float32 [?,64]"; "float32 with 3 elements", "one float32", "float32 of any shape", "any tensor".
CROCHET_EXPORT std::string to_string(const TensorSpec& spec);

}  // namespace crochet::inline v0::local
