// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// A file of a checkpoint, by its name.
struct ListedFile {
  std::string name;  // Without the directory.
  FileRole role;
  std::string base;        // The last part of the prefix: "model.ckpt-100".
  std::string num_shards;  // For a data file: the digits after "-of-".

  bool is_index() const { return role == FileRole::kIndex; }
  bool is_data() const { return role == FileRole::kData; }
  // Of an index or data file.
  CheckpointFormat format() const;
};

// The one listing of a directory's checkpoints: what there is to restore, to keep, to show and to
// tidy is a choice among these files. Sorted by name; empty if there is no such directory.
CROCHET_EXPORT std::vector<ListedFile> list_files(FileSystem& files, const std::string& directory);
// The same, for a caller that needs other names of the directory as well.
std::vector<ListedFile> files_among(const std::vector<std::string>& names);

// All names in a directory; empty if there is no such directory.
std::vector<std::string> list_or_none(FileSystem& files, const std::string& directory);

}  // namespace crochet::inline v0::internal
