// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "crochet/checkpoint/torch/internal/pickle.h"
#include "crochet/tensor/dtype.h"

namespace crochet::inline v0::internal {

// An element type of torch.
struct TorchType {
  std::string_view dtype;    // Its name in the module torch: "float32".
  std::string_view storage;  // Of storages that have a type: "FloatStorage"; may be empty.
  size_t size;               // Of an element in bytes.
  DType equivalent;          // kInvalid if DType has none.
};

// Null if torch has no such type.
const TorchType* find_torch_dtype(const GlobalName& global);
const TorchType* find_torch_storage(const GlobalName& global);

}  // namespace crochet::inline v0::internal
