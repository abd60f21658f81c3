// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/untrusted_file.h"

#include <span>

#include <fmt/format.h>

namespace crochet::inline v0::internal {
namespace {

// Zeros in a checkpoint may become holes, in a sparse copy or in a file system that compresses.
// Other values do not.
constexpr uint64_t kMaxHollowBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxHollowRatio = 1000;
// Text and tables contain no zeros, but compress well.
constexpr uint64_t kMaxHollowTextBytes = uint64_t{1} << 20;
constexpr uint64_t kMaxTextRatio = 64;

void check_stored(const ReadableFile& file, const std::string& path, uint64_t free_bytes,
                  uint64_t ratio) {
  const uint64_t size = file.size();
  if (size <= free_bytes) return;
  const uint64_t stored = file.stored_bytes();
  if ((size - free_bytes) / ratio > stored)
    throw DataLossError(
        fmt::format("{}: {} bytes, of which only {} are stored on disk", path, size, stored));
}

std::string read_once(FileSystem& files, const std::string& path, uint64_t max_bytes,
                      OwnerOfFile owner) {
  const std::unique_ptr<ReadableFile> file = open_untrusted_file(files, path);
  if (owner == OwnerOfFile::kThisUserOrRoot && !file->is_own())
    throw FailedPreconditionError(fmt::format(
        "{}: found a file of another user, expected one of this user or of root", path));
  const uint64_t size = file->size();
  if (size > max_bytes)
    throw DataLossError(fmt::format("{}: {} bytes, expected at most {}", path, size, max_bytes));
  check_stored(*file, path, kMaxHollowTextBytes, kMaxTextRatio);
  return with_bounded_memory(path, [&] {
    std::string content(size, '\0');
    file->read_at(0, std::as_writable_bytes(std::span(content)));
    return content;
  });
}

}  // namespace

std::unique_ptr<ReadableFile> open_untrusted_file(FileSystem& files, const std::string& path) {
  std::unique_ptr<ReadableFile> file = files.open(path);
  check_stored(*file, path, kMaxHollowBytes, kMaxHollowRatio);
  return file;
}

std::string read_untrusted_file(FileSystem& files, const std::string& path, uint64_t max_bytes,
                                OwnerOfFile owner) {
  constexpr int kMaxReplacements = 10;
  for (int i = 0; i < kMaxReplacements; ++i) {
    try {
      return read_once(files, path, max_bytes, owner);
    } catch (const UnavailableError&) {
    }
  }
  return read_once(files, path, max_bytes, owner);
}

void throw_no_memory(const std::string& path) {
  throw DataLossError(fmt::format("{}: not enough memory for the size that the file claims", path));
}

}  // namespace crochet::inline v0::internal
