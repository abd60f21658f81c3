// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/checkpoint/layout/checkpoint_basename.h"
#include "crochet/io/file_name.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

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
