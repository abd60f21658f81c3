// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "crochet/checkpoint/torch/pickle.h"
#include "crochet/checkpoint/torch/torch_index.h"
#include "crochet/checkpoint/torch/zip_directory.h"

namespace crochet::inline v0::internal {

// The functions, classes and constants that a pickle of torch may name.
bool is_known_to_torch(std::string_view global);

// Adds the values of a pickle to index.tensors, layouts and storages. `root` is the folder of the
// archive; `document` is for messages: file and entry. Requires: the pickle's globals are known.
// Throws: as read_torch().
void add_torch_values(const Pickle& pickle, const ZipDirectory& archive, const std::string& root,
                      const std::string& document, uint64_t pickle_bytes, uint64_t file_bytes,
                      TorchIndex& index);

}  // namespace crochet::inline v0::internal
