// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// A file in a run's directory that says where a newer checkpoint is, if it could not be written
// there: a start that does not find it must not resume from an older one.
//
// `<basename>.fallback` has the path of the fallback directory and is written while there is room.
// Once the fallback directory has a checkpoint, it is renamed to `<basename>.fallback-<step>`,
// which needs no room on a full disk. The next checkpoint in the run's own directory renames it
// back.

// What such a file says.
struct FallbackUse {
  std::string path;       // Of the file.
  std::string directory;  // The fallback directory.
  int64_t step = 0;       // Of its newest checkpoint.
};

// `save_path` is "<directory>/<basename>". Throws: what the file system throws.
std::optional<FallbackUse> find_fallback_use(FileSystem& files, const std::string& save_path);

// True for the name of such a file, without a directory, of any basename.
bool is_fallback_record(std::string_view name);

// Prepares the record, unless there is one. A failure is logged.
void prepare_fallback_record(FileSystem& files, const std::string& save_path,
                             const std::string& fallback_dir);
// The fallback directory has a checkpoint of this step. A failure is logged.
void record_fallback_use(FileSystem& files, const std::string& save_path,
                         const std::string& fallback_dir, int64_t step);
// What the fallback directory has is no longer needed. A failure is logged.
void clear_fallback_use(FileSystem& files, const std::string& save_path);

}  // namespace crochet::inline v0::internal
