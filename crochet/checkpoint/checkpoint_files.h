// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crochet/io/file_system.h"

namespace crochet {

// The files of checkpoints in a directory. Prefixes are literal, no patterns.

// True if `<prefix>.index` is there, or a file of exactly this name.
bool checkpoint_exists(FileSystem& files, const std::string& prefix);

// The prefixes `<directory>/<basename>-<digits>` that have an index, smallest step first; none if
// there is no such directory.
std::vector<std::string> list_checkpoints(FileSystem& files, const std::string& directory,
                                          const std::string& basename);

// When checkpoints were written: seconds since 1970-01-01 UTC, of the index or of the file that has
// the prefix's name. Those that are missing are left out.
std::vector<double> get_checkpoint_mtimes(FileSystem& files, std::span<const std::string> prefixes);

// Removes `<prefix>.meta`, the index, all data files and the sidecar, in this order: without an
// index the checkpoint is gone, and what else is there is a leftover. Missing files are fine.
void remove_checkpoint(FileSystem& files, const std::string& prefix);

// Removes data files of a checkpoint that are not of `num_shards` ones: an earlier checkpoint of
// the same name had another number. A warning if that fails.
void remove_other_data_files(FileSystem& files, const std::string& prefix, int num_shards);

// Removes what saves and removals that were killed have left of `<basename>-<digits>`: temporary
// files; data files, sidecars and meta graphs without an index; data files of another number than
// the index says; and temporary state files. Logs each one. Requires: no save is running in this
// directory, in any process.
void remove_leftovers(FileSystem& files, const std::string& directory, const std::string& basename);

// Renames index, data files, sidecar and meta graph of a damaged checkpoint to `<name>.damaged`, or
// `<name>.damaged-2` and so on if one of these is taken. Returns the suffix.
std::string set_aside(FileSystem& files, const std::string& prefix);

}  // namespace crochet
