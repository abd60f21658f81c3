// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The exclusive right to write checkpoints into a directory: a lock on `<directory>/.lock`, in
// which the holder writes its pid and host for messages, and whose first line is empty
// again once the run has ended. The lock is released when the process dies, even if a process that
// it forked is still running; the file stays, and the next run warns that this one did not end by
// itself.
//
// Within a process the lock can be shared by all objects that work for the run that holds it.
class CROCHET_EXPORT DirectoryLock {
 public:
  enum class Kind {
    kFile,
    // For file systems that have no locks: excludes only other runs of this process. While one is
    // held, nothing in this process locks files of the directory.
    kNone,
  };

  // The lock of a run. Creates the directory if it is missing.
  // Throws: FailedPreconditionError with the holder's pid and host if another run holds the lock,
  // in this or another process, and if `.lock` is not a plain file; UnimplementedError if the file
  // system has no locks.
  DirectoryLock(FileSystem& files, const std::string& directory, Kind kind = Kind::kFile);
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock();

  // Shares the lock that this process holds on the directory that `path` leads to, or led to
  // when it was locked; unset if there is none.
  static std::optional<DirectoryLock> held_here(FileSystem& files, const std::string& path);
  // The same; if this process has no lock on it, takes one on `directory`, which the caller must
  // release soon: a run that begins meanwhile waits only a moment for it. Unset if another process
  // holds the lock. Throws: as check().
  static std::optional<DirectoryLock> for_a_moment(FileSystem& files, const std::string& path,
                                                   std::shared_ptr<Directory> directory);

  // The locked directory, whatever its path leads to now. It is opened again if `files` is not the
  // file system in which it was locked.
  // Throws: FailedPreconditionError if that opens another directory; what the file system throws.
  std::shared_ptr<Directory> directory(FileSystem& files) const;
  Kind kind() const;
  // Throws: FailedPreconditionError if the directory was moved, the lock file was removed or
  // replaced, or this process was forked from the one that holds the lock: then another run may
  // hold the lock of the directory with this path.
  void check() const;

 private:
  struct Held;
  class AllHeld;

  DirectoryLock(std::shared_ptr<Held> held, bool is_of_run);

  std::shared_ptr<Held> held_;
  bool is_of_run_ = false;
};

}  // namespace crochet::inline v0::internal
