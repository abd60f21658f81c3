// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"

namespace crochet::inline v0::internal {

// Why a checkpoint is not used: the run went back to an earlier one, or it is damaged.
enum class Unused { kDamaged, kAbandoned };

// A directory with checkpoints, held open: operations affect this directory, wherever its path now
// leads. The only code that removes checkpoints or sets them aside without an explicit request for
// each.
//
// It changes a checkpoint only while this process holds the directory's lock, and only if its
// sidecar has the current checksum of the checkpoint's index: a saver published it, and it has not
// been replaced since.
//
// Thread-safe.
class CheckpointDirectory {
 public:
  // Opens the directory `path` without changing anything; unset if there is no such directory.
  static std::optional<CheckpointDirectory> find(FileSystem& files, const std::string& path);
  // Opens it for saving: creates the directory if it is missing.
  // Throws: FailedPreconditionError if this process has locked the directory with this path, but it
  // is no longer there or the lock is lost.
  static CheckpointDirectory to_save_in(FileSystem& files, const std::string& path);

  Directory& files() const { return *directory_; }
  std::shared_ptr<Directory> shared_files() const { return directory_; }
  const std::string& path() const { return directory_->path(); }
  // True while this process holds the lock.
  bool is_locked() const;

  // Removes those of these checkpoints that may be removed, and returns them. If others are kept
  // because they are pinned, were replaced or cannot be removed, logs one line with the first of
  // them and their number.
  std::vector<std::string> remove(const std::vector<std::string>& prefixes);

  // Renames the files of a checkpoint that is no longer one of its run's to `<name>.damaged` or
  // `<name>.abandoned`, or `<name>.damaged-2` and so on if one of these names is taken. Returns the
  // suffix; unset, with a line in the log, if the lock is not held or the checkpoint must not be
  // changed. After a kill in between it cannot be read: the index is renamed after the data.
  std::optional<std::string> set_aside(const std::string& prefix, Unused why = Unused::kDamaged);

  // True if the user has moved files of a checkpoint elsewhere and left symbolic links. They are
  // read and renamed; the files that they lead to are the user's. False, with a line in the log, if
  // this cannot be determined.
  bool has_links(const std::string& prefix) noexcept;
  // Called before a checkpoint of the same name is written, if the existing one is to be kept:
  // renames its files to `<name>.replaced`, or `<name>.replaced-2` and so on. `why` is for the log.
  // Throws: FailedPreconditionError if another process holds the lock.
  void keep(const std::string& prefix, std::string_view why);

 private:
  CheckpointDirectory(FileSystem& files, const std::string& path,
                      std::optional<DirectoryLock> lock);

  // Removes it, or returns why it is kept.
  // Throws: what the file system throws.
  std::optional<std::string> remove_or_keep(const std::string& prefix);
  // Appends the wanted suffix, or a free one with a number, to the names of all files of a
  // checkpoint. Returns it.
  std::string rename_all(const std::string& prefix, const std::string& wanted);
  // Why a checkpoint must not be changed; unset if it may be.
  std::optional<std::string> objection(const std::string& prefix);

  FileSystem& files_;  // Contains the directory. Not owned; outlives this.
  std::shared_ptr<Directory> directory_;
  std::shared_ptr<const DirectoryLock> lock_;  // Null if this process held none.
};

}  // namespace crochet::inline v0::internal
