// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// A checkpoint that may be restored, in its directory.
struct RestoreCandidate {
  std::shared_ptr<CheckpointDirectory> directory;
  std::string prefix;
};

// The checkpoints "<basename>-<step>" of a directory and of the fallback directory ("" for none)
// that have an index, by step, the best last, whether a state file names them or not.
// Also in the fallback directory of an earlier run that saved its newest checkpoint there, and in
// the fast place of the run's last life.
// Throws: what the file system throws for `directory`; the fallback directory may be unavailable,
// but FailedPreconditionError if a run saved a newer checkpoint there than any that is found.
std::vector<RestoreCandidate> find_candidates(FileSystem& files, const std::string& directory,
                                              const std::string& fallback_dir,
                                              const CheckpointBasename& basename);

// True if the files of such a checkpoint have been set aside there, because a run went back.
bool has_abandoned(FileSystem& files, const std::string& directory, const std::string& basename);

// Called before a fresh start, if find_candidates() finds nothing.
// Throws: DataLossError if the state file names a checkpoint that is missing;
// FailedPreconditionError if there are only checkpoints with other names.
void check_holds_no_checkpoint(FileSystem& files, const std::string& directory,
                               const CheckpointBasename& basename);

}  // namespace crochet::inline v0::internal
