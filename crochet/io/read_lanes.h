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

// What O_DIRECT asks of places in memory and in files, of every disk that is in use.
inline constexpr size_t kDirectAlignment = 4096;

// Memory that reads past the page cache may go to. A forked child does not have it: otherwise the
// pages of parent and child would part ways while the kernel writes to them.
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

// What one stream needs to read ahead.
struct ReadLane {
  std::unique_ptr<ReadBlocks> blocks;
  std::unique_ptr<ReadQueue> queue;  // Last: what is under way ends before the memory goes.
  ProcessOwner owner = {};

  // False in a forked child, where all that may be done is to destroy it.
  bool is_usable() const { return owner.is_here(); }
};

// Lanes that are not in use, for the next streams: memory that was touched before is three
// times as fast, and a checkpoint may be in many files.
//
// Thread-safe.
class ReadLanes {
 public:
  // 16 reads of 1 MiB at once: what a disk needs to be busy all the time. A restore has two such
  // lanes at most.
  static constexpr size_t kNumBlocks = 16;
  static constexpr size_t kBlockBytes = size_t{1} << 20;

  // Throws: ResourceExhaustedError; what make_uring_read_queue() throws.
  ReadLane take();
  // Requires: nothing is under way in it.
  void give_back(ReadLane lane);

 private:
  IdlePool<ReadLane> idle_;
};

}  // namespace crochet
