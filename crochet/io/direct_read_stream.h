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

// Reads a part of a file ahead, past the page cache, in blocks that are copied on from as they
// are asked for. Whatever goes wrong on that way - a read that fails, a file that has become
// shorter, a queue that breaks - is left to plain reads from there on: they work, or throw the
// error that a reader is promised.
class DirectReadStream final : public ReadStream {
 public:
  // Makes the stream that goes on by plain reads from an offset; `reason` is what went wrong, ""
  // in a forked child, where nothing did.
  using Plain =
      std::function<std::unique_ptr<ReadStream>(uint64_t offset, const std::string& reason)>;
  // Takes a lane that is of further use, nothing under way in it.
  using GiveBack = std::function<void(ReadLane)>;

  // `file` is open with O_DIRECT. Requires: the lane has blocks of a multiple of
  // kDirectAlignment, and as many slots in its queue.
  DirectReadStream(FileDescriptor file, std::string path, uint64_t offset, uint64_t num_bytes,
                   ReadLane lane, Plain plain, GiveBack give_back);
  // Waits for what is under way.
  ~DirectReadStream() override;

  void read(std::span<std::byte> destination) override;
  uint32_t read_with_crc32c(uint32_t crc, std::span<std::byte> destination) override;
  void skip(uint64_t num_bytes) override;

 private:
  // What a slot reads, or has read.
  struct Block {
    uint64_t number = 0;   // Of the part's blocks, from 0.
    size_t num_bytes = 0;  // That were read.
    bool under_way = false;
    bool ended = false;  // There is no more to come.
    int num_retries = 0;
  };

  uint64_t start_of(uint64_t number) const { return base_ + number * block_bytes_; }
  // The bytes of a block that the part has.
  size_t bytes_wanted(uint64_t number) const;
  // Begins to read as far ahead as there is room.
  void read_ahead();
  void submit(size_t slot);
  // Takes what one read has brought.
  void complete_one();
  // The bytes that come next, as many as a block has. Throws: Error.
  std::span<const std::byte> next_bytes();
  // Hands all that is to be read to `consume(bytes, destination)`, block by block.
  // False if that cannot be done; then `plain_` goes on from where it began.
  template <typename Consume>
  bool consume(std::span<std::byte> destination, const Consume& consume);
  // Ensures that a forked child reads plainly: the lane is its parent's.
  void leave_lane_to_parent();
  void go_on_plainly(const std::string& reason);
  // Waits for all that is under way. Throws: Error.
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
  std::unique_ptr<ReadStream> plain_;  // Set once reading ahead has failed.
};

}  // namespace crochet
