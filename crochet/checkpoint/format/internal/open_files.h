// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// A file that a checkpoint needs is missing. For a run this has the effect of damage: it takes an
// older checkpoint.
class CROCHET_EXPORT MissingFileError : public DataLossError {
 public:
  using DataLossError::DataLossError;
};

// The data files of one checkpoint, by number, opened when they are first needed. A checkpoint may
// have more files than a process may have open, so only the kMaxOpen used last stay open; the
// others are opened again when needed, and must be unchanged then.
//
// Thread-safe.
class OpenFiles {
 public:
  // A small part of the 1,024 descriptors that Linux gives a process by default.
  static constexpr size_t kMaxOpen = 64;

  // `files` is not owned and outlives this. `needed_by` is for messages: the index of the files.
  OpenFiles(FileSystem& files, std::string needed_by)
      : files_(files), needed_by_(std::move(needed_by)) {}

  // Adds file `number`, which is already open. Requires: the number is new.
  void put(int number, const std::string& path, std::shared_ptr<const ReadableFile> file);
  // File `number`. It stays open at least as long as the result is held.
  // Throws: what FileSystem::open() throws; MissingFileError if there is no such file;
  // DataLossError if it was changed or removed since it was closed.
  std::shared_ptr<const ReadableFile> get(int number, const std::string& path);
  // Its size when it was first opened; a later truncation is found by reading. `path` is called if
  // it is opened now. Throws: as get().
  uint64_t size(int number, const std::function<std::string()>& path);
  // Reads a part of it. Throws: as get(), and what ReadableFile::stream() throws.
  std::unique_ptr<ReadStream> stream(int number, const std::string& path, uint64_t offset,
                                     uint64_t num_bytes);

 private:
  struct Open {
    int number;
    std::string path;
    std::shared_ptr<const ReadableFile> file;
  };
  // What is known about a file that was opened.
  struct Known {
    uint64_t size = 0;
    double modified_time = 0;  // When it was closed.
  };

  // These require that the mutex is held.
  std::shared_ptr<const ReadableFile> find(int number);
  void add(int number, const std::string& path, std::shared_ptr<const ReadableFile> file);
  void check_unchanged(const std::string& path, const ReadableFile& file, const Known& known);

  FileSystem& files_;  // Not owned; outlives this.
  const std::string needed_by_;

  std::mutex mutex_;        // Guards what follows.
  std::vector<Open> open_;  // Ordered by last use, the latest at the end.
  std::map<int, Known> known_;
};

}  // namespace crochet::inline v0::internal
