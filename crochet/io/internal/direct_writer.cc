// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/direct_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <array>
#include <utility>

#include <fmt/format.h>
#include <linux/falloc.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/io/internal/coalescing_file.h"
#include "crochet/io/internal/direct_writable_file.h"
#include "crochet/io/internal/errno_error.h"
#include "crochet/io/internal/open_file.h"
#include "crochet/io/internal/posix_files.h"

namespace crochet::inline v0::internal {
namespace {

using Means = DirectMeans;

// The unit of buffer sizes. The largest known block of a disk is 64 KiB; buffers that do not hold
// whole blocks are not used.
constexpr size_t kBufferUnit = 4096;
// What one ring accepts within the kernel's usual limits.
constexpr size_t kMaxBuffers = 4096;

bool is_no_room(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO;
}

uint64_t free_bytes_or_none(int file) noexcept {
  struct statvfs status;
  if (retry_interrupted([&] { return ::fstatvfs(file, &status); }) != 0) return 0;
  return uint64_t{status.f_bavail} * status.f_frsize;
}

}  // namespace

// What was refused, so that each refusal is logged once.
struct DirectWriter::Refusals {
  void log_once(Means means, const std::string& path, int error) {
    if (logged[static_cast<size_t>(means)].exchange(true)) return;
    log_debug(
        fmt::format("{}: written through the page cache, since {} is refused: {} (logged once)",
                    path, means == Means::kDirect ? "O_DIRECT" : "io_uring", errno_text(error)));
  }

  std::array<std::atomic<bool>, 2> logged{};  // By means.
};

DirectWriter::DirectWriter(const DirectWriterOptions& options)
    : options_(options),
      calls_(options.calls ? *options.calls : DirectCalls::real()),
      refusals_(std::make_shared<Refusals>()) {
  if (options.num_buffers == 0 || options.num_buffers > kMaxBuffers)
    throw InvalidArgumentError(fmt::format("direct writer: found {} buffers, expected 1 to {}",
                                           options.num_buffers, kMaxBuffers));
  if (options.buffer_bytes == 0 || options.buffer_bytes % kBufferUnit != 0)
    throw InvalidArgumentError(
        fmt::format("direct writer: found buffers of {} bytes, expected a multiple of {}",
                    options.buffer_bytes, kBufferUnit));
}

std::unique_ptr<WritableFile> DirectWriter::create(const FilePlace& place,
                                                   uint64_t expected_bytes) {
  if (options_.use_io_uring && options_.use_direct && expected_bytes >= options_.min_bytes)
    if (auto file = create_direct(place, expected_bytes)) return file;
  return create_plain(place, expected_bytes);
}

// Null if the file cannot be direct; then it may exist, and is empty.
std::unique_ptr<WritableFile> DirectWriter::create_direct(const FilePlace& place,
                                                          uint64_t expected_bytes) {
  const std::string& path = place.path;
  int number = calls_.open(place, O_DIRECT);
  while (number == -EINTR) number = calls_.open(place, O_DIRECT);
  if (number < 0) {
    if (number == -EINVAL || number == -EOPNOTSUPP)
      refusals_->log_once(Means::kDirect, path, -number);
    return nullptr;  // Any other error will occur again, and be reported.
  }
  FileDescriptor descriptor(number);
  number = descriptor.get();
  const int64_t block_bytes = calls_.block_bytes(number);
  if (block_bytes <= 0 || options_.buffer_bytes % static_cast<size_t>(block_bytes) != 0) {
    refusals_->log_once(Means::kDirect, path,
                        block_bytes < 0 ? static_cast<int>(-block_bytes) : EINVAL);
    return nullptr;
  }
  std::unique_ptr<IoRing> ring = take_ring(path);
  if (!ring) return nullptr;
  // Sets the length, too: writes that extend a file are not made in parallel.
  const bool reserved = reserve(number, place, 0, expected_bytes);
  const auto on_refused = [refusals = refusals_, path](Means means, int error) {
    refusals->log_once(means, path, error);
  };
  return direct_writable_file(calls_,
                              DirectFile{.path = path,
                                         .descriptor = std::move(descriptor),
                                         .length = reserved ? expected_bytes : 0,
                                         .block_bytes = static_cast<size_t>(block_bytes)},
                              std::move(ring), pool_, on_refused);
}

std::unique_ptr<WritableFile> DirectWriter::create_plain(const FilePlace& place,
                                                         uint64_t expected_bytes) {
  FileDescriptor descriptor = open_file(place, OpenFor::kReplacing);
  // For small files, a full disk is found by writing.
  const bool reserved = expected_bytes >= options_.min_bytes &&
                        reserve(descriptor.get(), place, FALLOC_FL_KEEP_SIZE, expected_bytes);
  return std::make_unique<CoalescingFile>(
      place.path, std::make_unique<PosixWritableFile>(place.path, std::move(descriptor),
                                                      reserved ? expected_bytes : 0));
}

std::unique_ptr<IoRing> DirectWriter::take_ring(const std::string& path) {
  if (auto ring = pool_->take()) return ring;
  int error = 0;
  auto ring = IoRing::make(calls_, options_.num_buffers, options_.buffer_bytes, error);
  if (!ring) refusals_->log_once(Means::kRing, path, error);
  return ring;
}

bool DirectWriter::reserve(int file, const FilePlace& place, int mode, uint64_t num_bytes) {
  if (num_bytes == 0) return false;
  int result = calls_.reserve(file, mode, num_bytes);
  while (result == -EINTR) result = calls_.reserve(file, mode, num_bytes);
  if (result >= 0) return true;
  if (!is_no_room(-result)) return false;  // Not supported; a full disk is found by writing.
  const uint64_t free_bytes = free_bytes_or_none(file);
  ::unlinkat(place.at(), place.name.c_str(), 0);
  throw_no_room(-result, place.path, num_bytes, free_bytes);
}

}  // namespace crochet::inline v0::internal
