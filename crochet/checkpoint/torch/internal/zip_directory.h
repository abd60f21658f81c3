// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "crochet/io/file_system.h"

namespace crochet::inline v0::internal {

// A zip archive, as far as torch writes it: one file without a comment, in which the directory
// comes last.
//
//   archive := (local-header data data-descriptor?)*  directory-header*  zip64-end?  end
//
// All numbers are little-endian. Sizes beyond 32 bits are in fields of their own (zip64).
inline constexpr size_t kZipLocalHeaderBytes = 30;      // And the name and extra fields.
inline constexpr size_t kZipDirectoryHeaderBytes = 46;  // And the name, extra fields and comment.
inline constexpr size_t kZipEndBytes = 22;
inline constexpr size_t kZip64LocatorBytes = 20;
inline constexpr size_t kZip64EndBytes = 56;

inline constexpr uint32_t kZipLocalHeader = 0x04034b50;
inline constexpr uint32_t kZipDirectoryHeader = 0x02014b50;
inline constexpr uint32_t kZipEnd = 0x06054b50;
inline constexpr uint32_t kZip64Locator = 0x07064b50;
inline constexpr uint32_t kZip64End = 0x06064b50;

// The limit of a directory: about 100 bytes for each of a million entries.
inline constexpr uint64_t kMaxZipDirectoryBytes = 100'000'000;

struct ZipEntry {
  uint64_t offset = 0;  // Of its data, in the file.
  uint64_t size = 0;    // Of its data as stored.
  uint32_t crc32 = 0;
  // Its data is stored as it is: neither compressed nor encrypted.
  bool is_plain = false;
};
using ZipDirectory = std::map<std::string, ZipEntry, std::less<>>;

// Reads the directory and the local headers, which must agree. `path` is for messages.
// Throws: DataLossError for what violates the format, for entries that overlap, reach outside or
// occur twice, and for archives of several files.
ZipDirectory read_zip_directory(const ReadableFile& file, const std::string& path);

// The data of an entry that is small unless it is damaged, after verifying its checksum.
// Throws: DataLossError; UnimplementedError for one that is compressed or encrypted.
std::string read_zip_entry(const ReadableFile& file, const std::string& path, std::string_view name,
                           const ZipEntry& entry, uint64_t max_bytes);

// Throws: UnimplementedError unless entry.is_plain.
void check_plain(const std::string& path, std::string_view name, const ZipEntry& entry);

// Torch can omit the checksums of a file; all of them are then 0.
inline bool has_crc32(const ZipEntry& entry) { return entry.crc32 != 0 || entry.size == 0; }

// Throws: DataLossError unless `found` is the entry's checksum, or it has none.
void check_crc32(uint32_t found, const std::string& path, std::string_view name,
                 const ZipEntry& entry);

}  // namespace crochet::inline v0::internal
