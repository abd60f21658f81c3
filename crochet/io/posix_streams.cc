// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/posix_streams.h"

#include <errno.h>
#include <fcntl.h>

#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/immortal.h"
#include "crochet/base/log.h"
#include "crochet/base/process_bound.h"
#include "crochet/io/buffered_read_stream.h"
#include "crochet/io/direct_read_stream.h"
#include "crochet/io/open_file.h"
#include "crochet/io/page_cache.h"

namespace crochet {
namespace {

// Smaller parts are read plainly in less time than it takes to set up a lane.
constexpr uint64_t kMinDirectBytes = uint64_t{1} << 20;
// If a larger fraction is in memory, plain reads are faster: measured at twice the rate of direct
// reads for cached pages, and half of it for others.
constexpr double kMostlyCached = 0.65;

}  // namespace

PosixStreams& PosixStreams::shared() {
  static Immortal<PerProcess<PosixStreams>> streams;
  return **streams;
}

std::shared_ptr<ReadLanes> PosixStreams::lanes() {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<ReadLanes> lanes = lanes_.lock();
  if (!lanes) lanes_ = lanes = std::make_shared<ReadLanes>();
  return lanes;
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
    log_warning("files are read through the page cache, since direct reads are refused: {}",
                reason);
}

std::unique_ptr<ReadStream> PosixStreams::open(const ReadableFile& file, int descriptor,
                                               const std::string& path,
                                               std::shared_ptr<ReadLanes> lanes, uint64_t offset,
                                               uint64_t num_bytes) {
  const auto plain = [this, &file, descriptor, end = offset + num_bytes](
                         uint64_t from, const std::string& reason) {
    if (!reason.empty()) log_once(reason);
    return std::make_unique<BufferedReadStream>(file, descriptor, from, end - from);
  };
  if (!wants_direct(file, descriptor, offset, num_bytes)) return plain(offset, "");
  try {
    FileDescriptor direct = open_again(descriptor, O_RDONLY | O_DIRECT);
    ReadLane lane = lanes->take();
    return std::make_unique<DirectReadStream>(
        std::move(direct), path, offset, num_bytes, std::move(lane), plain,
        [lanes](ReadLane used) { lanes->give_back(std::move(used)); });
  } catch (const Error& error) {
    return plain(offset, error.what());
  }
}

}  // namespace crochet
