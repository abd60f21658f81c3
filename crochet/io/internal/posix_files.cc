// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/posix_files.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/blocked_signal.h"
#include "crochet/io/internal/errno_error.h"

namespace crochet::inline v0::internal {
namespace {

class MappedPages final : public MappedBytes {
 public:
  // Takes ownership of the pages, if any; the requested bytes begin at `begin`.
  MappedPages(void* pages, size_t size, size_t begin) : pages_(pages), size_(size), begin_(begin) {}
  ~MappedPages() override {
    if (size_ > 0) ::munmap(pages_, size_);
  }
  MappedPages(const MappedPages&) = delete;
  MappedPages& operator=(const MappedPages&) = delete;

  std::span<const std::byte> bytes() const override {
    return std::span(static_cast<const std::byte*>(pages_), size_).subspan(begin_);
  }

 private:
  void* const pages_;
  const size_t size_;
  const size_t begin_;
};

}  // namespace

PosixWritableFile::PosixWritableFile(const FilePlace& place, OpenFor purpose)
    : state_(place.path), file_(open_file(place, purpose)) {}

PosixWritableFile::PosixWritableFile(const std::string& path, FileDescriptor file,
                                     uint64_t reserved_bytes)
    : state_(path), file_(std::move(file)), reserved_bytes_(reserved_bytes) {}

void PosixWritableFile::append(std::span<const std::byte> data) {
  const BlockedSignal no_signal(SIGXFSZ);
  state_.run("append", [&] {
    while (!data.empty()) {
      const ssize_t written =
          retry_interrupted([&] { return ::write(file_.get(), data.data(), data.size()); });
      if (written < 0) throw_errno(errno, state_.path(), "write");
      data = data.subspan(static_cast<size_t>(written));
    }
  });
}

void PosixWritableFile::sync() {
  state_.run("sync", [&] {
    release_surplus();
    // fdatasync includes the length; only times may be lost.
    if (retry_interrupted([&] { return ::fdatasync(file_.get()); }) != 0)
      throw_errno(errno, state_.path(), "fdatasync");
  });
}

void PosixWritableFile::close() {
  if (!state_.is_dead() && !state_.is_closed()) state_.run("close", [&] { release_surplus(); });
  state_.close();
  file_.close(state_.path());
}

void PosixWritableFile::release_surplus() {
  if (std::exchange(reserved_bytes_, 0) == 0) return;
  const off_t length = ::lseek(file_.get(), 0, SEEK_CUR);
  // Truncating to the current length releases the blocks reserved beyond it.
  if (length < 0 || retry_interrupted([&] { return ::ftruncate(file_.get(), length); }) != 0)
    throw_errno(errno, state_.path(), "truncate");
}

PosixReadableFile::PosixReadableFile(const FilePlace& place, PosixStreams& streams)
    : path_(place.path),
      file_(open_file(place, OpenFor::kReading)),
      streams_(streams),
      rings_(streams.rings()) {}

uint64_t PosixReadableFile::size() const {
  struct stat status;
  if (::fstat(file_.get(), &status) != 0) fail("fstat");
  return static_cast<uint64_t>(status.st_size);
}

bool PosixReadableFile::is_own() const {
  struct stat status;
  if (::fstat(file_.get(), &status) != 0) fail("fstat");
  return status.st_uid == 0 || status.st_uid == ::geteuid();
}

// The number of blocks is quick to get, but some file systems do not report it, or compress their
// data: a file counts as having holes only if they are found.
uint64_t PosixReadableFile::stored_bytes() const {
  constexpr uint64_t kBlockBytes = 512;  // Unit of st_blocks, on every file system.
  constexpr int kMaxExtents = 100'000;   // Files with more are taken to have no holes.
  struct stat status;
  if (::fstat(file_.get(), &status) != 0) fail("fstat");
  const auto size = static_cast<uint64_t>(status.st_size);
  if (static_cast<uint64_t>(status.st_blocks) * kBlockBytes >= size) return size;
  uint64_t stored = 0;
  off_t end = 0;
  for (int i = 0; i < kMaxExtents; ++i) {
    const off_t begin = ::lseek(file_.get(), end, SEEK_DATA);
    if (begin < 0) return errno == ENXIO ? stored : size;
    end = ::lseek(file_.get(), begin, SEEK_HOLE);
    if (end < 0) return size;
    stored += static_cast<uint64_t>(end - begin);
  }
  return size;
}

void PosixReadableFile::fail(std::string_view operation) const {
  const int error = errno;
  if (error == ESTALE)
    throw UnavailableError(fmt::format(
        "{}: {} failed: another machine replaced or removed the file", path_, operation));
  throw_errno(error, path_, operation);
}

void PosixReadableFile::read_at(uint64_t offset, std::span<std::byte> destination) const {
  // No file extends beyond off_t, and pread would report EINVAL.
  if (offset > static_cast<uint64_t>(INT64_MAX) - destination.size())
    throw_short_file(path_, offset, destination.size(), size());
  std::span<std::byte> rest = destination;
  while (!rest.empty()) {
    const auto place = static_cast<off_t>(offset + (destination.size() - rest.size()));
    const ssize_t count =
        retry_interrupted([&] { return ::pread(file_.get(), rest.data(), rest.size(), place); });
    if (count < 0) fail("read");
    if (count == 0) throw_short_file(path_, offset, destination.size(), size());
    rest = rest.subspan(static_cast<size_t>(count));
  }
}

std::unique_ptr<ReadStream> PosixReadableFile::stream(uint64_t offset, uint64_t num_bytes) const {
  return streams_.open(*this, file_.get(), path_, rings_, offset, num_bytes);
}

std::unique_ptr<MappedBytes> PosixReadableFile::map(uint64_t offset, uint64_t num_bytes) const {
  const uint64_t file_size = size();
  if (offset > file_size || num_bytes > file_size - offset)
    throw_short_file(path_, offset, num_bytes, file_size);
  // mmap refuses a length of 0.
  if (num_bytes == 0) return std::make_unique<MappedPages>(nullptr, 0, 0);
  const size_t begin = offset % static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const size_t size = begin + num_bytes;
  void* const pages =
      ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.get(), static_cast<off_t>(offset - begin));
  if (pages == MAP_FAILED) return nullptr;
  ::madvise(pages, size, MADV_SEQUENTIAL);  // A hint only.
  return std::make_unique<MappedPages>(pages, size, begin);
}

}  // namespace crochet::inline v0::internal
