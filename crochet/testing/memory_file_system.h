// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/io/file_system.h"

namespace crochet {

struct MemoryFiles;

// What a power cut leaves of names that were made, replaced and removed since
// the last sync of their directory.
enum class UnsyncedNames { kLost, kKept };

// What it leaves of bytes that were written since the last sync of their file.
enum class UnsyncedBytes {
  kLost,    // The file is as it was synced last; empty if it never was.
  kHalf,    // The first half of those appended is there.
  kZeroed,  // The length is there, the bytes appended are zeros.
  kKept,
};

struct PowerCut {
  UnsyncedNames names = UnsyncedNames::kLost;
  UnsyncedBytes bytes = UnsyncedBytes::kLost;
  // Of unsynced_names(): those that are as they were changed although `names` says kLost. A disk
  // may keep any of them, in any order.
  std::set<std::string> kept_names = {};
};

// Files in memory, which know what of them has been synced: for tests of what
// is left after a power cut, and for programs that want no disk.
//
//   MemoryFileSystem files;
//   save(files, "model.ckpt");
//   files.power_cut();
//   EXPECT_EQ(restore(files, "model.ckpt"), ...);
//
// Relative paths start at "/"; ".." and links do not exist. The disk is as
// strict as POSIX allows: a synced file in a directory that was not synced has
// no name after a power cut, and a removed one is back.
class MemoryFileSystem : public FileSystem {
 public:
  // `clock` dates the files. Requires: outlives this.
  explicit MemoryFileSystem(const Clock& clock = Clock::real());
  ~MemoryFileSystem() override;

  // Falls back to what has been synced, and beyond it to what `cut` says. Locks
  // are free; what is open belongs to a dead program and reaches no file any more.
  void power_cut(const PowerCut& cut = {});
  // Another disk: what the cut would leave, now. This one goes on.
  std::unique_ptr<MemoryFileSystem> after_power_cut(const PowerCut& cut = {}) const;
  // Paths whose names were made, replaced or removed since their directory was synced last.
  std::vector<std::string> unsynced_names() const;

  // The bytes that all files together may have, or have reserved; std::nullopt is no limit. Beyond
  // it appends write what fits and throw ResourceExhaustedError, as a full disk does.
  void set_capacity(std::optional<uint64_t> num_bytes);

  std::unique_ptr<WritableFile> create(const std::string& path) override;
  std::unique_ptr<WritableFile> create_large(const std::string& path,
                                             uint64_t expected_bytes) override;
  std::unique_ptr<WritableFile> append_to(const std::string& path) override;
  std::unique_ptr<ReadableFile> open(const std::string& path) override;
  // What the directory is asked for comes to the functions of this, with the directory's path of
  // that moment: what a derived class overrides counts for it, too.
  std::shared_ptr<Directory> open_directory(const std::string& path) override;

  bool exists(const std::string& path) override;
  uint64_t file_size(const std::string& path) override;
  double modified_time(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;

  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void truncate(const std::string& path, uint64_t size) override;
  void create_directories(const std::string& path) override;
  void sync_directory(const std::string& path) override;

  std::unique_ptr<FileLock> try_lock(const std::string& path) override;
  uint64_t free_bytes(const std::string& path) override;

 private:
  class OpenDirectory;

  std::shared_ptr<MemoryFiles> state_;  // Shared with the open files, which may live longer.
};

}  // namespace crochet
