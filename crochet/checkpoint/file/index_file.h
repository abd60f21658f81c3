// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crochet/io/file_system.h"

namespace crochet {

// The file that makes a checkpoint: `<prefix>.index`, `<prefix>.safetensors` (with the data in it)
// or `<prefix>.safetensors.index.json`.

// True if there is an index, or a file of exactly this name.
bool checkpoint_exists(FileSystem& files, const std::string& prefix);
// The path of the file that makes it a checkpoint, of either format; nothing without it.
std::optional<std::string> find_index(FileSystem& files, const std::string& prefix);
// What CheckpointWriter::index_crc32c() was when it was written.
// Throws: NotFoundError without such a checkpoint; DataLossError if its file is cut.
uint32_t index_crc32c_of(FileSystem& files, const std::string& prefix);

namespace internal {
// The number of data files of which the index of a bundle tells; nothing if that cannot be known.
std::optional<int> num_shards_of(FileSystem& files, const std::string& prefix);
}  // namespace internal

}  // namespace crochet
