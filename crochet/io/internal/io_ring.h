// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "crochet/base/internal/process_owner.h"
#include "crochet/io/internal/direct_calls.h"

namespace crochet::inline v0::internal {

// The alignment of memory and file offsets that O_DIRECT requires, for every disk in use.
inline constexpr size_t kDirectAlignment = 4096;
// Bytes that are copied at once: still in the L1 cache when their checksum is computed.
inline constexpr size_t kCopyBytes = size_t{16} << 10;

// A request that has ended.
struct IoCompletion {
  IoRequest request;
  // The number of bytes, which may be fewer than requested and is 0 at the end of a file that is
  // read; or a negative errno.
  int result = 0;
};

// Buffers, and an io_uring with which the kernel writes them to files or fills them from files,
// several at once and in any order. Creating one costs more than many requests (new memory, and
// pinning it), so it is reused for one file after another.
//
// A forked process has neither the buffers nor the ring: there, is_mine() is false, and it may only
// destroy this.
//
// Not thread-safe, but not bound to a thread.
class IoRing {
 public:
  // Null if the kernel refuses; then `error` is its errno, ENOSYS in a build without liburing. The
  // buffers are registered if the limit of locked memory allows it. Requires: `calls` outlives the
  // ring.
  static std::unique_ptr<IoRing> make(DirectCalls& calls, size_t num_buffers, size_t buffer_bytes,
                                      int& error);
  // Unfinished requests are left to the kernel, which holds their memory.
  virtual ~IoRing();
  IoRing(const IoRing&) = delete;
  IoRing& operator=(const IoRing&) = delete;

  size_t num_buffers() const { return requests_.size(); }
  size_t buffer_bytes() const { return buffer_bytes_; }
  std::span<std::byte> buffer(size_t index) const {
    return memory_.subspan(index * buffer_bytes_, buffer_bytes_);
  }
  // The bytes that a request writes.
  std::span<const std::byte> bytes_of(const IoRequest& request) const {
    const std::byte* const bytes = request.held ? request.held : buffer(request.buffer).data();
    return {bytes + request.begin, request.end - request.begin};
  }

  // Starts a request; until it ends, its buffer belongs to the kernel. Returns 0, or a negative
  // errno; then the ring is broken, and the state of requests in flight is unknown.
  // Requires: no other request of this buffer is in flight.
  int start(const IoRequest& request);
  // Waits until a request ends. Returns 0 or a negative errno, as start() does.
  // Requires: a request is in flight.
  int wait(IoCompletion& completion);
  // Waits until all requests have ended, or the ring breaks.
  void settle() noexcept;

  size_t num_in_flight() const { return num_in_flight_; }
  bool is_mine() const { return owner_.is_here(); }
  // True if it can be used for another file.
  bool is_usable() const { return is_mine() && !broken_ && num_in_flight_ == 0; }

 protected:
  // Without buffers.
  IoRing(DirectCalls& calls, size_t num_buffers, size_t buffer_bytes);
  // False if there is no memory for them.
  bool map_buffers();
  std::span<std::byte> buffers() const { return memory_; }

  DirectCalls& calls_;

 private:
  // The kernel's part of start() and wait(). Return 0 or a negative errno.
  virtual int submit(const IoRequest& request) = 0;
  virtual int receive(size_t& buffer, int& result) = 0;

  const ProcessOwner owner_;
  const size_t buffer_bytes_;
  std::vector<IoRequest> requests_;  // By buffer.
  std::span<std::byte> memory_;      // Of all buffers; empty before map_buffers().
  bool broken_ = false;
  size_t num_in_flight_ = 0;
};

// Keeps up to 16 idle rings, of saves and restores on several threads: each uses two at once.
// Further ones, and in a forked child those of its parent, are destroyed.
//
// Thread-safe, without a lock, since a process may be forked at any moment.
class IoRingPool {
 public:
  IoRingPool() = default;
  ~IoRingPool() {
    for (auto& idle : idle_) delete idle.load(std::memory_order_acquire);
  }
  IoRingPool(const IoRingPool&) = delete;
  IoRingPool& operator=(const IoRingPool&) = delete;

  // An idle ring; null if the pool has none.
  std::unique_ptr<IoRing> take() {
    for (auto& idle : idle_) {
      std::unique_ptr<IoRing> ring(idle.exchange(nullptr, std::memory_order_acq_rel));
      if (ring && ring->is_usable()) return ring;
    }
    return nullptr;
  }

  void give_back(std::unique_ptr<IoRing> ring) {
    if (!ring || !ring->is_usable()) return;
    for (auto& idle : idle_) {
      IoRing* none = nullptr;
      if (!idle.compare_exchange_strong(none, ring.get(), std::memory_order_acq_rel)) continue;
      static_cast<void>(ring.release());
      return;
    }
  }

 private:
  std::array<std::atomic<IoRing*>, 16> idle_{};  // Owned.
};

}  // namespace crochet::inline v0::internal
