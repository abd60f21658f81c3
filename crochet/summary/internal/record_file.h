// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// TensorFlow's record file (TFRecord), which holds TensorBoard's events:
//
//   file   := record*
//   record := length:u64le  crc(length):u32le  data:byte*  crc(data):u32le
//
// crc(x) is the masked crc32c of x's bytes; length is the number of data bytes.
inline constexpr size_t kRecordHeaderBytes = 12;
inline constexpr size_t kRecordFooterBytes = 4;
static_assert(kRecordHeaderBytes == sizeof(uint64_t) + sizeof(uint32_t));
static_assert(kRecordFooterBytes == sizeof(uint32_t));

// Appends one framed record to `buffer`.
CROCHET_EXPORT void append_record(std::string& buffer, std::string_view data);

// Appends records to a file, through a buffer.
//
// The destructor discards unflushed records. After an error the end of the file
// is unknown: do not write to it again. Not thread-safe.
class CROCHET_EXPORT RecordWriter {
 public:
  explicit RecordWriter(std::unique_ptr<WritableFile> file);

  // Adds a record to the buffer.
  void write(std::string_view data);
  // Passes the buffer to the file, in one append.
  void flush();
  // Flushes; returns once everything would survive a power cut.
  void sync();

  size_t buffered_bytes() const { return buffer_.size(); }
  // Bytes this writer has appended: an offset between two records.
  uint64_t flushed_bytes() const { return flushed_bytes_; }

 private:
  std::unique_ptr<WritableFile> file_;
  std::string buffer_;
  uint64_t flushed_bytes_ = 0;
};

// Reads records one after another. Trusts no byte: both checksums are
// verified, and memory is allocated only for data that the file really holds.
//
//   RecordReader reader(*file, path);
//   while (const auto data = reader.read()) use(*data);
//
// Not thread-safe.
class CROCHET_EXPORT RecordReader {
 public:
  // `name` names the file in messages. Requires: `file` outlives this.
  RecordReader(const ReadableFile& file, std::string name);

  // The next record's data; unset at the end of the file. After an error, the
  // next call reads the same record again.
  // Throws: DataLossError with offset, found and expected if the record is
  // truncated or damaged.
  std::optional<std::string> read();

  // The offset of the next record.
  uint64_t offset() const { return offset_; }

 private:
  uint64_t read_length() const;

  const ReadableFile& file_;
  std::string name_;
  uint64_t offset_ = 0;
};

}  // namespace crochet::inline v0::internal
