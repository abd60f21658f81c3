// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "crochet/base/process_owner.h"
#include "crochet/io/idle_pool.h"
#include "crochet/io/read_queue.h"

namespace crochet {

// The alignment of memory and file offsets that O_DIRECT requires, for every disk in use.
inline constexpr size_t kDirectAlignment = 4096;

// Memory for reads past the page cache. A forked child does not have it: otherwise copy-on-write
// would separate the pages of parent and child while the kernel writes to them.
class ReadBlocks {
 public:
  // Throws: ResourceExhaustedError.
  ReadBlocks(size_t num_blocks, size_t block_bytes);
  ~ReadBlocks();
  ReadBlocks(const ReadBlocks&) = delete;
  ReadBlocks& operator=(const ReadBlocks&) = delete;

  size_t num_blocks() const { return num_blocks_; }
  size_t block_bytes() const { return block_bytes_; }
  std::span<std::byte> block(size_t index) {
    return {memory_ + index * block_bytes_, block_bytes_};
  }

 private:
  const ProcessOwner owner_;
  const size_t num_blocks_;
  const size_t block_bytes_;
  std::byte* memory_;
};

// The resources that one stream needs to read ahead.
struct ReadLane {
  std::unique_ptr<ReadBlocks> blocks;
  std::unique_ptr<ReadQueue> queue;  // Last: reads in flight end before the memory is freed.
  ProcessOwner owner = {};

  // False in a forked child, which may only destroy it.
  bool is_usable() const { return owner.is_here(); }
};

// Keeps idle lanes for the next streams: memory that was used before is three times as fast,
// and a checkpoint may consist of many files.
//
// Thread-safe.
class ReadLanes {
 public:
  // 16 concurrent reads of 1 MiB keep a disk busy all the time. A restore uses at most two such
  // lanes.
  static constexpr size_t kNumBlocks = 16;
  static constexpr size_t kBlockBytes = size_t{1} << 20;

  // Throws: ResourceExhaustedError; what make_uring_read_queue() throws.
  ReadLane take();
  // Requires: no read of the lane is in flight.
  void give_back(ReadLane lane);

 private:
  IdlePool<ReadLane> idle_;
};

}  // namespace crochet
