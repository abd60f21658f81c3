// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "crochet/io/file_descriptor.h"
#include "crochet/io/file_system.h"
#include "crochet/io/read_lanes.h"

namespace crochet {

// Reads a part of a file ahead, bypassing the page cache, in blocks from which the requested bytes
// are copied. After any error - a failed read, a file that has become shorter, a broken queue - it
// falls back to plain reads: they succeed, or throw the error that ReadStream specifies.
class DirectReadStream final : public ReadStream {
 public:
  // Creates the stream that continues with plain reads from an offset; `reason` is the error, ""
  // in a forked child, where there was none.
  using Plain =
      std::function<std::unique_ptr<ReadStream>(uint64_t offset, const std::string& reason)>;
  // Receives a lane that can be used again, with no read in flight.
  using GiveBack = std::function<void(ReadLane)>;

  // `file` is open with O_DIRECT. Requires: the size of the lane's blocks is a multiple of
  // kDirectAlignment, and its queue has one slot per block.
  DirectReadStream(FileDescriptor file, std::string path, uint64_t offset, uint64_t num_bytes,
                   ReadLane lane, Plain plain, GiveBack give_back);
  // Waits for reads in flight.
  ~DirectReadStream() override;

  void read(std::span<std::byte> destination) override;
  uint32_t read_with_crc32c(uint32_t crc, std::span<std::byte> destination) override;
  void skip(uint64_t num_bytes) override;

 private:
  // The block that a slot is reading, or has read.
  struct Block {
    uint64_t number = 0;   // Among the part's blocks, from 0.
    size_t num_bytes = 0;  // Read so far.
    bool under_way = false;
    bool ended = false;  // No more bytes will be read.
    int num_retries = 0;
  };

  uint64_t start_of(uint64_t number) const { return base_ + number * block_bytes_; }
  // The number of bytes of a block that belong to the part.
  size_t bytes_wanted(uint64_t number) const;
  // Starts reads as far ahead as there is room.
  void read_ahead();
  void submit(size_t slot);
  // Waits for one read to end, and records its result.
  void complete_one();
  // The next bytes, up to the end of their block. Throws: Error.
  std::span<const std::byte> next_bytes();
  // Passes all requested bytes to `consume(bytes, destination)`, block by block.
  // False on an error; then `plain_` continues from where this call began.
  template <typename Consume>
  bool consume(std::span<std::byte> destination, const Consume& consume);
  // Makes a forked child use plain reads: the lane is its parent's.
  void leave_lane_to_parent();
  void fall_back_to_plain_reads(const std::string& reason);
  // Waits for all reads in flight. Throws: Error.
  void drain();

  const FileDescriptor file_;
  const std::string path_;
  const uint64_t base_;  // Of the first block; aligned.
  const uint64_t end_;
  uint64_t position_;
  ReadLane lane_;
  const size_t block_bytes_;
  const Plain make_plain_;
  const GiveBack give_back_;

  std::vector<Block> blocks_;  // By slot; block n is in the slot n modulo their number.
  uint64_t next_to_submit_ = 0;
  std::unique_ptr<ReadStream> plain_;  // Set after the fallback to plain reads.
};

}  // namespace crochet
