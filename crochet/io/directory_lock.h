// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "crochet/io/directory.h"
#include "crochet/io/file_system.h"

namespace crochet {

// The one right to write checkpoints into a directory: a lock on `<directory>/.lock`, in which the
// holder writes its pid and host for whoever is refused. The lock of a process that died is free,
// also if a process that it forked lives on; the file stays.
//
// Within a process the lock can be shared by those who work for the run that holds it.
class DirectoryLock {
 public:
  // The lock of a run. Makes the directory if it is missing.
  // Throws: FailedPreconditionError with the holder's pid and host if another run has the lock, in
  // this process or another one, and if `.lock` is not a plain file with one name.
  DirectoryLock(FileSystem& files, const std::string& directory);
  DirectoryLock(DirectoryLock&& other) noexcept;
  DirectoryLock& operator=(DirectoryLock&& other) noexcept;
  ~DirectoryLock();

  // A share in the lock that this process holds on the directory that `path` leads to, or led to
  // when it was locked; nothing if there is none.
  static std::optional<DirectoryLock> held_here(FileSystem& files, const std::string& path);
  // The same; if this process has no lock on it, one on `directory` that is given back soon: a run
  // that begins meanwhile waits only a moment for it. Nothing if another process has the lock.
  // Throws: as check().
  static std::optional<DirectoryLock> for_a_moment(FileSystem& files, const std::string& path,
                                                   std::shared_ptr<Directory> directory);

  // The directory that is locked, whatever its path leads to by now. Of a file system that it was
  // not locked in, it is opened anew.
  // Throws: FailedPreconditionError if that finds another one; what the file system throws.
  std::shared_ptr<Directory> directory(FileSystem& files) const;
  // Throws: FailedPreconditionError if the directory is not where it was, the lock file was taken
  // away or exchanged, or this process was forked from the one that holds the lock: then another
  // run may hold the lock of the directory with this path.
  void check() const;

 private:
  struct Held;
  class AllHeld;

  DirectoryLock(std::shared_ptr<Held> held, bool is_of_run);

  std::shared_ptr<Held> held_;
  bool is_of_run_ = false;
};

}  // namespace crochet
