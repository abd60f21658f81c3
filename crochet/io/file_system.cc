// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/file_system.h"

#include <errno.h>

#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/log_lazily.h"
#include "crochet/base/internal/random.h"
#include "crochet/base/log.h"
#include "crochet/io/internal/coalescing_file.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/errno_error.h"

namespace crochet::inline v0 {
namespace {

// The unit of writes: still in the cache for the write after the checksum.
constexpr size_t kChunkBytes = size_t{1} << 20;
// The unit of reads: still in the L2 cache when the checksum is computed.
constexpr size_t kPieceBytes = size_t{256} << 10;

// Reads at its current offset, on request.
class PlainReadStream final : public ReadStream {
 public:
  PlainReadStream(const ReadableFile& file, uint64_t offset) : file_(file), next_(offset) {}

  void read(std::span<std::byte> destination) override {
    file_.read_at(next_, destination);
    next_ += destination.size();
  }
  void skip(uint64_t num_bytes) override { next_ += num_bytes; }

 private:
  const ReadableFile& file_;
  uint64_t next_;
};

std::string temporary_path(const std::string& path) {
  return fmt::format("{}.tmp{:016x}{:016x}", path, internal::random_number(),
                     internal::random_number());
}

void write_durably(FileSystem& files, const std::string& path, std::string_view content) {
  const std::unique_ptr<WritableFile> file = files.create(path);
  file->append(content);
  file->sync();
  file->close();
}

}  // namespace

uint32_t WritableFile::append_read_with_crc32c(uint32_t crc, size_t num_bytes,
                                               const ReadBytes& read) {
  std::vector<std::byte> bytes(std::min(num_bytes, kChunkBytes));
  for (size_t begin = 0; begin < num_bytes; begin += bytes.size()) {
    const auto piece = std::span(bytes).first(std::min(bytes.size(), num_bytes - begin));
    read(begin, piece);
    crc = append_with_crc32c(crc, piece);
  }
  return crc;
}

void WritableFile::append(std::string_view text) { append(std::as_bytes(std::span(text))); }

uint32_t WritableFile::append_with_crc32c(uint32_t crc, std::span<const std::byte> data) {
  do {  // Also for empty data, so that a closed file throws.
    const auto chunk = data.first(std::min(data.size(), kChunkBytes));
    crc = internal::extend_crc32c(crc, chunk);
    append(chunk);
    data = data.subspan(chunk.size());
  } while (!data.empty());
  return crc;
}

uint32_t ReadStream::read_with_crc32c(uint32_t crc, std::span<std::byte> destination) {
  while (!destination.empty()) {
    const auto piece = destination.first(std::min(destination.size(), kPieceBytes));
    read(piece);
    crc = internal::extend_crc32c(crc, piece);
    destination = destination.subspan(piece.size());
  }
  return crc;
}

std::unique_ptr<ReadStream> ReadableFile::stream(uint64_t offset, uint64_t) const {
  return std::make_unique<PlainReadStream>(*this, offset);
}

std::unique_ptr<MappedBytes> ReadableFile::map(uint64_t, uint64_t) const { return nullptr; }

std::unique_ptr<WritableFile> FileSystem::create_large(const std::string& path,
                                                       uint64_t expected_bytes) {
  auto file = std::make_unique<internal::CoalescingFile>(path, create(path));
  const uint64_t free = expected_bytes == 0 ? 0 : free_bytes(path);
  if (expected_bytes <= free) return file;
  file.reset();
  remove_left_over(*this, path);
  internal::throw_no_room(ENOSPC, path, expected_bytes, free);
}

std::string FileSystem::fixed_path(const std::string& path, const WorkingDirectory&) const {
  return path;
}

void FileSystem::sync_file(const std::string& path) {
  static_cast<void>(file_size(path));  // append_to() would make a missing one.
  append_to(path)->sync();
}

void FileSystem::link(const std::string& from, const std::string& to) {
  throw UnimplementedError(
      fmt::format("{}: link to {} failed: this file system has no links", from, to));
}

void FileSystem::clone(const std::string& from, const std::string& to) {
  throw UnimplementedError(
      fmt::format("{}: clone to {} failed: this file system has no reflinks", from, to));
}

void FileSystem::make_symbolic_link(const std::string& target, const std::string& path) {
  throw UnimplementedError(fmt::format(
      "{}: symbolic link to {} failed: this file system has no such links", path, target));
}

std::optional<std::string> FileSystem::read_symbolic_link(const std::string&) {
  return std::nullopt;
}

void remove_left_over(FileSystem& files, const std::string& path) noexcept {
  try {
    if (files.exists(path)) files.remove(path);
  } catch (const std::exception& error) {
    internal::log_lazily(Severity::kWarning, [&] {
      return fmt::format("a leftover was not removed: {}", error.what());
    });
  }
}

bool is_directory(FileSystem& files, const std::string& path) {
  try {
    files.list(path);
    return true;
  } catch (const NotFoundError&) {
    return false;
  }
}

std::unique_ptr<FileLock> try_lock_for(FileSystem& files, const std::string& path,
                                       Clock::Duration limit) {
  constexpr std::chrono::milliseconds kPause(2);
  Clock& clock = Clock::real();
  const Clock::TimePoint end = clock.now() + limit;
  while (true) {
    auto lock = files.try_lock(path);
    if (lock || clock.now() > end) return lock;
    clock.sleep_for(kPause);
  }
}

std::string read_file(FileSystem& files, const std::string& path) {
  const std::unique_ptr<ReadableFile> file = files.open(path);
  std::string content(file->size(), '\0');
  file->read_at(0, std::as_writable_bytes(std::span(content)));
  return content;
}

void replace_file(FileSystem& files, const std::string& path, std::string_view content) {
  const std::string temporary = temporary_path(path);
  try {
    write_durably(files, temporary, content);
    files.rename(temporary, path);
  } catch (...) {
    remove_left_over(files, temporary);
    throw;
  }
  files.sync_directory(directory_of(path));
}

}  // namespace crochet::inline v0
