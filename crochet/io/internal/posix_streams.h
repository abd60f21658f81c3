// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "crochet/io/file_system.h"
#include "crochet/io/internal/io_ring.h"

namespace crochet::inline v0::internal {

// How a part of a file is read.
enum class ReadWay {
  kDirectIfCold,  // Past the page cache, unless the part is small or already cached.
  kDirect,
  kBuffered,
};

// Opens streams over files of the operating system. Where reads past the page cache are refused
// they go through it, which is logged once.
//
// Thread-safe.
class PosixStreams {
 public:
  explicit PosixStreams(ReadWay way = ReadWay::kDirectIfCold) : way_(way) {}

  // The instance of this process; a forked child has its own.
  static PosixStreams& shared();

  // The rings for the streams of a file: idle ones are kept as long as the result is held.
  std::shared_ptr<IoRingPool> rings();

  // Requires: `file`, which owns the descriptor, outlives the stream.
  std::unique_ptr<ReadStream> open(const ReadableFile& file, int descriptor,
                                   const std::string& path, std::shared_ptr<IoRingPool> rings,
                                   uint64_t offset, uint64_t num_bytes);

 private:
  bool wants_direct(const ReadableFile& file, int descriptor, uint64_t offset,
                    uint64_t num_bytes) const;
  void log_once(const std::string& reason);

  const ReadWay way_;
  std::atomic<bool> logged_ = false;

  std::mutex mutex_;  // Guards what follows.
  std::weak_ptr<IoRingPool> rings_;
};

}  // namespace crochet::inline v0::internal
