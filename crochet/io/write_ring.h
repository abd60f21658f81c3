// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "crochet/base/process_owner.h"
#include "crochet/io/direct_calls.h"
#include "crochet/io/idle_pool.h"

namespace crochet {

// A request that has ended.
struct WriteCompletion {
  WriteRequest request;
  int result = 0;  // The bytes written, or a negative errno.
};

// Buffers, and an io_uring with which the kernel writes them to files while the caller fills the
// next one. Creating one costs more than many writes (new memory, and pinning it), so it is reused
// for one file after another.
//
// A forked process has neither the buffers nor the ring: there, is_mine() is false, and it may only
// destroy this.
//
// Not thread-safe, but not bound to a thread.
class WriteRing {
 public:
  // Null if the kernel refuses; then `error` is its errno. The buffers are registered if the
  // limit of locked memory allows it. Requires: `calls` outlives the ring.
  static std::unique_ptr<WriteRing> make(DirectCalls& calls, size_t num_buffers,
                                         size_t buffer_bytes, int& error);
  // Unfinished requests are left to the kernel, which holds their memory.
  ~WriteRing();
  WriteRing(const WriteRing&) = delete;
  WriteRing& operator=(const WriteRing&) = delete;

  size_t num_buffers() const { return requests_.size(); }
  size_t buffer_bytes() const { return buffer_bytes_; }
  std::span<std::byte> buffer(size_t index) const {
    return memory_.subspan(index * buffer_bytes_, buffer_bytes_);
  }

  // The bytes that a request writes.
  std::span<const std::byte> bytes_of(const WriteRequest& request) const {
    const std::byte* const bytes = request.held ? request.held : buffer(request.buffer).data();
    return {bytes + request.begin, request.end - request.begin};
  }

  // Starts a write; until it ends, its buffer belongs to the kernel. Returns 0, or a negative
  // errno; then the ring is broken, and the state of requests in flight is unknown.
  // Requires: no other write of this buffer is in flight.
  int start(const WriteRequest& request);
  // Waits until a write ends. Returns 0 or a negative errno, as start() does.
  // Requires: a write is in flight.
  int wait(WriteCompletion& completion);

  size_t num_in_flight() const { return num_in_flight_; }
  bool is_broken() const { return broken_; }
  bool is_mine() const { return owner_.is_here(); }
  // True if it can be used for another file.
  bool is_usable() const { return is_mine() && !broken_ && num_in_flight_ == 0; }

 private:
  WriteRing(DirectCalls& calls, size_t num_buffers, size_t buffer_bytes);
  int set_up();
  int submit();
  int broken(int error);

  DirectCalls& calls_;
  const ProcessOwner owner_;
  const size_t buffer_bytes_;
  std::vector<WriteRequest> requests_;  // By buffer.
  std::span<std::byte> memory_;         // Of all buffers; empty before set_up().
  std::unique_ptr<io_uring> ring_;      // Null before set_up().
  bool registered_ = false;
  bool broken_ = false;
  size_t num_in_flight_ = 0;
};

using WriteRingPool = IdlePool<WriteRing>;

}  // namespace crochet
