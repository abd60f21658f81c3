// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crochet/cloud/internal/mirror.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::cloud::internal {

// A checkpoint in the directory of a run.
struct LocalCheckpoint {
  std::string name;      // "model.ckpt-100".
  double unix_time = 0;  // When it was saved.
  bool is_pinned = false;

  // Of the same save.
  friend bool operator==(const LocalCheckpoint& a, const LocalCheckpoint& b) {
    return a.name == b.name && a.unix_time == b.unix_time;
  }
};

// The published checkpoints `<basename>-<step>` of a directory, in the order in which they were
// saved. Throws: what the file system throws.
std::vector<LocalCheckpoint> local_checkpoints(FileSystem& files, const std::string& directory,
                                               const std::string& basename);

// A checkpoint, held open: whatever is removed or replaced meanwhile, these are its files.
struct OpenCheckpoint {
  MirrorManifest described = {};       // Without the files.
  std::vector<SourceFile> files = {};  // The index comes last.
};
// Unset if it is no longer there. Throws: what the file system throws.
std::optional<OpenCheckpoint> open_local(FileSystem& files, const std::string& directory,
                                         const LocalCheckpoint& checkpoint);

// Brings a copy back into a directory, whose state file then names it. Throws: DataLossError for
// bytes that do not have their checksums; what the mirror and the file system throw. Then nothing
// of it is left.
void bring_back(Mirror& mirror, const Mirror::Copy& copy, FileSystem& files,
                const std::string& directory);

}  // namespace crochet::inline v0::cloud::internal
