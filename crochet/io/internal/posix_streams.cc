// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/posix_streams.h"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/immortal.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/base/log.h"
#include "crochet/io/internal/direct_calls.h"
#include "crochet/io/internal/direct_read_stream.h"
#include "crochet/io/internal/errno_error.h"
#include "crochet/io/internal/open_file.h"
#include "crochet/io/internal/page_cache.h"
#include "crochet/io/internal/parallel_read.h"

namespace crochet::inline v0::internal {
namespace {

// If a larger fraction is in memory, plain reads are faster: measured at twice the rate of direct
// reads for cached pages, and half of it for others.
constexpr double kMostlyCached = 0.65;

// 8 concurrent reads of 1 MiB keep a disk busy all the time. With 16, a restore of 1 GiB took a
// tenth longer: the buffers take longer to set up, and bytes have left the processor's cache when
// they are copied.
constexpr size_t kNumBlocks = 8;
constexpr size_t kBlockBytes = size_t{1} << 20;

// Parts that are smaller than a ring are read plainly: where memory is fragmented, a ring takes 3
// to 20 ms to set up.
constexpr uint64_t kMinDirectBytes = kNumBlocks * kBlockBytes;

// How far ahead the system is asked to read: enough to keep a disk busy.
constexpr uint64_t kAheadBytes = uint64_t{16} << 20;

// Reads a part of a file through the page cache, announcing to the system what comes next.
class BufferedReadStream final : public ReadStream {
 public:
  // Requires: `file`, which owns the descriptor, outlives this.
  BufferedReadStream(const ReadableFile& file, int descriptor, uint64_t offset, uint64_t num_bytes)
      : file_(file),
        descriptor_(descriptor),
        next_(offset),
        end_(offset + num_bytes),
        announced_(offset) {
    announce();
  }

  void read(std::span<std::byte> destination) override {
    for_each_chunk(destination,
                   [this](std::span<std::byte> chunk) { read_in_parallel(file_, next_, chunk); });
  }
  uint32_t read_with_crc32c(uint32_t crc, std::span<std::byte> destination) override {
    for_each_chunk(destination, [&](std::span<std::byte> chunk) {
      crc = read_in_parallel_with_crc32c(file_, next_, crc, chunk);
    });
    return crc;
  }
  void skip(uint64_t num_bytes) override { next_ += num_bytes; }

 private:
  template <typename Read>
  void for_each_chunk(std::span<std::byte> destination, const Read& read) {
    while (!destination.empty()) {
      announce();
      const auto chunk = destination.first(std::min<uint64_t>(destination.size(), kAheadBytes / 2));
      read(chunk);
      next_ += chunk.size();
      destination = destination.subspan(chunk.size());
    }
  }
  void announce() {
    // Half at a time, so that announced bytes are always left to read.
    if (announced_ >= end_ || announced_ > next_ + kAheadBytes / 2) return;
    const uint64_t from = std::max(announced_, next_);
    announced_ = std::min(end_, next_ + kAheadBytes);
    ::posix_fadvise(descriptor_, static_cast<off_t>(from), static_cast<off_t>(announced_ - from),
                    POSIX_FADV_WILLNEED);
  }

  const ReadableFile& file_;
  const int descriptor_;
  uint64_t next_;
  const uint64_t end_;
  uint64_t announced_;  // Bytes before this offset have been announced to the system.
};

// Throws: an error with the system's message if io_uring is refused.
std::unique_ptr<IoRing> take_ring(IoRingPool& rings) {
  if (auto ring = rings.take()) return ring;
  int error = 0;
  auto ring = IoRing::make(DirectCalls::real(), kNumBlocks, kBlockBytes, error);
  if (!ring) throw_errno(error, "io_uring", "setup");
  return ring;
}

}  // namespace

PosixStreams& PosixStreams::shared() {
  static Immortal<PerProcess<PosixStreams>> streams;
  return **streams;
}

std::shared_ptr<IoRingPool> PosixStreams::rings() {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<IoRingPool> rings = rings_.lock();
  if (!rings) rings_ = rings = std::make_shared<IoRingPool>();
  return rings;
}

bool PosixStreams::wants_direct(const ReadableFile& file, int descriptor, uint64_t offset,
                                uint64_t num_bytes) const {
  if (way_ == ReadWay::kBuffered) return false;
  const uint64_t size = file.size();
  if (offset > size || num_bytes > size - offset) return false;  // Plain reads report the error.
  if (way_ == ReadWay::kDirect) return true;
  return num_bytes >= kMinDirectBytes &&
         part_in_page_cache(descriptor, offset, num_bytes) < kMostlyCached;
}

void PosixStreams::log_once(const std::string& reason) {
  if (!logged_.exchange(true))
    log_warning(fmt::format(
        "files are read through the page cache, since direct reads are refused: {}", reason));
}

std::unique_ptr<ReadStream> PosixStreams::open(const ReadableFile& file, int descriptor,
                                               const std::string& path,
                                               std::shared_ptr<IoRingPool> rings, uint64_t offset,
                                               uint64_t num_bytes) {
  const auto plain = [this, &file, descriptor, end = offset + num_bytes](
                         uint64_t from, const std::string& reason) {
    if (!reason.empty()) log_once(reason);
    return std::make_unique<BufferedReadStream>(file, descriptor, from, end - from);
  };
  if (!wants_direct(file, descriptor, offset, num_bytes)) return plain(offset, "");
  try {
    FileDescriptor direct = open_again(descriptor, O_RDONLY | O_DIRECT);
    std::unique_ptr<IoRing> ring = take_ring(*rings);
    return std::make_unique<DirectReadStream>(std::move(direct), path, offset, num_bytes,
                                              std::move(ring), std::move(rings), plain);
  } catch (const Error& error) {
    return plain(offset, error.what());
  }
}

}  // namespace crochet::inline v0::internal
