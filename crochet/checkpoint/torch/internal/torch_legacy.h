// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "crochet/checkpoint/torch/internal/torch_index.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The format before torch 1.6, which torch.save(..., _use_new_zipfile_serialization=False) still
// writes. It has no checksums.
//
//   file    := pickle(magic) pickle(1001) pickle(system) pickle(values) pickle(keys) storage*
//   storage := count:u64le elements, in the order of the keys
//
// `system` is a dict with "little_endian". The sizes of elements are those of the storage classes
// in the pickle of the values.

// The limit of pickles, as that of the header of safetensors: enough for half a million tensors.
inline constexpr uint64_t kMaxPickleBytes = 100'000'000;

bool is_legacy_torch_file(const ReadableFile& file);

// Adds the storages and values to the index. Requires: is_legacy_torch_file().
// Throws: as read_torch().
void read_legacy_torch_file(const ReadableFile& file, TorchIndex& index);

}  // namespace crochet::inline v0::internal
