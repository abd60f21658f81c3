// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/record_file.h"

#include <span>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::internal {
namespace {

// An event is a protobuf message, which is smaller than 2 GiB.
constexpr uint64_t kMaxRecordBytes = (uint64_t{1} << 31) - 1;

template <typename Unsigned>
void append_little_endian(std::string& buffer, Unsigned value) {
  for (size_t i = 0; i < sizeof(value); ++i) buffer += static_cast<char>(value >> (8 * i));
}

template <typename Unsigned>
Unsigned little_endian(std::string_view bytes) {
  Unsigned value = 0;
  for (size_t i = 0; i < sizeof(value); ++i)
    value |= static_cast<Unsigned>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  return value;
}

std::string read_bytes(const ReadableFile& file, uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  file.read_at(offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace

void append_record(std::string& buffer, std::string_view data) {
  std::string length;
  append_little_endian(length, static_cast<uint64_t>(data.size()));
  buffer += length;
  append_little_endian(buffer, mask_crc32c(crc32c(length)));
  buffer += data;
  append_little_endian(buffer, mask_crc32c(crc32c(data)));
}

RecordWriter::RecordWriter(std::unique_ptr<WritableFile> file) : file_(std::move(file)) {}

void RecordWriter::write(std::string_view data) { append_record(buffer_, data); }

void RecordWriter::flush() {
  if (buffer_.empty()) return;
  file_->append(std::string_view(buffer_));
  flushed_bytes_ += buffer_.size();
  buffer_.clear();
}

void RecordWriter::sync() {
  flush();
  file_->sync();
}

RecordReader::RecordReader(const ReadableFile& file, std::string name)
    : file_(file), name_(std::move(name)) {}

std::optional<std::string> RecordReader::read() {
  if (offset_ == file_.size()) return std::nullopt;
  const uint64_t length = read_length();
  const uint64_t data_offset = offset_ + kRecordHeaderBytes;
  std::string data = read_bytes(file_, data_offset, length + kRecordFooterBytes);

  const auto expected = little_endian<uint32_t>(std::string_view(data).substr(length));
  data.resize(length);
  const uint32_t found = mask_crc32c(crc32c(data));
  if (found != expected)
    throw DataLossError(
        fmt::format("{}: masked crc32c of the {} bytes at offset {}: found {:08x}, expected {:08x}",
                    name_, length, data_offset, found, expected));
  offset_ = data_offset + length + kRecordFooterBytes;
  return data;
}

uint64_t RecordReader::read_length() const {
  const uint64_t left = file_.size() - offset_;
  if (left < kRecordHeaderBytes)
    throw DataLossError(
        fmt::format("{}: the record at offset {} is truncated: found {} of {} header bytes", name_,
                    offset_, left, kRecordHeaderBytes));
  const std::string header = read_bytes(file_, offset_, kRecordHeaderBytes);
  const std::string_view length_bytes = std::string_view(header).substr(0, sizeof(uint64_t));
  const auto expected = little_endian<uint32_t>(std::string_view(header).substr(sizeof(uint64_t)));
  const uint32_t found = mask_crc32c(crc32c(length_bytes));
  if (found != expected)
    throw DataLossError(
        fmt::format("{}: masked crc32c of the length at offset {}: found {:08x}, expected {:08x}",
                    name_, offset_, found, expected));

  const auto length = little_endian<uint64_t>(length_bytes);
  const uint64_t behind_header = left - kRecordHeaderBytes;
  if (behind_header < kRecordFooterBytes || length > behind_header - kRecordFooterBytes)
    throw DataLossError(fmt::format(
        "{}: the record at offset {} is truncated: expected {} data bytes and a {}-byte checksum, "
        "{} "
        "bytes are left",
        name_, offset_, length, kRecordFooterBytes, behind_header));
  if (length > kMaxRecordBytes)
    throw DataLossError(
        fmt::format("{}: the record at offset {}: found {} bytes, expected at most {}", name_,
                    offset_, length, kMaxRecordBytes));
  return length;
}

}  // namespace crochet::inline v0::internal
