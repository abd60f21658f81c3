// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/writable_state.h"

namespace crochet::inline v0::internal {

// Buffers small appends to another file, up to kChunkBytes; passes on large ones directly.
//
// The other file has everything after flush(), sync() or close(); without them, the last buffered
// bytes are lost.
class CoalescingFile final : public WritableFile {
 public:
  // Also the unit of work: still in the cache when it is written after its checksum is computed.
  static constexpr size_t kChunkBytes = size_t{1} << 20;

  // `path` is the path of `file`, for messages.
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

}  // namespace crochet::inline v0::internal
