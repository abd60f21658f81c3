// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/error.h"
#include "crochet/base/internal/process_owner.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// The files of one checkpoint, under temporary names until they get their final ones. The order in
// which a checkpoint becomes durable is implemented here and nowhere else, so that whatever stops
// the program or the machine, a reader finds either a whole checkpoint or none:
//
//   1. every file is written and synced under its temporary name;
//   2. the index of an older checkpoint with the same name is removed, and the directory is synced:
//      an index never exists with data of another checkpoint;
//   3. the data files get their names, and the directory is synced;
//   4. the index, which makes them a checkpoint, gets its name, and the directory is synced.
//
// A checkpoint in a single file needs only 1 and 4: one rename replaces the older one.
//
// Files that are not published are removed. Not thread-safe.
class StagedFiles {
 public:
  enum Stage { kAdding, kWritten, kSynced, kPublished, kFailed };

  // `files` is not owned and must outlive this. `prefix` is used in errors.
  StagedFiles(FileSystem& files, std::string prefix);
  // Never throws. In a forked process the files are the parent's.
  ~StagedFiles();
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;

  // Creates the file with the final name `name`; the index comes last. The directory is created if
  // it is missing. Syncs earlier files, except for the last one, which the disk may still be
  // writing. With `expected_bytes`: see
  // FileSystem::create_large().
  WritableFile& create(const std::string& name, std::optional<uint64_t> expected_bytes = {});
  // Adds one more name of a complete and durable file of another checkpoint.
  void link(const std::string& path, const std::string& name);
  // Adopts a file written by others. It is removed with the rest.
  void adopt(const std::string& path, const std::string& name, bool is_synced);
  // Adds a complete and durable file that is renamed with the rest, and never removed. If it does
  // not exist, nothing is done: an earlier process has already renamed it.
  void rename_too(const std::string& path, const std::string& name);

  // Passes written bytes to the operating system.
  void flush();
  // Step 1. Throws: what the file system throws; then the content of the disk is unknown.
  void sync();
  // Steps 2 to 4. Requires: sync(). After an error it may be called again.
  void publish();
  // True once the first file may have its final name.
  bool is_being_published() const { return is_being_published_; }

  Stage stage() const { return stage_; }
  // Runs `step`, a call of the writer that belongs to the stage `from`, and moves on to the stage
  // `to`. If it throws, all files are removed and the error is rethrown. Throws:
  // FailedPreconditionError in any other stage, and in a process forked since construction.
  template <typename Step>
  void run(Stage from, Stage to, const char* call, const Step& step) {
    check(from, call);
    try {
      step();
    } catch (...) {
      stage_ = kFailed;
      remove_unpublished();
      throw;
    }
    stage_ = to;
  }

 private:
  struct File {
    std::string path;  // Its temporary name.
    std::string name;  // Its final name.
    bool is_ours;      // Removed if it is not published.
    bool is_synced = false;
    bool may_have_its_name = false;           // After an earlier attempt, even if that failed.
    bool is_link = false;                     // Its final name may already lead to the same file.
    std::unique_ptr<WritableFile> open = {};  // Null once synced, and for files of others.
  };

  void check(Stage required, const char* call) const;
  void sync(File& file);
  void check_replaceable();
  void remove_old_index();
  void remove_unpublished() noexcept;

  FileSystem& files_;  // Not owned; outlives this.
  const ProcessOwner owner_;
  const std::string prefix_;
  const std::string directory_;
  Stage stage_ = kAdding;
  std::deque<File> staged_;  // The index is the last.
  bool is_directory_made_ = false;
  bool is_index_removed_ = false;
  bool is_removal_synced_ = false;
  bool is_being_published_ = false;
};

}  // namespace crochet::inline v0::internal
