// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/io_ring.h"

#include <sys/mman.h>

#include <csignal>
#include <optional>

#include "crochet/base/internal/blocked_signal.h"

namespace crochet::inline v0::internal {
namespace {

// A huge page needs one pin and one address instead of 512.
constexpr size_t kHugePageBytes = size_t{1} << 21;

// Memory from the operating system, aligned to kHugePageBytes; empty if the system has none left.
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

}  // namespace

IoRing::IoRing(DirectCalls& calls, size_t num_buffers, size_t buffer_bytes)
    : calls_(calls), buffer_bytes_(buffer_bytes), requests_(num_buffers) {}

bool IoRing::map_buffers() {
  memory_ = map_memory(num_buffers() * buffer_bytes_);
  return !memory_.empty();
}

IoRing::~IoRing() {
  // In another process, the mapping does not exist, and its addresses may be in use.
  if (is_mine() && !memory_.empty()) ::munmap(memory_.data(), memory_.size());
}

int IoRing::start(const IoRequest& request) {
  requests_[request.buffer] = request;
  std::optional<BlockedSignal> no_signal;  // The write may be made at once.
  if (request.kind == IoRequest::Kind::kWrite) no_signal.emplace(SIGXFSZ);
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

}  // namespace crochet::inline v0::internal
