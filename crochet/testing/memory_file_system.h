// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "crochet/base/clock.h"
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

namespace internal {
struct MemoryFiles;
}  // namespace internal

// What a power cut leaves of names created, replaced and removed since the last
// sync of their directory.
enum class UnsyncedNames { kLost, kKept };

// What it leaves of bytes written since the last sync of their file.
enum class UnsyncedBytes {
  kLost,    // The file is as last synced; empty if it never was.
  kHalf,    // The first half of the appended bytes is kept.
  kZeroed,  // The length is kept, the appended bytes are zeros.
  kKept,
};

struct PowerCut {
  UnsyncedNames names = UnsyncedNames::kLost;
  UnsyncedBytes bytes = UnsyncedBytes::kLost;
  // Those of unsynced_names() whose changes are kept although `names` is kLost. A disk may keep any
  // of them, in any order.
  std::set<std::string> kept_names = {};
};

// Files in memory that track what has been synced: for tests of what a power cut
// leaves, and for programs without a disk.
//
//   MemoryFileSystem files;
//   save(files, "model.ckpt");
//   files.power_cut();
//   EXPECT_EQ(restore(files, "model.ckpt"), ...);
//
// Relative paths start at "/"; ".." does not exist. The disk keeps as
// little as POSIX allows: after a power cut, a synced file in an unsynced
// directory has no name, and a removed one is back.
class CROCHET_EXPORT MemoryFileSystem : public FileSystem {
 public:
  // `clock` dates the files. Requires: it outlives this.
  explicit MemoryFileSystem(const Clock& clock = Clock::real());
  ~MemoryFileSystem() override;

  // Reverts to the synced state, and keeps what `cut` specifies beyond it. Locks are
  // released; open files belong to a dead program and no longer reach any file.
  void power_cut(const PowerCut& cut = {});
  // A copy of the disk after a power cut now. This one continues unchanged.
  std::unique_ptr<MemoryFileSystem> after_power_cut(const PowerCut& cut = {}) const;
  // Paths whose names were created, replaced or removed since the last sync of their directory.
  std::vector<std::string> unsynced_names() const;

  // The limit of the bytes that all files together have or have reserved; std::nullopt: no limit.
  // Beyond it, appends write what fits and throw ResourceExhaustedError, as on a full disk.
  void set_capacity(std::optional<uint64_t> num_bytes);

  std::unique_ptr<WritableFile> create(const std::string& path) override;
  std::unique_ptr<WritableFile> create_large(const std::string& path,
                                             uint64_t expected_bytes) override;
  std::unique_ptr<WritableFile> append_to(const std::string& path) override;
  std::unique_ptr<ReadableFile> open(const std::string& path) override;
  // The directory forwards calls to the functions of this, with its current path, so that overrides
  // in derived classes apply to it, too.
  std::shared_ptr<Directory> open_directory(const std::string& path) override;

  bool exists(const std::string& path) override;
  uint64_t file_size(const std::string& path) override;
  double modified_time(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;

  void rename(const std::string& from, const std::string& to) override;
  void link(const std::string& from, const std::string& to) override;
  // The target is an absolute path. Only open(), file_size() and modified_time() follow such links.
  void clone(const std::string& from, const std::string& to) override;
  void make_symbolic_link(const std::string& target, const std::string& path) override;
  std::optional<std::string> read_symbolic_link(const std::string& path) override;
  void remove(const std::string& path) override;
  void truncate(const std::string& path, uint64_t size) override;
  void sync_file(const std::string& path) override;
  void create_directories(const std::string& path) override;
  void sync_directory(const std::string& path) override;

  std::unique_ptr<FileLock> try_lock(const std::string& path) override;
  uint64_t free_bytes(const std::string& path) override;

 private:
  class OpenDirectory;

  std::shared_ptr<internal::MemoryFiles>
      state_;  // Shared with the open files, which may outlive this.
};

}  // namespace crochet::inline v0
