// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/listing.h"

#include <utility>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

CheckpointFormat ListedFile::format() const {
  return name.ends_with(".safetensors") || name.ends_with(".json")
             ? CheckpointFormat::kSafetensors
             : CheckpointFormat::kTensorBundle;
}

std::vector<ListedFile> list_files(FileSystem& files, const std::string& directory) {
  std::vector<ListedFile> found;
  for (std::string& name : list_or_none(files, directory))
    if (const auto file = parse_checkpoint_filename(name)) {
      std::string base(file->base);
      std::string num_shards(file->num_shards);
      found.push_back({std::move(name), file->role, std::move(base), std::move(num_shards)});
    }
  return found;
}

std::vector<std::string> list_or_none(FileSystem& files, const std::string& directory) {
  try {
    return files.list(directory);
  } catch (const NotFoundError&) {
    return {};
  }
}

}  // namespace crochet::inline v0::internal
