// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"

namespace crochet {

// How long a FailingFileSystem goes on failing.
enum class Failing { kOnce, kFromThenOn };

// Another file system that fails on demand, and tells what was asked of it.
//
// Every call that changes something is an operation, those of open files too.
// They count from 0, in the order in which they come; reading does not count.
//
//   for (int64_t n = 0;; ++n) {
//     MemoryFileSystem disk;
//     FailingFileSystem files(disk);
//     files.fail_operation(n, Code::kResourceExhausted, Failing::kFromThenOn);
//     try { save(files); } catch (const Error&) {}
//     if (files.num_failures() == 0) break;  // Each operation has had its turn.
//     disk.power_cut();
//     EXPECT_TRUE(is_sound(disk));
//   }
//
// Operations read "create a", "append_to a", "append a 4096" (bytes), "sync a",
// "close a", "rename a -> b", "remove a", "truncate a 12", "create_directories d",
// "sync_directory d", "lock a".
//
// Thread-safe.
class FailingFileSystem final : public FileSystem {
 public:
  // Throws the error for a failed operation, which it is told.
  using Thrower = std::function<void(const std::string& operation)>;

  // Requires: `files` outlives this; the files that are opened need not.
  explicit FailingFileSystem(FileSystem& files);
  ~FailingFileSystem() override;

  // Makes operation `n` fail, counted from the construction of this. A failing append
  // writes the first half of its bytes, any other operation does nothing.
  // Replaces what was asked for before.
  void fail_operation(int64_t n, Code code, Failing failing = Failing::kOnce);
  void fail_operation(int64_t n, Thrower thrower, Failing failing = Failing::kOnce);
  void stop_failing();

  int64_t num_operations() const;
  int64_t num_failures() const;
  // All operations so far, with those that failed.
  std::vector<std::string> operations() const;

  std::unique_ptr<WritableFile> create(const std::string& path) override;
  std::unique_ptr<WritableFile> append_to(const std::string& path) override;
  std::unique_ptr<ReadableFile> open(const std::string& path) override;

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
  class Plan;
  class File;

  FileSystem& files_;
  std::shared_ptr<Plan> plan_;  // Shared with the open files.
};

}  // namespace crochet
