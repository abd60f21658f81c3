// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/io_ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <liburing.h>
#include <sched.h>

namespace crochet::inline v0 {
namespace {

// A huge page needs one pin and one address instead of 512.
constexpr size_t kHugePageBytes = size_t{1} << 21;

// Memory from the operating system, aligned to kHugePageBytes; empty if there is none.
std::span<std::byte> map_memory(size_t num_bytes) {
  const size_t mapped_bytes = num_bytes + kHugePageBytes;
  void* const mapped =
      ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return {};
  auto* const begin = static_cast<std::byte*>(mapped);
  const size_t surplus = -reinterpret_cast<uintptr_t>(mapped) % kHugePageBytes;
  if (surplus > 0) ::munmap(begin, surplus);
  ::munmap(begin + surplus + num_bytes, kHugePageBytes - surplus);
  const std::span<std::byte> memory(begin + surplus, num_bytes);
  ::madvise(memory.data(), memory.size(), MADV_HUGEPAGE);  // A hint only.
  // After a fork, copy-on-write would separate the pages of parent and child during I/O.
  ::madvise(memory.data(), memory.size(), MADV_DONTFORK);
  return memory;
}

// The kernel was interrupted, or is temporarily short of memory.
bool is_passing(int result) { return result == -EINTR || result == -EAGAIN || result == -EBUSY; }
constexpr int kMaxTries = 10'000;

}  // namespace

std::unique_ptr<IoRing> IoRing::make(DirectCalls& calls, size_t num_buffers, size_t buffer_bytes,
                                     int& error) {
  std::unique_ptr<IoRing> ring(new IoRing(calls, num_buffers, buffer_bytes));
  const int result = ring->set_up();
  if (result >= 0) return ring;
  error = -result;
  return nullptr;
}

IoRing::IoRing(DirectCalls& calls, size_t num_buffers, size_t buffer_bytes)
    : calls_(calls), buffer_bytes_(buffer_bytes), requests_(num_buffers) {}

bool IoRing::map_buffers() {
  memory_ = map_memory(num_buffers() * buffer_bytes_);
  return !memory_.empty();
}

int IoRing::set_up() {
  auto ring = std::make_unique<io_uring>();
  const int made = calls_.make_ring(static_cast<unsigned>(num_buffers()), ring.get());
  if (made < 0) return made;
  ring_ = std::move(ring);
  if (!map_buffers()) return -ENOMEM;
  registered_ = calls_.register_buffer(ring_.get(), memory_) >= 0;
  return 0;
}

IoRing::~IoRing() {
  if (!is_mine()) {  // The mappings do not exist here, and their addresses may be in use.
    if (ring_) ::close(ring_->ring_fd);
    return;
  }
  if (ring_) ::io_uring_queue_exit(ring_.get());
  if (!memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

int IoRing::start(const IoRequest& request) {
  requests_[request.buffer] = request;
  const int result = submit(request);
  if (result < 0)
    broken_ = true;
  else
    ++num_in_flight_;
  return result;
}

int IoRing::wait(IoCompletion& completion) {
  size_t buffer = 0;
  const int result = receive(buffer, completion.result);
  if (result < 0) {
    broken_ = true;
    return result;
  }
  completion.request = requests_[buffer];
  --num_in_flight_;
  completion.result = calls_.result_of(completion.request, completion.result);
  return 0;
}

void IoRing::settle() noexcept {
  IoCompletion completion;
  while (is_mine() && num_in_flight_ > 0 && !broken_) wait(completion);
}

int IoRing::submit(const IoRequest& request) {
  io_uring_sqe* const entry = ::io_uring_get_sqe(ring_.get());
  if (entry == nullptr) return -EBUSY;  // Impossible: there is an entry for each buffer.
  const int file = request.file;
  const auto length = static_cast<unsigned>(request.end - request.begin);
  const std::span<const std::byte> from = bytes_of(request);
  std::byte* const to = buffer(request.buffer).data() + request.begin;
  if (request.kind == IoRequest::Kind::kRead && registered_)
    ::io_uring_prep_read_fixed(entry, file, to, length, request.offset, 0);
  else if (request.kind == IoRequest::Kind::kRead)
    ::io_uring_prep_read(entry, file, to, length, request.offset);
  else if (registered_ && request.held == nullptr)
    ::io_uring_prep_write_fixed(entry, file, from.data(), length, request.offset, 0);
  else
    ::io_uring_prep_write(entry, file, from.data(), length, request.offset);
  entry->user_data = request.buffer;
  int taken = calls_.submit(ring_.get());
  for (int tries = 0; is_passing(taken) && tries < kMaxTries; ++tries) {
    ::sched_yield();
    taken = calls_.submit(ring_.get());
  }
  if (taken < 1) return taken < 0 ? taken : -EIO;
  return 0;
}

int IoRing::receive(size_t& buffer, int& result) {
  io_uring_cqe* entry = nullptr;
  int received = calls_.wait(ring_.get(), &entry);
  for (int tries = 0; is_passing(received) && tries < kMaxTries; ++tries)
    received = calls_.wait(ring_.get(), &entry);
  if (received < 0) return received;
  buffer = entry->user_data;
  result = entry->res;
  ::io_uring_cqe_seen(ring_.get(), entry);
  return 0;
}

}  // namespace crochet::inline v0
