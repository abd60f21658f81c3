// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "crochet/io/file_system.h"

namespace crochet::internal {

// The data files of one checkpoint, by their numbers, opened when they are first needed. A
// checkpoint may have more of them than a process may have open, so the kMaxOpen that were used
// last stay open; any other is opened again when it is needed, and must be the same then.
//
// Thread-safe.
class OpenFiles {
 public:
  // A small part of the 1,024 descriptors that Linux gives a process by default.
  static constexpr size_t kMaxOpen = 64;

  // `files` is not owned and outlives this.
  explicit OpenFiles(FileSystem& files) : files_(files) {}

  // Takes file `number`, which is open. Requires: the number is new.
  void put(int number, const std::string& path, std::shared_ptr<const ReadableFile> file);
  // File `number`. It stays open at least as long as the result is kept.
  // Throws: what FileSystem::open() throws; DataLossError if it has changed, or is gone, since it
  // was closed.
  std::shared_ptr<const ReadableFile> get(int number, const std::string& path);
  // Its size when it was first opened; what has gone since is found by reading. Throws: as get().
  uint64_t size(int number, const std::string& path);
  // Reads a part of it. Throws: as get(), and what ReadableFile::stream() throws.
  std::unique_ptr<ReadStream> stream(int number, const std::string& path, uint64_t offset,
                                     uint64_t num_bytes);

 private:
  struct Open {
    int number;
    std::string path;
    std::shared_ptr<const ReadableFile> file;
  };
  // Of a file that was opened.
  struct Known {
    uint64_t size = 0;
    double modified_time = 0;  // When it was closed.
  };

  // Requires of these: the mutex is held.
  std::shared_ptr<const ReadableFile> find(int number);
  void add(int number, const std::string& path, std::shared_ptr<const ReadableFile> file);
  void check_unchanged(const std::string& path, const ReadableFile& file, const Known& known);

  FileSystem& files_;  // Not owned; outlives this.

  std::mutex mutex_;        // Guards what follows.
  std::vector<Open> open_;  // The one that was used last is the last.
  std::map<int, Known> known_;
};

}  // namespace crochet::internal
