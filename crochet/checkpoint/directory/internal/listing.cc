// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/listing.h"

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

CheckpointFormat ListedFile::format() const {
  return name.ends_with(".safetensors") || name.ends_with(".json")
             ? CheckpointFormat::kSafetensors
             : CheckpointFormat::kTensorBundle;
}

std::vector<ListedFile> list_files(FileSystem& files, const std::string& directory) {
  return files_among(list_or_none(files, directory));
}

std::vector<ListedFile> files_among(const std::vector<std::string>& names) {
  std::vector<ListedFile> found;
  for (const std::string& name : names)
    if (const auto file = parse_checkpoint_filename(name))
      found.push_back({name, file->role, std::string(file->base), std::string(file->num_shards)});
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
