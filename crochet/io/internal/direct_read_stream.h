// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/file_descriptor.h"
#include "crochet/io/internal/io_ring.h"

namespace crochet::inline v0::internal {

// Reads a part of a file ahead, bypassing the page cache, in blocks from which the requested bytes
// are copied. After any error - a failed read, a file that has become shorter, a broken queue - it
// falls back to plain reads: they succeed, or throw the error that ReadStream specifies.
class DirectReadStream final : public ReadStream {
 public:
  // Creates the stream that continues with plain reads from an offset; `reason` is the error, ""
  // in a forked child, where there was none.
  using Plain =
      std::function<std::unique_ptr<ReadStream>(uint64_t offset, const std::string& reason)>;

  // `file` is open with O_DIRECT. The pool gets the ring back. Requires: the size of the ring's
  // buffers is a multiple of kDirectAlignment.
  DirectReadStream(FileDescriptor file, std::string path, uint64_t offset, uint64_t num_bytes,
                   std::unique_ptr<IoRing> ring, std::shared_ptr<IoRingPool> pool, Plain plain);
  // Waits for reads in flight.
  ~DirectReadStream() override;

  void read(std::span<std::byte> destination) override;
  uint32_t read_with_crc32c(uint32_t crc, std::span<std::byte> destination) override;
  void skip(uint64_t num_bytes) override;

 private:
  // The block that a buffer of the ring is reading, or has read.
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
  void start(size_t slot);
  // Waits for one read to end, and records its result.
  void complete_one();
  // The next bytes, up to the end of their block. Throws: Error.
  std::span<const std::byte> next_bytes();
  // Passes all requested bytes to `consume(bytes, destination)`, block by block.
  // False on an error; then `plain_` continues from where this call began.
  template <typename Consume>
  bool consume(std::span<std::byte> destination, const Consume& consume);
  // Makes a forked child use plain reads: the ring is its parent's.
  void leave_ring_to_parent();
  void fall_back_to_plain_reads(const std::string& reason);

  const FileDescriptor file_;
  const std::string path_;
  const uint64_t base_;  // Of the first block; aligned.
  const uint64_t end_;
  uint64_t position_;
  std::unique_ptr<IoRing> ring_;  // Null once reads are plain.
  const std::shared_ptr<IoRingPool> pool_;
  const size_t block_bytes_;
  const Plain make_plain_;

  std::vector<Block> blocks_;  // By buffer; block n is in buffer n modulo their number.
  uint64_t next_to_submit_ = 0;
  std::unique_ptr<ReadStream> plain_;  // Set after the fallback to plain reads.
};

}  // namespace crochet::inline v0::internal
