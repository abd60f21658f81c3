// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "crochet/tensor/dtype.h"

namespace crochet::inline v0::internal {

// An element type of torch.
struct TorchType {
  std::string_view dtype;    // As a global in a pickle: "torch\nfloat32".
  std::string_view storage;  // Of storages that have a type: "torch\nFloatStorage"; may be empty.
  size_t size;               // Of an element in bytes.
  DType equivalent;          // kInvalid if DType has none.
};

// Null if torch has no such type, or its elements need more than their bytes: a quantized one.
const TorchType* find_torch_dtype(std::string_view global);
const TorchType* find_torch_storage(std::string_view global);

}  // namespace crochet::inline v0::internal
