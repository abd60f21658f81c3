// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// A checkpoint as described by its file names and its sidecar; its data is not read.
struct FoundCheckpoint {
  std::string prefix;
  CheckpointFormat format = CheckpointFormat::kTensorBundle;
  // The last part of the prefix without "-<step>".
  std::string basename;
  // From the name, or else from the sidecar.
  std::optional<int64_t> step = {};
  // Seconds since 1970-01-01 UTC, from the sidecar, or else of the newest file; NaN if the
  // checkpoint was just removed.
  double unix_time = 0;
  // The size of data and index.
  uint64_t size_bytes = 0;
  std::optional<CheckpointSidecar> sidecar = {};
};

// The format of the checkpoint that a reader finds for this prefix or file; nothing if
// there is none.
CROCHET_EXPORT std::optional<CheckpointFormat> format_of(FileSystem& files,
                                                         const std::string& prefix);

// The checkpoint of this prefix or file. Requires: it exists.
CROCHET_EXPORT FoundCheckpoint look_at_checkpoint(FileSystem& files, const std::string& prefix);

// All checkpoints in a directory, sorted by basename and step. A file "<x>.index" is one if its
// name ends in "-<step>" or there is data of the same name. If a prefix exists in two formats, the
// tensor bundle is used, as in a run. Empty if there is no directory.
CROCHET_EXPORT std::vector<FoundCheckpoint> find_checkpoints(FileSystem& files,
                                                             const std::string& directory);

// Those that belong to one run, which resumes from the last of them: all, or, if there are several
// basenames, those with the one in the state file. Empty if that does not determine one.
CROCHET_EXPORT std::vector<FoundCheckpoint> of_one_run(FileSystem& files,
                                                       const std::string& directory,
                                                       std::vector<FoundCheckpoint> found);

}  // namespace crochet::inline v0::internal
