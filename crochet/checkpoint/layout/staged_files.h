// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "crochet/base/error.h"
#include "crochet/base/process_owner.h"
#include "crochet/io/file_system.h"

namespace crochet::internal {

// The files of one checkpoint, under temporary names until each gets its own. The order in which a
// checkpoint becomes durable is written here and nowhere else, so that whatever stops the program
// or the machine, a reader finds all of a checkpoint or nothing of it:
//
//   1. every file is written and synced under its temporary name;
//   2. the index of an older checkpoint of the same name is removed, and the directory synced: an
//      index never stands beside data of another checkpoint;
//   3. the data files get their names, and the directory is synced;
//   4. the index, which makes it a checkpoint, gets its name, and the directory is synced.
//
// A checkpoint in a single file needs only 1 and 4: one rename replaces the older one.
//
// Files that do not get that far are removed. For one thread at a time.
class StagedFiles {
 public:
  enum Stage { kAdding, kWritten, kSynced, kPublished, kFailed };

  // `files` is not owned and outlives this. Errors name the prefix.
  StagedFiles(FileSystem& files, std::string prefix);
  // Never throws. In a forked process the files are the parent's.
  ~StagedFiles();
  StagedFiles(const StagedFiles&) = delete;
  StagedFiles& operator=(const StagedFiles&) = delete;

  // Begins the file that is to be called `name`; the index comes last. The directory is made if it
  // is missing. The file before may still be on its way to the disk; those before that are synced.
  WritableFile& create(const std::string& name);
  // The same for a file of about `expected_bytes`; see FileSystem::create_large().
  WritableFile& create_large(const std::string& name, uint64_t expected_bytes);
  // Takes a file that others have written. It is removed with the rest.
  void adopt(const std::string& path, const std::string& name, bool is_synced);
  // A file that is whole and durable gets a new name with the rest. It is never removed. Nothing is
  // done if it is not there: an earlier process has given it its name.
  void rename_too(const std::string& path, const std::string& name);

  // Hands what was written to the operating system.
  void flush();
  // Step 1. Throws: what the file system throws, after which nobody knows what the disk has.
  void sync();
  // Steps 2 to 4. Requires: sync(). After an error it may be called again.
  void publish();
  // True once the first file may have its name.
  bool is_being_published() const { return is_being_published_; }

  Stage stage() const { return stage_; }
  // Runs `step`, a call of the writer that belongs to the stage `from`, and goes on to the stage
  // `to`. If it throws, so does this, and all files are removed. Throws: FailedPreconditionError in
  // any other stage, and in a process that was forked since.
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
    std::string path;  // Until it has its name.
    std::string name;
    bool is_ours;  // To be removed if it is not published.
    bool is_synced = false;
    bool may_have_its_name = false;           // By an earlier attempt, whatever came back.
    std::unique_ptr<WritableFile> open = {};  // Null once it is synced, and for those of others.
  };

  void check(Stage required, const char* call) const;
  template <typename Create>
  WritableFile& begin(const std::string& name, const Create& create);
  void sync(File& file);
  void remove_old_index();
  void give_name(File& file);
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

}  // namespace crochet::internal
