// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::internal {

// Reads the stored bytes of strings sequentially, through a buffer as they may be short, and
// computes the checksum of those read so far.
class StringsInput {
 public:
  StringsInput(ReadStream& source, uint64_t num_bytes) : source_(source), num_left_(num_bytes) {}

  // The first `size` bytes, or all if there are fewer. Requires: nothing was read before.
  std::span<const std::byte> peek(uint64_t size) {
    fill(size);
    return buffer_;
  }
  // Skips peeked bytes, which have this crc.
  void skip(size_t size, uint32_t crc) {
    used_ += size;
    crc_ = crc;
  }

  // Requires: enough bytes are left.
  void read(std::span<std::byte> to) {
    // Size of one read: still in the cache when the checksum is computed.
    constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
    while (!to.empty()) {
      if (used_ == buffer_.size()) fill(kChunkBytes);
      const auto piece = to.first(std::min(to.size(), buffer_.size() - used_));
      std::copy_n(buffer_.begin() + static_cast<ptrdiff_t>(used_), piece.size(), piece.begin());
      crc_ = extend_crc32c(crc_, piece);
      used_ += piece.size();
      to = to.subspan(piece.size());
    }
  }
  void read(std::string& string) { read(std::as_writable_bytes(std::span(string))); }

  uint32_t crc() const { return crc_; }

 private:
  void fill(uint64_t size) {
    buffer_.resize(std::min(size, num_left_));
    source_.read(buffer_);
    num_left_ -= buffer_.size();
    used_ = 0;
  }

  ReadStream& source_;
  uint64_t num_left_;
  std::vector<std::byte> buffer_;
  size_t used_ = 0;
  uint32_t crc_ = 0;
};

}  // namespace crochet::inline v0::internal
