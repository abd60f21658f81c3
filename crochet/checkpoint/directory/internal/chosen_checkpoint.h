// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/directory/checkpoint_choice.h"
#include "crochet/checkpoint/directory/internal/found_checkpoint.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The prefix of the checkpoint that a path stands for: the prefix itself, any file of a
// checkpoint, or a directory or its state file for one of the checkpoints in it.
// Throws: NotFoundError, which lists similar names or what the directory has instead;
// InvalidArgumentError for a directory with checkpoints of several basenames, unless the state file
// names one of them, and for `which` other than the newest with a path of a single checkpoint.
CROCHET_EXPORT std::string chosen_checkpoint(
    FileSystem& files, const std::string& path,
    const CheckpointChoice& which = CheckpointChoice::newest());

// The chosen one of the checkpoints of one basename, sorted by step. Requires: there is one.
// Throws: NotFoundError; InvalidArgumentError for a metric of which it is unknown what is better.
const FoundCheckpoint& chosen_of(const std::vector<FoundCheckpoint>& found,
                                 const std::string& directory, const CheckpointChoice& which);

// The best by which.metric(), of equal ones the last; null if none has that metric.
// Throws: InvalidArgumentError if it is unknown what is better.
const FoundCheckpoint* find_best(const std::vector<FoundCheckpoint>& found,
                                 const std::string& directory, const CheckpointChoice& which);

// The directory, if the path stands for all checkpoints of one: the directory, or its state file.
CROCHET_EXPORT std::optional<std::string> directory_of_checkpoints(FileSystem& files,
                                                                   const std::string& path);

}  // namespace crochet::inline v0::internal
