// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "crochet/io/file_system.h"

namespace crochet {

// The one right to write checkpoints into a directory: a lock on `<directory>/.lock`,
// into which the holder writes its pid and host for whoever is refused. The lock
// of a process that died is free; the file stays.
class DirectoryLock {
 public:
  // Makes the directory if it is missing.
  // Throws: FailedPreconditionError with the holder's pid and host if another
  // holder has the lock.
  DirectoryLock(FileSystem& files, const std::string& directory);

 private:
  std::unique_ptr<FileLock> lock_;
};

}  // namespace crochet
