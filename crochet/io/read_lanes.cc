// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/read_lanes.h"

#include <sys/mman.h>

#include <utility>

#include "crochet/base/error.h"

namespace crochet {

ReadBlocks::ReadBlocks(size_t num_blocks, size_t block_bytes)
    : num_blocks_(num_blocks), block_bytes_(block_bytes) {
  const size_t size = num_blocks * block_bytes;
  void* const memory =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw ResourceExhaustedError("cannot allocate {} bytes to read ahead", size);
  ::madvise(memory, size, MADV_HUGEPAGE);  // Fewer pages to touch and to pin; a hint only.
  ::madvise(memory, size, MADV_DONTFORK);
  memory_ = static_cast<std::byte*>(memory);
}

ReadBlocks::~ReadBlocks() {
  // In another process they are not mapped, and their addresses may be in use.
  if (owner_.is_here()) ::munmap(memory_, num_blocks_ * block_bytes_);
}

ReadLane ReadLanes::take() {
  if (const auto lane = idle_.take()) return std::move(*lane);
  return {std::make_unique<ReadBlocks>(kNumBlocks, kBlockBytes), make_uring_read_queue(kNumBlocks)};
}

void ReadLanes::give_back(ReadLane lane) {
  idle_.give_back(std::make_unique<ReadLane>(std::move(lane)));
}

}  // namespace crochet
