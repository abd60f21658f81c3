// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"

namespace crochet {

// How long a FailingFileSystem goes on failing.
enum class Failing { kOnce, kFromThenOn };

// What an operation has done of its work when it fails.
enum class FailedWork {
  kNothing,
  kHalf,  // An append writes the first half of its bytes, any other operation does nothing.
  kAll,   // It is done, and reported as failed nevertheless: the answer got lost on its way.
};

// Another file system that fails on demand, and tells what was asked of it.
//
// Every call that changes something is an operation, those of open files too.
// They count from 0, in the order in which they come; calls that read count apart.
//
//   for (int64_t n = 0;; ++n) {
//     MemoryFileSystem disk;
//     FailingFileSystem files(disk);
//     files.fail_operation_with_errno(n, ENOSPC, Failing::kFromThenOn);
//     try { save(files); } catch (const Error&) {}
//     if (files.num_failures() == 0) break;  // Each operation has had its turn.
//     EXPECT_THAT(files.violations(), IsEmpty());
//     disk.power_cut();
//     EXPECT_TRUE(is_sound(disk));
//   }
//
// Operations read "create a", "create_large a 4096" (bytes expected), "append_to a",
// "append a 4096" (bytes), "sync a", "close a", "rename a -> b", "remove a", "truncate a 12",
// "create_directories d", "sync_directory d", "lock a", "write_lock a". Reading calls read "open
// a", "read a 12 4096" (offset, bytes), "exists a", "file_size a", "modified_time a", "list d",
// "free_bytes d", "open_directory d", "check_in_place d". A directory that is open shares the
// counts.
//
// Thread-safe.
class FailingFileSystem final : public FileSystem {
 public:
  // Throws the error for a failed operation, which it is told.
  using Thrower = std::function<void(const std::string& operation)>;
  using Watcher = std::function<void(const std::string& operation)>;

  // Requires: `files` outlives this; the files that are opened need not.
  explicit FailingFileSystem(FileSystem& files);
  ~FailingFileSystem() override;

  // Makes operation `n` fail, counted from the construction of this, as set_failed_work() says.
  // Replaces what was asked for before.
  void fail_operation(int64_t n, Code code, Failing failing = Failing::kOnce);
  void fail_operation(int64_t n, Thrower thrower, Failing failing = Failing::kOnce);
  // With the error that a number of <errno.h> means, in the words of the operating system's files:
  // "a: sync failed: Input/output error (EIO)".
  void fail_operation_with_errno(int64_t n, int error_number, Failing failing = Failing::kOnce);
  // The same for the n-th call that reads.
  void fail_read_with_errno(int64_t n, int error_number, Failing failing = Failing::kOnce);
  void stop_failing();
  void set_failed_work(FailedWork work);
  // What has its turn to fail works all the same if it is on this directory or on something in it:
  // another disk, say.
  void spare(const std::string& directory);

  // What free_bytes() claims from now on, whatever is true; unset: the truth.
  void claim_free_bytes(std::optional<uint64_t> num_bytes);
  // Shows every operation to `watcher` before it is done or fails, on the thread that asks for it:
  // there a test sees what a power cut at this moment would leave.
  void watch(Watcher watcher);

  int64_t num_operations() const;
  int64_t num_reads() const;
  int64_t num_failures() const;
  // All operations so far, with those that failed.
  std::vector<std::string> operations() const;
  std::vector<std::string> reads() const;
  // What the errors said that were thrown on demand: each of them should be heard of again.
  std::vector<std::string> failures() const;

  // How the rules of file_protocol.h were broken; they hold for what fails by itself too.
  std::vector<std::string> violations() const;
  // Paths of files that were made or renamed to since their directory was synced last. None of
  // them may be called durable.
  std::vector<std::string> unsynced_names() const;

  std::unique_ptr<WritableFile> create(const std::string& path) override;
  std::unique_ptr<WritableFile> create_large(const std::string& path,
                                             uint64_t expected_bytes) override;
  std::unique_ptr<WritableFile> append_to(const std::string& path) override;
  std::unique_ptr<ReadableFile> open(const std::string& path) override;
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
  struct State;
  class File;
  class ReadFile;
  class Stream;
  class Lock;
  class OpenDirectory;

  FailingFileSystem(FileSystem& files, std::shared_ptr<State> state);

  FileSystem& files_;
  std::shared_ptr<State> state_;  // Shared with the open files.
};

}  // namespace crochet
