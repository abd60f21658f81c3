// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace crochet::inline v0::internal {

// Checks rules for durable files, for FailingFileSystem. A program must not
//
// - use a file after an append or a sync of it failed: the content of the disk is unknown from then
//   on, even if a second sync succeeds;
// - rename a file with unsynced bytes: a power cut may keep the name and lose the bytes;
// - link such a file, or append to one that was linked: all its names would have the bytes;
// - write to a file after it was renamed: its name states that it is complete.
//
// Tracks the files that were opened for writing through it, whatever their current name.
// Thread-safe.
class FileProtocol {
 public:
  // A file, as long as it is open or has a name.
  struct Record {
    std::string path;
    bool is_dead = false;
    bool is_unsynced = false;
    bool is_renamed = false;
  };
  using File = std::shared_ptr<Record>;

  // Called when a file is created or opened for appending.
  File create(const std::string& path);
  File append_to(const std::string& path);
  // Called before an append or a sync is tried.
  void begin(const File& file, const std::string& operation);
  // Called after it, whether it succeeded or failed.
  void appended(const File& file);
  void synced(const File& file);
  void failed(const File& file);

  // Called before and after a rename.
  void begin_rename(const std::string& from, const std::string& to);
  void renamed(const std::string& from, const std::string& to);
  // Called before and after a link.
  void begin_link(const std::string& from, const std::string& to);
  void linked(const std::string& from, const std::string& to);
  // From then on, the name at `path` stands for the file `target` in the rules above.
  void made_symbolic_link(const std::string& target, const std::string& path);
  void removed(const std::string& path);
  void directory_synced(const std::string& directory);

  // One line per violation: "d/a: sync after an error".
  std::vector<std::string> violations() const;
  // Paths of files created or renamed to since the last sync of their directory.
  std::vector<std::string> unsynced_names() const;

 private:
  mutable std::mutex mutex_;  // Guards what follows, with all records.
  std::map<std::string, File> named_;
  std::set<std::string> unsynced_names_;
  std::vector<std::string> violations_;
};

}  // namespace crochet::inline v0::internal
