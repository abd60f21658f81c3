// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/io/file_system.h"

namespace crochet {

// The files of checkpoints in a directory, of either format. Prefixes are literal, no patterns.
//
// A checkpoint has an index: `<prefix>.index`, `<prefix>.safetensors` (with the data in it) or
// `<prefix>.safetensors.index.json`.

// The prefixes `<directory>/<basename>-<digits>` that have an index, smallest step first; none if
// there is no such directory.
std::vector<std::string> list_checkpoints(FileSystem& files, const std::string& directory,
                                          const std::string& basename);

// When checkpoints were written: seconds since 1970-01-01 UTC, of the index or of the file that has
// the prefix's name. Those that are missing are left out.
std::vector<double> get_checkpoint_mtimes(FileSystem& files, std::span<const std::string> prefixes);

// Removes `<prefix>.meta`, each index, all data files and the sidecar, in this order: without an
// index the checkpoint is gone, and what else is there is a leftover. Missing files are fine. An
// order that is carried out as it is: nobody is asked whether the checkpoint is pinned, or whose
// it is.
void remove_checkpoint(FileSystem& files, const std::string& prefix);

// What saves and removals that were killed have left of `<basename>-<digits>`: temporary
// files; data files, sidecars and meta graphs without an index; data files of another number than
// the index says; and temporary files of the state file, `latest_filename`. A save that is running
// has such files, too.
std::vector<std::string> list_leftovers(FileSystem& files, const std::string& directory,
                                        const std::string& basename,
                                        const std::string& latest_filename = "checkpoint");

// Removes all of them, under the directory's lock, and logs each one.
// Throws: FailedPreconditionError if another process holds that lock.
void remove_leftovers(FileSystem& files, const std::string& directory, const std::string& basename,
                      const std::string& latest_filename = "checkpoint");

namespace internal {

// Removes what a checkpoint of the same prefix in another format, or in another number of files,
// has left: its index first. Requires: the one in `format` is published.
void remove_replaced(FileSystem& files, const std::string& prefix, CheckpointFormat format,
                     int num_shards);

// Data, sidecar and graph get their names before the index does. Without an index they are not a
// checkpoint, and are removed. True if the index exists.
bool remove_unless_published(FileSystem& files, const std::string& prefix) noexcept;

// The paths that a checkpoint of either format with this prefix may have, data files as they are
// there. The index comes last but for the sidecar.
std::vector<std::string> paths_of_checkpoint(FileSystem& files, const std::string& prefix);

}  // namespace internal

}  // namespace crochet
