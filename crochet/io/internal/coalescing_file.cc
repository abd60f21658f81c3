// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/coalescing_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::internal {

CoalescingFile::CoalescingFile(const std::string& path, std::unique_ptr<WritableFile> file)
    : state_(path),
      file_(std::move(file)),
      buffer_(std::make_unique_for_overwrite<std::byte[]>(kChunkBytes)) {}

void CoalescingFile::append(std::span<const std::byte> data) {
  state_.run("append", [&] { gather(data); });
}

uint32_t CoalescingFile::append_with_crc32c(uint32_t crc, std::span<const std::byte> data) {
  state_.run("append", [&] {
    while (!data.empty()) {
      const auto chunk = data.first(std::min(data.size(), kChunkBytes));
      crc = extend_crc32c(crc, chunk);
      gather(chunk);
      data = data.subspan(chunk.size());
    }
  });
  return crc;
}

void CoalescingFile::gather(std::span<const std::byte> data) {
  if (filled_ + data.size() > kChunkBytes) write_gathered();
  if (data.size() >= kChunkBytes) return file_->append(data);
  if (data.empty()) return;
  std::memcpy(buffer_.get() + filled_, data.data(), data.size());
  filled_ += data.size();
}

void CoalescingFile::write_gathered() {
  if (filled_ > 0) file_->append(std::span(buffer_.get(), std::exchange(filled_, 0)));
}

void CoalescingFile::flush() {
  state_.run("flush", [&] {
    write_gathered();
    file_->flush();
  });
}

void CoalescingFile::sync() {
  state_.run("sync", [&] {
    write_gathered();
    file_->sync();
  });
}

void CoalescingFile::close() {
  if (!state_.is_dead() && !state_.is_closed()) state_.run("close", [&] { write_gathered(); });
  state_.close();
  file_->close();
}

}  // namespace crochet::inline v0::internal
