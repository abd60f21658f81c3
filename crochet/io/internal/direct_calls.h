// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "crochet/io/internal/file_place.h"

struct io_uring;
struct io_uring_cqe;

namespace crochet::inline v0::internal {

// A write from bytes [begin, end) of one of a ring's buffers, or a read into them, at an offset of
// a file.
struct IoRequest {
  enum class Kind { kWrite, kRead };

  Kind kind = Kind::kWrite;
  int file = -1;
  size_t buffer = 0;
  const std::byte* held = nullptr;  // If set, the caller's bytes to write instead of the buffer's.
  size_t begin = 0;
  size_t end = 0;
  uint64_t offset = 0;  // In the file, for `begin`.
};

// The operating system calls of direct writing and reading. Tests override some of them to refuse,
// as older kernels and containers do, or to fail.
//
// All return the kernel's result: a negative errno, or the value described here; EINTR is not
// retried here. Thread-safe.
class DirectCalls {
 public:
  virtual ~DirectCalls() = default;

  // Opens a file to replace its content, with additional flags. Returns a file descriptor.
  virtual int open(const FilePlace& place, int flags);
  // The unit, in bytes, of offsets and lengths that O_DIRECT accepts in this file, at least the
  // file system's block size. -EOPNOTSUPP if the file system is in memory.
  virtual int64_t block_bytes(int file);
  // fallocate(2) of the first `num_bytes`.
  virtual int reserve(int file, int mode, uint64_t num_bytes);
  virtual int set_direct(int file, bool direct);
  virtual ssize_t write_at(int file, std::span<const std::byte> bytes, uint64_t offset);
  virtual int truncate(int file, uint64_t num_bytes);
  virtual int sync(int file);

  // -ENOSYS in a build without liburing.
  virtual int make_ring(unsigned num_entries, io_uring* ring);
  virtual int register_buffer(io_uring* ring, std::span<std::byte> bytes);
  // Submits the prepared requests. Returns the number of requests accepted.
  virtual int submit(io_uring* ring);
  // Waits for a completion.
  virtual int wait(io_uring* ring, io_uring_cqe** completion);
  // The result of a completion: the number of bytes transferred, or a negative errno.
  virtual int result_of(const IoRequest& request, int result);

  // The operating system's own.
  static DirectCalls& real();
};

}  // namespace crochet::inline v0::internal
