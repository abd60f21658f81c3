// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "crochet/tensor/dtype.h"

namespace crochet::inline v0::internal {

// An element type of the safetensors format.
struct SafetensorsType {
  std::string_view name;  // "F32".
  unsigned bits;          // Of one element.
  DType dtype;
};

// Null if the format has no such type.
const SafetensorsType* find_safetensors_type(std::string_view name);
const SafetensorsType* safetensors_type_of(DType dtype);

// The bits of an element of this type in a file: less than 8 if several are in a byte.
unsigned stored_bits(DType dtype);

// True if tensors of type `a` come before those of `b` in a file: larger alignment first, otherwise
// in the order of the format's own library.
bool comes_before(const SafetensorsType* a, const SafetensorsType* b);

}  // namespace crochet::inline v0::internal
