// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/io/writable_state.h"

namespace crochet {

// Gathers what is appended in small pieces for another file, up to kChunkBytes; large pieces go
// straight on.
//
// The other file has all after flush(), sync() or close(); otherwise what was gathered last is
// lost.
class CoalescingFile final : public WritableFile {
 public:
  // Also what is handled at once: still in the cache when the write comes behind the checksum.
  static constexpr size_t kChunkBytes = size_t{1} << 20;

  // `path` is that of `file`, for messages.
  CoalescingFile(const std::string& path, std::unique_ptr<WritableFile> file);

  using WritableFile::append;
  void append(std::span<const std::byte> data) override;
  uint32_t append_with_crc32c(uint32_t crc, std::span<const std::byte> data) override;
  void flush() override;
  void sync() override;
  void close() override;

 private:
  void gather(std::span<const std::byte> data);
  void write_gathered();

  WritableState state_;
  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<std::byte[]> buffer_;
  size_t filled_ = 0;
};

}  // namespace crochet
