// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/file_descriptor.h"
#include "crochet/io/internal/io_ring.h"

namespace crochet::inline v0::internal {

// A file, and its state when writing begins.
struct DirectFile {
  std::string path;
  FileDescriptor descriptor;  // Open with O_DIRECT.
  uint64_t length = 0;        // As set when its room was reserved.
  size_t block_bytes = 0;     // See DirectCalls::block_bytes().
};

// What the system may refuse.
enum class DirectMeans { kDirect, kRing };
// Called once if a write is refused, with the means that was refused and the errno.
using OnDirectRefused = std::function<void(DirectMeans means, int error)>;

// A file written past the page cache. Appended bytes are copied into the buffers of a ring, and
// their checksum is computed on the way; a full buffer is written while the next one is filled.
// Bytes held by the caller are written from its memory if they are aligned to pages and start at a
// block of the file. The last bytes, less than a block, go through the page cache.
//
// Readers see the bytes, and the length, after flush(), sync() or close(). If the file system
// accepts O_DIRECT but refuses the writes, or the kernel creates a ring but refuses its requests,
// the file falls back to the page cache.
//
// Requires: the ring's buffer size is a multiple of the file's block size. `calls` is not owned and
// outlives the result.
std::unique_ptr<WritableFile> direct_writable_file(DirectCalls& calls, DirectFile file,
                                                   std::unique_ptr<IoRing> ring,
                                                   std::shared_ptr<IoRingPool> pool,
                                                   OnDirectRefused on_refused);

}  // namespace crochet::inline v0::internal
