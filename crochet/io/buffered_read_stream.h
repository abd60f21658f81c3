// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/io/file_system.h"

namespace crochet::inline v0 {

// Reads a part of a file through the page cache, announcing to the system what comes next.
class BufferedReadStream final : public ReadStream {
 public:
  // Requires: `file`, which owns the descriptor, outlives this.
  BufferedReadStream(const ReadableFile& file, int descriptor, uint64_t offset, uint64_t num_bytes);

  void read(std::span<std::byte> destination) override;
  uint32_t read_with_crc32c(uint32_t crc, std::span<std::byte> destination) override;
  void skip(uint64_t num_bytes) override;

 private:
  void announce();

  const ReadableFile& file_;
  const int descriptor_;
  uint64_t next_;
  const uint64_t end_;
  uint64_t announced_;  // Bytes before this offset have been announced to the system.
};

}  // namespace crochet::inline v0
