// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

// For tests: a tensor of any type with bytes, which are consecutive numbers.
inline Tensor counting(DType dtype, const Shape& shape) {
  Tensor tensor(dtype, shape);
  int next = 0;
  for (std::byte& byte : tensor.mutable_bytes())
    byte = static_cast<std::byte>(dtype == DType::kBool ? next++ & 1 : next++);
  return tensor;
}

// For tests: all tensors of a checkpoint.
inline TensorMap read_all(const CheckpointReader& reader) {
  TensorMap tensors;
  for (const auto& [name, info] : reader.tensors()) tensors[name] = reader.read(name);
  return tensors;
}

}  // namespace crochet::inline v0
