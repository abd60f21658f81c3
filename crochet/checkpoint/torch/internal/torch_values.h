// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "crochet/checkpoint/torch/internal/pickle.h"
#include "crochet/checkpoint/torch/internal/torch_index.h"

namespace crochet::inline v0::internal {

// Adds the values of a pickle to index.tensors, layouts and unreadable. `document` is the pickle
// for messages: "a/data.pkl". Requires: the index has its storages.
// Throws: DataLossError if values contain each other in a way that their names need far more memory
// than the file.
void add_torch_values(const Pickle& pickle, const std::string& document, uint64_t file_bytes,
                      TorchIndex& index);

}  // namespace crochet::inline v0::internal
