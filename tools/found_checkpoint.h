// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/io/file_system.h"

namespace crochet::tool {

// A checkpoint as its files' names and its sidecar tell of it, nothing read.
struct FoundCheckpoint {
  std::string prefix;
  CheckpointFormat format = CheckpointFormat::kTensorBundle;
  // The last part of the prefix without "-<step>".
  std::string basename;
  // From the name, else from the sidecar.
  std::optional<int64_t> step = {};
  // Seconds since 1970-01-01 UTC, from the sidecar, else of the file that was written last; NaN if
  // it was just removed.
  double unix_time = 0;
  // Of data and index.
  uint64_t size_bytes = 0;
  std::optional<CheckpointSidecar> sidecar = {};
};

// The format of the checkpoint that a reader finds by this prefix, or by this file; nothing if
// there is none.
std::optional<CheckpointFormat> format_of(FileSystem& files, const std::string& prefix);

// What a reader opens first: "<prefix>.index", "<prefix>.safetensors" and so on.
std::string index_path(FileSystem& files, const std::string& prefix, CheckpointFormat format);

// The checkpoint of this prefix or file, which exists.
FoundCheckpoint look_at_checkpoint(FileSystem& files, const std::string& prefix);

// All checkpoints in a directory, by basename and step. A file "<x>.index" is one if its name ends
// in "-<step>" or there is data of the same name. Of two formats of one prefix, the tensor bundle
// counts, as it does for a run. Throws: NotFoundError if there is no directory.
std::vector<FoundCheckpoint> find_checkpoints(FileSystem& files, const std::string& directory);

// Which of them a run would go on from: that of the largest step, among those whose basename the
// state file names if there are several. Nothing if that does not decide it.
std::optional<std::string> newest_of(FileSystem& files, const std::string& directory,
                                     const std::vector<FoundCheckpoint>& found);

}  // namespace crochet::tool
