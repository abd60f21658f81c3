// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/checkpoint/format/internal/stored_tensors.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The index file of a bundle, decoded and checked.
struct BundleIndex {
  BundleHeader header;
  StoredTensors entries;
};

// Throws: NotFoundError if there is no such file; DataLossError for a damaged file, and if two
// entries share bytes of a data file, so that all tensors together are no larger than the files;
// InvalidArgumentError for a version that cannot be read; UnimplementedError for a compressed file.
BundleIndex read_bundle_index(FileSystem& files, const std::string& path);

// The same for the bytes of a file. `file` is its name in messages.
BundleIndex decode_bundle_index(std::string_view bytes, std::string_view file);

// The data files that are used by an entry.
std::set<int> used_shards(const BundleIndex& index);

}  // namespace crochet::inline v0::internal
