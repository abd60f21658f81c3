// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/checkpoint/torch/internal/pickle.h"
#include "crochet/checkpoint/torch/internal/torch_index.h"
#include "crochet/checkpoint/torch/internal/torch_types.h"
#include "crochet/checkpoint/torch/internal/torch_view.h"

namespace crochet::inline v0::internal {

// A tensor of a file, or numbers and strings of its pickle.
struct TorchTensor {
  StoredTensor entry = {};
  TorchLayout layout = {};
  std::string problem = {};  // Why its elements cannot be read; empty if they can.
};

// The functions that make tensors: their arguments differ.
enum class TensorForm {
  kOld,      // storage, offset, sizes, strides
  kUntyped,  // and requires_grad, hooks, flags
  kTyped,    // and requires_grad, hooks, type, flags
};

// Reads the arguments of functions that make tensors of storages.
class TorchTensors {
 public:
  // Requires: all outlive this, and the index has its storages.
  TorchTensors(const Pickle& pickle, uint64_t file_bytes, const TorchIndex& index)
      : pickle_(pickle), file_bytes_(file_bytes), index_(index) {}

  // Requires: there are as many arguments as the form has, apart from flags.
  // Throws: UnreadValue.
  TorchTensor read(const PickleValue& arguments, TensorForm form) const;

 private:
  struct Storage {
    int32_t number;
    const TorchType* type;  // Null if it has none.
  };

  std::vector<int64_t> numbers(const PickleValue& value) const;
  void check_flags(const PickleValue& flags) const;
  TorchView view_of(const PickleValue& arguments) const;
  Storage storage_of(const PickleValue& persistent) const;
  TorchTensor made(const TorchView& view, const Storage& storage, const TorchType& type) const;

  const Pickle& pickle_;
  const uint64_t file_bytes_;
  const TorchIndex& index_;
};

}  // namespace crochet::inline v0::internal
