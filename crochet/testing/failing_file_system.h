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
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

// How long a FailingFileSystem keeps failing.
enum class Failing { kOnce, kFromThenOn };

// The part of its work that an operation has done when it fails.
enum class FailedWork {
  kNothing,
  kHalf,  // An append writes the first half of its bytes, any other operation does nothing.
  kAll,   // All is done, but reported as failed: only the answer was lost.
};

// Wraps a file system, fails on demand, and records the calls.
//
// Every call that changes something is an operation, including those of open files.
// They are counted from 0, in order; calls that read are counted separately.
//
//   for (int64_t n = 0;; ++n) {
//     MemoryFileSystem disk;
//     FailingFileSystem files(disk);
//     files.fail_operation_with_errno(n, ENOSPC, Failing::kFromThenOn);
//     try { save(files); } catch (const Error&) {}
//     if (files.num_failures() == 0) break;  // Each operation has failed once.
//     EXPECT_THAT(files.violations(), IsEmpty());
//     disk.power_cut();
//     EXPECT_TRUE(is_sound(disk));
//   }
//
// Operations read "create a", "create_large a 4096" (bytes expected), "append_to a",
// "append a 4096" (bytes), "sync a", "close a", "rename a -> b", "link a -> b",
// "clone a -> b",
// "make_symbolic_link a -> b" (at "a"), "remove a", "truncate a 12", "sync_file a",
// "create_directories d", "sync_directory d", "lock a", "write_lock a". Reading calls read "open
// a", "read a 12 4096" (offset, bytes), "exists a", "file_size a", "modified_time a", "list d",
// "read_symbolic_link a", "free_bytes d", "open_directory d", "check_in_place d". Open directories
// share the counts.
//
// Thread-safe.
class CROCHET_EXPORT FailingFileSystem final : public FileSystem {
 public:
  // Throws the error for a failed operation, given as its argument.
  using Thrower = std::function<void(const std::string& operation)>;
  using Watcher = std::function<void(const std::string& operation)>;

  // Requires: `files` outlives this; open files may outlive this.
  explicit FailingFileSystem(FileSystem& files);
  ~FailingFileSystem() override;

  // Makes operation `n` fail, counted from construction, in the way set by set_failed_work().
  // Replaces earlier settings.
  void fail_operation(int64_t n, Code code, Failing failing = Failing::kOnce);
  void fail_operation(int64_t n, Thrower thrower, Failing failing = Failing::kOnce);
  // Fails with the error for a number of <errno.h>, worded like errors of the operating system's
  // files: "a: sync failed: Input/output error (EIO)".
  void fail_operation_with_errno(int64_t n, int error_number, Failing failing = Failing::kOnce);
  // The same for the n-th call that reads.
  void fail_read_with_errno(int64_t n, int error_number, Failing failing = Failing::kOnce);
  void stop_failing();
  void set_failed_work(FailedWork work);
  // Operations on this directory and its content do not fail even if they should, as if it were on
  // another disk.
  void spare(const std::string& directory);

  // The result of free_bytes() from now on; unset: the real one.
  void claim_free_bytes(std::optional<uint64_t> num_bytes);
  // Calls `watcher` for every operation before it is done or fails, on the calling thread: there a
  // test can check what a power cut at this moment would leave.
  void watch(Watcher watcher);

  int64_t num_operations() const;
  int64_t num_reads() const;
  int64_t num_failures() const;
  // All operations so far, including those that failed.
  std::vector<std::string> operations() const;
  std::vector<std::string> reads() const;
  // The messages of the errors thrown on demand: each of them should be reported.
  std::vector<std::string> failures() const;

  // Violations of the rules of file_protocol.h, which also apply to operations that fail by
  // themselves.
  std::vector<std::string> violations() const;
  // Paths of files created or renamed to since the last sync of their directory. None of them may
  // be reported as durable.
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
  void link(const std::string& from, const std::string& to) override;
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

}  // namespace crochet::inline v0
