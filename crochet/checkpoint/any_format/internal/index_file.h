// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The index, which makes files a checkpoint: `<prefix>.index`, `<prefix>.safetensors` (including
// the data) or `<prefix>.safetensors.index.json`.

// The path of the index, of either format; unset if there is none.
CROCHET_EXPORT std::optional<std::string> find_index(FileSystem& files, const std::string& prefix);
// CheckpointWriter::index_crc32c() at the time of writing.
// Throws: NotFoundError if there is no such checkpoint; DataLossError if its file is truncated.
CROCHET_EXPORT uint32_t index_crc32c_of(FileSystem& files, const std::string& prefix);

// The same for the file of an index.
CROCHET_EXPORT uint32_t crc32c_of_index_file(FileSystem& files, const std::string& path);
// The number of data files according to the index of a bundle; unset if it is unknown.
CROCHET_EXPORT std::optional<int> num_shards_of(FileSystem& files, const std::string& prefix);
}  // namespace crochet::inline v0::internal
