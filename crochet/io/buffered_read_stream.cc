// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/buffered_read_stream.h"

#include <fcntl.h>

#include <algorithm>

#include "crochet/io/crc32c.h"

namespace crochet::inline v0 {
namespace {

// Size of one read: still in the L2 cache when the checksum is computed.
constexpr size_t kPieceBytes = size_t{256} << 10;
// How far ahead the system is asked to read: enough to keep a disk busy.
constexpr uint64_t kAheadBytes = uint64_t{16} << 20;

}  // namespace

BufferedReadStream::BufferedReadStream(const ReadableFile& file, int descriptor, uint64_t offset,
                                       uint64_t num_bytes)
    : file_(file),
      descriptor_(descriptor),
      next_(offset),
      end_(offset + num_bytes),
      announced_(offset) {
  announce();
}

void BufferedReadStream::announce() {
  // Half at a time, so that announced bytes are always left to read.
  if (announced_ >= end_ || announced_ > next_ + kAheadBytes / 2) return;
  const uint64_t from = std::max(announced_, next_);
  announced_ = std::min(end_, next_ + kAheadBytes);
  ::posix_fadvise(descriptor_, static_cast<off_t>(from), static_cast<off_t>(announced_ - from),
                  POSIX_FADV_WILLNEED);
}

void BufferedReadStream::read(std::span<std::byte> destination) {
  while (!destination.empty()) {
    announce();
    const auto chunk = destination.first(std::min<uint64_t>(destination.size(), kAheadBytes / 2));
    file_.read_at(next_, chunk);
    next_ += chunk.size();
    destination = destination.subspan(chunk.size());
  }
}

uint32_t BufferedReadStream::read_with_crc32c(uint32_t crc, std::span<std::byte> destination) {
  while (!destination.empty()) {
    const auto piece = destination.first(std::min(destination.size(), kPieceBytes));
    read(piece);
    crc = extend_crc32c(crc, piece);
    destination = destination.subspan(piece.size());
  }
  return crc;
}

void BufferedReadStream::skip(uint64_t num_bytes) { next_ += num_bytes; }

}  // namespace crochet::inline v0
