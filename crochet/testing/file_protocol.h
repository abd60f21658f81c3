// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace crochet {

// What a program must not do with files that are to survive, watched by FailingFileSystem:
//
// - use a file after an append or a sync of it failed: what is on the disk is unknown for good,
//   even if a second sync says otherwise;
// - rename a file with bytes that were not synced: a power cut may keep the name and not them;
// - write to a file after it was renamed: it has the name that says it is whole.
//
// Knows the files that were opened for writing through it, under whatever name they have.
// Thread-safe.
class FileProtocol {
 public:
  // A file as long as somebody has it open or it has a name.
  struct Record {
    std::string path;
    bool is_dead = false;
    bool is_unsynced = false;
    bool is_renamed = false;
  };
  using File = std::shared_ptr<Record>;

  // A file that is opened, made anew or as it is.
  File create(const std::string& path);
  File append_to(const std::string& path);
  // Before an append or a sync is tried.
  void begin(const File& file, const std::string& operation);
  // After it, whether it was done or failed.
  void appended(const File& file);
  void synced(const File& file);
  void failed(const File& file);

  // Before and after a rename.
  void begin_rename(const std::string& from, const std::string& to);
  void renamed(const std::string& from, const std::string& to);
  void removed(const std::string& path);
  void directory_synced(const std::string& directory);

  // A line for each time that a rule was broken: "d/a: sync after an error".
  std::vector<std::string> violations() const;
  // Paths of files that were made here or renamed to since their directory was synced last.
  std::vector<std::string> unsynced_names() const;

 private:
  mutable std::mutex mutex_;  // Guards what follows, with all records.
  std::map<std::string, File> named_;
  std::set<std::string> unsynced_names_;
  std::vector<std::string> violations_;
};

}  // namespace crochet
