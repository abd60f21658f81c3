// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crochet/checkpoint/torch/internal/zip_directory.h"
#include "crochet/io/internal/crc32.h"

// For tests: zip archives built byte by byte.
namespace crochet::inline v0::internal {

struct RawZipEntry {
  std::string name = {};
  std::string data = {};
  uint32_t crc32 = 0;
  uint16_t method = 0;
  uint16_t flags = 0;
  // The numbers of the directory are in an extra field.
  bool has_zip64 = false;
  // What the directory says, if it contradicts the entry.
  std::optional<std::string> listed_name = {};
  std::optional<uint64_t> listed_size = {};
  std::optional<uint64_t> listed_offset = {};
};

struct RawZip {
  std::vector<RawZipEntry> entries = {};
  bool has_zip64_end = false;

  void add(std::string name, std::string data) {
    const uint32_t crc = extend_crc32(0, std::as_bytes(std::span(data)));
    entries.push_back({.name = std::move(name), .data = std::move(data), .crc32 = crc});
  }

  std::string bytes() const {
    std::string bytes;
    std::vector<uint64_t> offsets;
    for (const RawZipEntry& entry : entries) {
      offsets.push_back(bytes.size());
      append_local(bytes, entry);
    }
    const uint64_t directory = bytes.size();
    for (size_t i = 0; i < entries.size(); ++i) append_listed(bytes, entries[i], offsets[i]);
    append_end(bytes, directory);
    return bytes;
  }

 private:
  static void append(std::string& bytes, uint64_t number, size_t size) {
    for (size_t i = 0; i < size; ++i, number >>= 8) bytes += static_cast<char>(number & 0xff);
  }

  static void append_local(std::string& bytes, const RawZipEntry& entry) {
    append(bytes, kZipLocalHeader, 4);
    append(bytes, 0, 2);
    append(bytes, entry.flags, 2);
    append(bytes, entry.method, 2);
    append(bytes, 0, 4);
    append(bytes, entry.crc32, 4);
    append(bytes, entry.data.size(), 4);
    append(bytes, entry.data.size(), 4);
    append(bytes, entry.name.size(), 2);
    append(bytes, 0, 2);
    bytes += entry.name + entry.data;
  }

  static void append_listed(std::string& bytes, const RawZipEntry& entry, uint64_t offset) {
    const std::string& name = entry.listed_name ? *entry.listed_name : entry.name;
    const uint64_t size = entry.listed_size.value_or(entry.data.size());
    offset = entry.listed_offset.value_or(offset);
    append(bytes, kZipDirectoryHeader, 4);
    append(bytes, 0, 4);
    append(bytes, entry.flags, 2);
    append(bytes, entry.method, 2);
    append(bytes, 0, 4);
    append(bytes, entry.crc32, 4);
    append(bytes, entry.has_zip64 ? ~uint64_t{0} : size, 4);
    append(bytes, entry.has_zip64 ? ~uint64_t{0} : size, 4);
    append(bytes, name.size(), 2);
    append(bytes, entry.has_zip64 ? 4 + 24 : 0, 2);
    append(bytes, 0, 2 + 2 + 2 + 4);
    append(bytes, entry.has_zip64 ? ~uint64_t{0} : offset, 4);
    bytes += name;
    if (!entry.has_zip64) return;
    append(bytes, 1, 2);
    append(bytes, 24, 2);
    for (const uint64_t number : {size, size, offset}) append(bytes, number, 8);
  }

  void append_end(std::string& bytes, uint64_t directory) const {
    const uint64_t end = bytes.size();
    if (has_zip64_end) {
      append(bytes, kZip64End, 4);
      append(bytes, kZip64EndBytes - 12, 8);
      append(bytes, 0, 2 + 2 + 4 + 4);
      for (const uint64_t number : {entries.size(), entries.size(), end - directory, directory})
        append(bytes, number, 8);
      append(bytes, kZip64Locator, 4);
      append(bytes, 0, 4);
      append(bytes, end, 8);
      append(bytes, 1, 4);
    }
    append(bytes, kZipEnd, 4);
    append(bytes, 0, 4);
    append(bytes, has_zip64_end ? ~uint64_t{0} : entries.size(), 2);
    append(bytes, has_zip64_end ? ~uint64_t{0} : entries.size(), 2);
    append(bytes, has_zip64_end ? ~uint64_t{0} : end - directory, 4);
    append(bytes, has_zip64_end ? ~uint64_t{0} : directory, 4);
    append(bytes, 0, 2);
  }
};

}  // namespace crochet::inline v0::internal
