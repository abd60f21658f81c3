// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "crochet/io/direct_calls.h"
#include "crochet/io/file_place.h"
#include "crochet/io/file_system.h"
#include "crochet/io/write_ring.h"

namespace crochet {

struct DirectWriterOptions {
  // Without either of them, all files go through the page cache.
  bool use_io_uring = true;
  bool use_direct = true;
  // Smaller files go through the page cache, where they are durable sooner: measured, one of 1 MiB
  // by a third, while one of 2 MiB takes a third longer.
  uint64_t min_bytes = uint64_t{2} << 20;
  // The memory of a file that is being written: this many buffers, of so many bytes each.
  size_t num_buffers = 16;
  size_t buffer_bytes = size_t{1} << 20;
  // Not owned; outlives the writer and its files. Unset, the operating system's.
  DirectCalls* calls = nullptr;
};

// Makes large files that are written to the disk itself, past the page cache, by io_uring.
//
// Where that is refused (O_DIRECT by a file system in memory, io_uring by a container or an old
// kernel), files go through the page cache, and the log says so once for each reason.
//
// Thread-safe. The files need not be closed before the writer goes.
class DirectWriter {
 public:
  // Throws: InvalidArgumentError for no buffers, more than 4096, or buffers that are no multiple
  // of 4096 bytes.
  explicit DirectWriter(const DirectWriterOptions& options = {});

  // As FileSystem::create_large.
  std::unique_ptr<WritableFile> create(const FilePlace& place, uint64_t expected_bytes);
  std::unique_ptr<WritableFile> create(const std::string& path, uint64_t expected_bytes) {
    return create(FilePlace{path, path}, expected_bytes);
  }

 private:
  // What is told once.
  struct Refusals;

  std::unique_ptr<WritableFile> create_direct(const FilePlace& place, uint64_t expected_bytes);
  std::unique_ptr<WritableFile> create_plain(const FilePlace& place, uint64_t expected_bytes);
  std::unique_ptr<WriteRing> take_ring(const std::string& path);
  // False without means to reserve. Throws without room; then the file is removed.
  bool reserve(int file, const FilePlace& place, int mode, uint64_t num_bytes);

  const DirectWriterOptions options_;
  DirectCalls& calls_;
  const std::shared_ptr<WriteRingPool> pool_ = std::make_shared<WriteRingPool>();
  const std::shared_ptr<Refusals> refusals_;
};

}  // namespace crochet
