// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

// The files of checkpoints in a directory, of either format. Prefixes are literal, not patterns.
//
// A checkpoint has an index: `<prefix>.index`, `<prefix>.safetensors` (including the data) or
// `<prefix>.safetensors.index.json`.

// The prefixes `<directory>/<basename>-<digits>` that have an index, smallest step first; empty if
// there is no such directory.
CROCHET_EXPORT std::vector<std::string> list_checkpoints(FileSystem& files,
                                                         const std::string& directory,
                                                         const CheckpointBasename& basename);

// The modification times of checkpoints in seconds since 1970-01-01 UTC: of the index, or of a file
// named like the prefix. Missing ones are left out.
CROCHET_EXPORT std::vector<double> get_checkpoint_mtimes(FileSystem& files,
                                                         std::span<const std::string> prefixes);

// Removes `<prefix>.meta`, each index, all data files and the sidecar, in this order: without an
// index the checkpoint no longer exists, and the remaining files are leftovers. Missing files are
// accepted. The removal is unconditional: it does not check whether the checkpoint is pinned, or
// who wrote it.
CROCHET_EXPORT void remove_checkpoint(FileSystem& files, const std::string& prefix);

namespace internal {

// The modification time of one checkpoint, as in get_checkpoint_mtimes(); unset if it is missing.
CROCHET_EXPORT std::optional<double> time_of_checkpoint(FileSystem& files,
                                                        const std::string& prefix);

// Removes the files of a replaced checkpoint with the same prefix in another format, or with
// another number of files: its index first. Requires: the checkpoint in `format` is published.
CROCHET_EXPORT void remove_replaced(FileSystem& files, const std::string& prefix,
                                    CheckpointFormat format, int num_shards);

// Data, sidecar and graph get their names before the index does. Without an index they are not a
// checkpoint, and are removed. Returns true if the index exists.
CROCHET_EXPORT bool remove_unless_published(FileSystem& files, const std::string& prefix) noexcept;

// The possible paths of a checkpoint of either format with this prefix, and its existing data
// files. The index comes last, except for the sidecar.
CROCHET_EXPORT std::vector<std::string> paths_of_checkpoint(FileSystem& files,
                                                            const std::string& prefix);

}  // namespace internal

// The files of `<basename>-<digits>` left by killed saves and removals: temporary files; data
// files, sidecars and meta graphs without an index; data files whose number of shards differs from
// the index; and temporary files of the state file, `latest_filename`. A running save has such
// files, too.
CROCHET_EXPORT std::vector<std::string> list_leftovers(
    FileSystem& files, const std::string& directory, const CheckpointBasename& basename,
    const FileName& latest_filename = "checkpoint");

// Removes all of them, under the directory's lock, and logs each one; a warning for each that
// cannot be removed. Does nothing if there is no such directory. Throws: FailedPreconditionError if
// another process holds that lock.
CROCHET_EXPORT void remove_leftovers(FileSystem& files, const std::string& directory,
                                     const CheckpointBasename& basename,
                                     const FileName& latest_filename = "checkpoint");

}  // namespace crochet::inline v0
