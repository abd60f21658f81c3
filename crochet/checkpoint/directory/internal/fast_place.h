// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The fast directory, in which a run keeps its newest checkpoint in memory or on a disk of this
// machine, and what proves that the checkpoint there belongs to the last life of the run.
//
// `<basename>.fast` in the run's own directory has the path of the place and a random name of the
// life, `<basename>.life` in the place the lives for which it is valid. A run that continued
// without the place, on another machine or with other options, has replaced or removed the first;
// then what the place has is of a past that did not happen, and is never restored.

// The directory in `fast_dir` that belongs to a run's directory, so that several runs can use
// /dev/shm.
CROCHET_EXPORT std::string fast_place_of(const std::string& fast_dir, const std::string& directory);

// The place of which the run's directory says that it has newer checkpoints; unset if there is
// none, if it is not of the run's last life, or, with a warning, if that cannot be read.
// `save_path` is "<directory>/<basename>".
CROCHET_EXPORT std::optional<std::string> find_fast_place(FileSystem& files,
                                                          const std::string& save_path);

// The newest checkpoint in the place of a run's directory, whatever its basename, if it is of a
// later step, or if `step` is unset. Throws: what the file system throws.
CROCHET_EXPORT std::optional<FoundCheckpoint> newer_in_fast_place(FileSystem& files,
                                                                  const std::string& directory,
                                                                  std::optional<int64_t> step);

// True for the name of one of these files, without a directory, of any basename.
bool is_fast_record(std::string_view name);

// A life of the run begins, which keeps checkpoints in `place`. Those of the last life stay valid
// if they were; otherwise they are removed. Requires: this process holds the locks of both.
// Throws: FailedPreconditionError if one cannot be removed, for example because it is pinned: then
// nothing there is restored; what the file system throws.
CROCHET_EXPORT void claim_fast_place(FileSystem& files, const std::string& save_path,
                                     const std::string& place);

// The run no longer needs what is in the place. Throws: as claim_fast_place().
CROCHET_EXPORT void empty_fast_place(FileSystem& files, const std::string& save_path,
                                     const std::string& place);
// The run continues without the place, and what is there is no longer its: unless this process
// holds the lock of the place, which then belongs to this run. A failure is logged.
CROCHET_EXPORT void drop_unused_fast_place(FileSystem& files, const std::string& save_path);

}  // namespace crochet::inline v0::internal
