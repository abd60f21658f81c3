// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/direct_calls.h"
#include "crochet/io/internal/file_place.h"
#include "crochet/io/internal/io_ring.h"

namespace crochet::inline v0::internal {

struct DirectWriterOptions {
  // Without either of them, all files go through the page cache.
  bool use_io_uring = true;
  bool use_direct = true;
  // Smaller files go through the page cache, where they are durable sooner: measured, a file of
  // 1 MiB takes a third less time there, one of 2 MiB a third more.
  uint64_t min_bytes = uint64_t{2} << 20;
  // The memory for a file being written: the number of buffers, and the size of each.
  size_t num_buffers = 16;
  size_t buffer_bytes = size_t{1} << 20;
  // Not owned; outlives the writer and its files. The operating system's calls if null.
  DirectCalls* calls = nullptr;
};

// Creates large files that are written past the page cache, through io_uring.
//
// Where that is refused (O_DIRECT by a file system in memory, io_uring by a container or an old
// kernel), files go through the page cache, which is logged once for each reason.
//
// Thread-safe. The files may outlive the writer.
class DirectWriter {
 public:
  // Throws: InvalidArgumentError for no buffers, more than 4096, or a buffer size that is not a
  // multiple of 4096.
  explicit DirectWriter(const DirectWriterOptions& options = {});

  // As FileSystem::create_large.
  std::unique_ptr<WritableFile> create(const FilePlace& place, uint64_t expected_bytes);
  std::unique_ptr<WritableFile> create(const std::string& path, uint64_t expected_bytes) {
    return create(FilePlace{path, path}, expected_bytes);
  }

 private:
  // What was refused and logged.
  struct Refusals;

  std::unique_ptr<WritableFile> create_direct(const FilePlace& place, uint64_t expected_bytes);
  std::unique_ptr<WritableFile> create_plain(const FilePlace& place, uint64_t expected_bytes);
  std::unique_ptr<IoRing> take_ring(const std::string& path);
  // False if reserving is not supported. Throws if there is no room; then the file is removed.
  bool reserve(int file, const FilePlace& place, int mode, uint64_t num_bytes);

  const DirectWriterOptions options_;
  DirectCalls& calls_;
  const std::shared_ptr<IoRingPool> pool_ = std::make_shared<IoRingPool>();
  const std::shared_ptr<Refusals> refusals_;
};

}  // namespace crochet::inline v0::internal
