// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "crochet/io/file_system.h"
#include "crochet/io/internal/file_descriptor.h"
#include "crochet/io/internal/file_place.h"
#include "crochet/io/internal/open_file.h"
#include "crochet/io/internal/posix_streams.h"
#include "crochet/io/internal/writable_state.h"

namespace crochet::inline v0::internal {

// A file of the operating system, written at the offset of its descriptor.
class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(const FilePlace& place, OpenFor purpose);
  // Takes an open file with room reserved for its first bytes; sync() or close() releases the part
  // that is not used.
  PosixWritableFile(const std::string& path, FileDescriptor file, uint64_t reserved_bytes);

  using WritableFile::append;
  void append(std::span<const std::byte> data) override;
  void sync() override;
  void close() override;

 private:
  void release_surplus();

  WritableState state_;
  FileDescriptor file_;
  uint64_t reserved_bytes_ = 0;
};

// A file of the operating system, for reading at any offset.
class PosixReadableFile final : public ReadableFile {
 public:
  explicit PosixReadableFile(const FilePlace& place,
                             PosixStreams& streams = PosixStreams::shared());

  explicit PosixReadableFile(const std::string& path,
                             PosixStreams& streams = PosixStreams::shared())
      : PosixReadableFile(FilePlace{path, path}, streams) {}

  uint64_t size() const override;
  bool is_own() const override;
  uint64_t stored_bytes() const override;
  void read_at(uint64_t offset, std::span<std::byte> destination) const override;
  std::unique_ptr<ReadStream> stream(uint64_t offset, uint64_t num_bytes) const override;
  std::unique_ptr<MappedBytes> map(uint64_t offset, uint64_t num_bytes) const override;

 private:
  // Throws the error of a call that has just failed.
  [[noreturn]] void fail(std::string_view operation) const;

  std::string path_;
  FileDescriptor file_;
  PosixStreams& streams_;  // Not owned.
  std::shared_ptr<IoRingPool> rings_;
};

}  // namespace crochet::inline v0::internal
