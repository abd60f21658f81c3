// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/io/directory.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The files that are described below.
inline constexpr const char* kDataDirsFile = ".checkpoint_dirs";
inline constexpr const char* kOwnerFile = ".checkpoints_of";

// A directory of checkpoints whose data files may be on other disks.
//
// A large file that is created here is stored in one of the data directories, in turns, and its
// name here is a symbolic link to it. The stored file has a name of its own that never changes, so
// that a rename here remains one atomic step. Reading follows the links, as TensorFlow does.
// Removing or replacing a name here removes the stored file, too, if this directory owns it.
//
// `.checkpoint_dirs` lists the data directories. `.checkpoints_of` in each of them names the
// directory that owns its files: a copy of a directory has the links, but owns nothing.
//
// Thread-safe.
class StripedDirectory final : public ForwardingDirectory {
 public:
  // `directory` is the one with the names; `files` contains the data directories, is not owned and
  // must outlive this.
  StripedDirectory(FileSystem& files, std::shared_ptr<Directory> directory);

  // From now on, large files are stored in these directories, which are created if they are
  // missing.
  // Throws: FailedPreconditionError for one that another directory owns, and for one that was used
  // before and is empty now, as if its disk is not mounted; InvalidArgumentError for this directory
  // itself.
  void store_in(const std::vector<std::string>& data_dirs);
  // The stored files of checkpoints `<basename>-<step>` to which no name leads, left by killed
  // processes, and what they left of `.checkpoints_of`. A file that is being created is one of
  // them.
  std::vector<std::string> find_unnamed(std::string_view basename);

  DirectoryIdentity identity() const override { return directory_->identity(); }
  void check_in_place() override { directory_->check_in_place(); }

  std::unique_ptr<WritableFile> create_large(const std::string& path, uint64_t bytes) override;
  std::unique_ptr<ReadableFile> open(const std::string& path) override;
  uint64_t file_size(const std::string& path) override;
  double modified_time(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void link(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  // Also syncs the data directories that were changed since the last call.
  void sync_directory(const std::string& path) override;
  // Of files that are distributed evenly.
  uint64_t free_bytes(const std::string& path) override;

 private:
  // The data directories so far.
  std::vector<std::string> listed();
  // Whether a data directory has the files of this one.
  enum class Owner { kNone, kSamePlace, kThis, kAnother };
  Owner owner_of(const std::string& data_dir);
  bool has_stored(const std::string& data_dir);
  void claim(const std::string& data_dir, bool is_listed);
  void write_owner(const std::string& data_dir);
  // Where the file of this name is stored; unset if it is here. Other links are not followed.
  std::optional<std::string> stored(const std::string& path);
  // Gives a stored file its name here; removes it if that fails.
  void name_stored(const std::string& stored, const std::string& path);
  // Removes a stored file whose name is gone.
  void remove_stored(const std::string& stored);
  void note_change(const std::string& data_dir);

  FileSystem& files_;  // Not owned; outlives this.
  const std::shared_ptr<Directory> directory_;

  std::mutex mutex_;  // Guards what follows.
  std::vector<std::string> data_dirs_;
  size_t next_ = 0;  // At first any of them: ranks whose data is in one file do not use the same.
  std::set<std::string> unsynced_;  // Data directories.
};

}  // namespace crochet::inline v0::internal
