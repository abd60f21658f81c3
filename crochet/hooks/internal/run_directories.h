// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/saver_options.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"

namespace crochet::inline v0::internal {

// What a run's saver needs of its directories.
struct RunDirectories {
  std::string checkpoint_dir;
  std::string fallback_dir;  // Empty: none.
  CheckpointBasename basename;
  DirectoryLock::Kind lock;
};

// Locks the directories until the result is gone, and removes the files that a killed save left
// there. That the fallback directory cannot be used is only logged: it may never be needed.
// Throws: FailedPreconditionError if another run holds one of them, or if a save could not replace
// its state file; InvalidArgumentError if they are the same.
std::shared_ptr<void> lock_directories(const RunDirectories& directories, FileSystem& files,
                                       const SaverOptions& saver);

}  // namespace crochet::inline v0::internal
