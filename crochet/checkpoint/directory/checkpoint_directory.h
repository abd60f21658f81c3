// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/io/directory_lock.h"
#include "crochet/io/file_system.h"

namespace crochet::internal {

// A directory with checkpoints, held open: what is done to them is done there, wherever its path
// leads by now. The only code that removes checkpoints or sets them aside without being told to by
// name.
//
// It touches a checkpoint only while this process holds the directory's lock, and only if its
// sidecar has the checksum that the checkpoint's index has at this very moment: a saver published
// it, and nobody has replaced it since.
//
// Thread-safe.
class CheckpointDirectory {
 public:
  // The directory of `path`, without changing anything; nothing if there is no such directory.
  static std::optional<CheckpointDirectory> find(FileSystem& files, const std::string& path);
  // To save there: makes the directory if it is missing.
  // Throws: FailedPreconditionError if this process has locked the directory of this path, and it
  // is no longer there, or the lock is lost.
  static CheckpointDirectory to_save_in(FileSystem& files, const std::string& path);

  Directory& files() const { return *directory_; }
  const std::shared_ptr<Directory>& shared_files() const { return directory_; }
  const std::string& path() const { return directory_->path(); }
  // True while this process holds the lock.
  bool is_locked() const;

  // Removes those of these checkpoints that may be removed, and returns them. If others stay, since
  // they are pinned, replaced by somebody else or cannot be removed, the log has a line with the
  // first of them and their number.
  std::vector<std::string> remove(const std::vector<std::string>& prefixes);

  // Removes what list_leftovers() finds. What cannot be removed is a warning.
  // Throws: FailedPreconditionError if another process holds the lock.
  void remove_leftovers(const std::string& basename, const std::string& latest_filename);

  // Renames the files of a damaged checkpoint to `<name>.damaged`, or `<name>.damaged-2` and so on
  // if one of these is taken. Returns the suffix; nothing, with a line in the log, if the lock is
  // not held or the checkpoint is not one to be touched. A kill on the way leaves it damaged: the
  // index is renamed after the data.
  std::optional<std::string> set_aside(const std::string& prefix);

  // Before a pinned checkpoint would be replaced by another one of its name: renames its files to
  // `<name>.replaced`, or `<name>.replaced-2` and so on.
  // Throws: FailedPreconditionError if another process holds the lock.
  void keep_pinned(const std::string& prefix);

 private:
  CheckpointDirectory(FileSystem& files, std::shared_ptr<Directory> directory,
                      std::optional<DirectoryLock> lock);

  // Removes it, or returns why it stays.
  // Throws: what the file system throws.
  std::optional<std::string> remove_or_keep(const std::string& prefix);
  // Gives all files of a checkpoint the suffix, or one with a number that is free. Returns it.
  std::string rename_all(const std::string& prefix, const std::string& suffix);
  // Why a checkpoint is not to be touched; nothing if it may be.
  std::optional<std::string> objection(const std::string& prefix);

  FileSystem& files_;  // In which the directory is. Not owned; outlives this.
  std::shared_ptr<Directory> directory_;
  std::shared_ptr<const DirectoryLock> lock_;  // Null if this process had none.
};

}  // namespace crochet::internal
