// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// All use of liburing; no_kernel_ring.cc takes its place in a build without it.
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include <liburing.h>
#include <sched.h>

#include "crochet/io/internal/file_descriptor.h"
#include "crochet/io/internal/io_ring.h"

namespace crochet::inline v0 {
namespace {

// The kernel was interrupted, or is temporarily short of memory.
bool is_passing(int result) { return result == -EINTR || result == -EAGAIN || result == -EBUSY; }
constexpr int kMaxTries = 10'000;

class KernelRing final : public internal::IoRing {
 public:
  KernelRing(internal::DirectCalls& calls, size_t num_buffers, size_t buffer_bytes)
      : internal::IoRing(calls, num_buffers, buffer_bytes) {}

  ~KernelRing() override {
    if (!made_) return;
    if (is_mine())
      ::io_uring_queue_exit(&ring_);
    else
      ::close(ring_.ring_fd);  // The mappings do not exist here.
  }

  // Returns 0 or a negative errno.
  int set_up() {
    const int made = calls_.make_ring(static_cast<unsigned>(num_buffers()), &ring_);
    if (made < 0) return made;
    made_ = true;
    if (!map_buffers()) return -ENOMEM;
    registered_ = calls_.register_buffer(&ring_, buffers()) >= 0;
    return 0;
  }

 private:
  int submit(const internal::IoRequest& request) override {
    io_uring_sqe* const entry = ::io_uring_get_sqe(&ring_);
    if (entry == nullptr) return -EBUSY;  // Impossible: there is an entry for each buffer.
    const int file = request.file;
    const auto length = static_cast<unsigned>(request.end - request.begin);
    const std::span<const std::byte> from = bytes_of(request);
    std::byte* const to = buffer(request.buffer).data() + request.begin;
    if (request.kind == internal::IoRequest::Kind::kRead && registered_)
      ::io_uring_prep_read_fixed(entry, file, to, length, request.offset, 0);
    else if (request.kind == internal::IoRequest::Kind::kRead)
      ::io_uring_prep_read(entry, file, to, length, request.offset);
    else if (registered_ && request.held == nullptr)
      ::io_uring_prep_write_fixed(entry, file, from.data(), length, request.offset, 0);
    else
      ::io_uring_prep_write(entry, file, from.data(), length, request.offset);
    entry->user_data = request.buffer;
    int taken = calls_.submit(&ring_);
    for (int tries = 0; is_passing(taken) && tries < kMaxTries; ++tries) {
      ::sched_yield();
      taken = calls_.submit(&ring_);
    }
    if (taken < 1) return taken < 0 ? taken : -EIO;
    return 0;
  }

  int receive(size_t& buffer, int& result) override {
    io_uring_cqe* entry = nullptr;
    int received = calls_.wait(&ring_, &entry);
    for (int tries = 0; is_passing(received) && tries < kMaxTries; ++tries)
      received = calls_.wait(&ring_, &entry);
    if (received < 0) return received;
    buffer = entry->user_data;
    result = entry->res;
    ::io_uring_cqe_seen(&ring_, entry);
    return 0;
  }

  io_uring ring_{};
  bool made_ = false;
  bool registered_ = false;
};

}  // namespace

std::unique_ptr<internal::IoRing> internal::IoRing::make(internal::DirectCalls& calls,
                                                         size_t num_buffers, size_t buffer_bytes,
                                                         int& error) {
  auto ring = std::make_unique<KernelRing>(calls, num_buffers, buffer_bytes);
  const int result = ring->set_up();
  if (result >= 0) return ring;
  error = -result;
  return nullptr;
}

int internal::DirectCalls::make_ring(unsigned num_entries, io_uring* ring) {
  const int result = ::io_uring_queue_init(num_entries, ring, 0);
  if (result < 0) return result;
  ::io_uring_ring_dontfork(ring);
  const int descriptor = internal::above_standard_streams(ring->ring_fd);
  const int error = errno;
  ring->ring_fd = ring->enter_ring_fd = descriptor;
  if (descriptor >= 0) return 0;
  ::io_uring_queue_exit(ring);  // Unmaps; closing an invalid descriptor is harmless.
  return -error;
}

int internal::DirectCalls::register_buffer(io_uring* ring, std::span<std::byte> bytes) {
  const struct iovec whole = {.iov_base = bytes.data(), .iov_len = bytes.size()};
  return ::io_uring_register_buffers(ring, &whole, 1);
}

int internal::DirectCalls::submit(io_uring* ring) { return ::io_uring_submit(ring); }

int internal::DirectCalls::wait(io_uring* ring, io_uring_cqe** completion) {
  return ::io_uring_wait_cqe(ring, completion);
}

}  // namespace crochet::inline v0
