// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "crochet/io/file_place.h"

struct io_uring;
struct io_uring_cqe;

namespace crochet {

// A write from one of a ring's buffers: bytes [begin, end) of it, to a place in a file.
struct WriteRequest {
  int file = -1;
  size_t buffer = 0;
  const std::byte* held = nullptr;  // The caller's bytes that stand for the buffer's, if set.
  size_t begin = 0;
  size_t end = 0;
  uint64_t offset = 0;  // In the file, of `begin`.
};

// What the direct writer asks of the operating system. A test overrides some of it: to refuse, as
// older kernels and containers do, or to fail.
//
// All return what the kernel said: a negative errno, or what is told here; EINTR is not
// retried here. Thread-safe.
class DirectCalls {
 public:
  virtual ~DirectCalls() = default;

  // Opens a file to replace its content, with these flags too. Returns a file descriptor.
  virtual int open(const FilePlace& place, int flags);
  // The unit, in bytes, of places and lengths that O_DIRECT takes in this file, at least the file
  // system's blocks. -EOPNOTSUPP where there is no disk to go to directly.
  virtual int64_t block_bytes(int file);
  // fallocate(2) of the first `num_bytes`.
  virtual int reserve(int file, int mode, uint64_t num_bytes);
  virtual int set_direct(int file, bool direct);
  virtual ssize_t write_at(int file, std::span<const std::byte> bytes, uint64_t offset);
  virtual int truncate(int file, uint64_t num_bytes);
  virtual int sync(int file);

  virtual int make_ring(unsigned num_entries, io_uring* ring);
  virtual int register_buffer(io_uring* ring, std::span<std::byte> bytes);
  // Hands over what is prepared. Returns the number of requests taken.
  virtual int submit(io_uring* ring);
  // Waits for a completion.
  virtual int wait(io_uring* ring, io_uring_cqe** completion);
  // What a completion says: the bytes written, or a negative errno.
  virtual int result_of(const WriteRequest& request, int result);

  // The operating system's own.
  static DirectCalls& real();
};

}  // namespace crochet
