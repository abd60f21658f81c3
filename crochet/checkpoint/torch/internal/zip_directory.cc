// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/zip_directory.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32.h"

namespace crochet::inline v0::internal {
namespace {

constexpr uint16_t kEncrypted = 1 << 0;
// The local header has no sizes and no checksum; they follow the data.
constexpr uint16_t kHasDescriptor = 1 << 3;
constexpr uint16_t kStored = 0;
constexpr uint16_t kZip64Extra = 1;
constexpr uint32_t kInZip64 = std::numeric_limits<uint32_t>::max();
constexpr uint16_t kInZip64Short = std::numeric_limits<uint16_t>::max();

// Requires: the number is within the bytes.
template <typename T>
T number_at(std::string_view bytes, size_t offset) {
  T number = 0;
  for (size_t i = sizeof(T); i-- > 0;)
    number = static_cast<T>(uint64_t{number} << 8 | static_cast<unsigned char>(bytes[offset + i]));
  return number;
}
uint16_t u16(std::string_view bytes, size_t offset) { return number_at<uint16_t>(bytes, offset); }
uint32_t u32(std::string_view bytes, size_t offset) { return number_at<uint32_t>(bytes, offset); }
uint64_t u64(std::string_view bytes, size_t offset) { return number_at<uint64_t>(bytes, offset); }

std::string read_part(const ReadableFile& file, uint64_t offset, uint64_t size) {
  std::string bytes(size, '\0');
  file.read_at(offset, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

// The location of the directory.
struct DirectoryPlace {
  uint64_t num_entries;
  uint64_t size;
  uint64_t offset;
};

// One entry as the directory describes it.
struct Listed {
  std::string_view name;
  uint16_t flags;
  uint16_t method;
  uint32_t crc32;
  uint64_t compressed_size;
  uint64_t size;
  uint64_t header_offset;
};

class DirectoryReader {
 public:
  DirectoryReader(const ReadableFile& file, const std::string& path) : file_(file), path_(path) {}

  ZipDirectory read() {
    const DirectoryPlace place = find_directory();
    if (place.size > kMaxZipDirectoryBytes)
      fail(fmt::format("the zip directory has {} bytes, expected at most {}", place.size,
                       kMaxZipDirectoryBytes));
    const std::string bytes = read_part(file_, place.offset, place.size);
    const std::vector<Listed> listed = parse(bytes, place);
    ZipDirectory directory;
    uint64_t end = 0;
    for (const Listed& each : listed) {
      if (each.header_offset < end)
        fail(
            fmt::format("the zip entry \"{}\" at offset {} overlaps the one before it, which ends "
                        "at {}",
                        each.name, each.header_offset, end));
      const ZipEntry entry = located(each, place.offset);
      end = entry.offset + entry.size;
      if (!directory.emplace(each.name, entry).second)
        fail(fmt::format("the zip entry \"{}\" occurs twice", each.name));
    }
    return directory;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    throw DataLossError(fmt::format("{}: {}", path_, what));
  }

  DirectoryPlace find_directory() const {
    const uint64_t size = file_.size();
    if (size < kZipEndBytes)
      fail(fmt::format("found {} bytes, expected a zip archive: at least {}", size, kZipEndBytes));
    const uint64_t end_offset = size - kZipEndBytes;
    const std::string end = read_part(file_, end_offset, kZipEndBytes);
    if (u32(end, 0) != kZipEnd || u16(end, 20) != 0)
      fail("does not end with the end of a zip archive: it is truncated, or not a file of torch");
    DirectoryPlace place{u16(end, 10), u32(end, 12), u32(end, 16)};
    bool is_one_file = u16(end, 4) == 0 && u16(end, 6) == 0 && u16(end, 8) == u16(end, 10);
    uint64_t directory_end = end_offset;
    if (const auto place64 = find_zip64(end_offset)) {
      const bool agrees =
          (place.num_entries == kInZip64Short || place.num_entries == place64->num_entries) &&
          (place.size == kInZip64 || place.size == place64->size) &&
          (place.offset == kInZip64 || place.offset == place64->offset);
      is_one_file = is_one_file && agrees;
      place = *place64;
      directory_end -= kZip64LocatorBytes + kZip64EndBytes;
    }
    if (!is_one_file)
      fail("the end of the zip archive contradicts itself, or belongs to several files");
    if (place.offset > directory_end || place.size != directory_end - place.offset)
      fail(fmt::format("the zip directory has {} bytes at offset {}, expected to end at {}",
                       place.size, place.offset, directory_end));
    if (place.num_entries > place.size / kZipDirectoryHeaderBytes)
      fail(fmt::format("the zip directory has {} entries in {} bytes", place.num_entries,
                       place.size));
    return place;
  }

  // Unset if the end has no part for zip64.
  std::optional<DirectoryPlace> find_zip64(uint64_t end_offset) const {
    if (end_offset < kZip64LocatorBytes + kZip64EndBytes) return std::nullopt;
    const uint64_t offset = end_offset - kZip64LocatorBytes - kZip64EndBytes;
    const std::string bytes = read_part(file_, offset, kZip64EndBytes + kZip64LocatorBytes);
    const std::string_view end = std::string_view(bytes).substr(0, kZip64EndBytes);
    const std::string_view locator = std::string_view(bytes).substr(kZip64EndBytes);
    if (u32(locator, 0) != kZip64Locator) return std::nullopt;
    constexpr uint64_t kSizeAfterItself = kZip64EndBytes - 12;
    if (u32(locator, 4) != 0 || u64(locator, 8) != offset || u32(locator, 16) != 1 ||
        u32(end, 0) != kZip64End || u64(end, 4) != kSizeAfterItself || u32(end, 16) != 0 ||
        u32(end, 20) != 0 || u64(end, 24) != u64(end, 32))
      fail(fmt::format("the zip64 end at offset {} is invalid", offset));
    return DirectoryPlace{u64(end, 32), u64(end, 40), u64(end, 48)};
  }

  // The entries in the order of the file.
  std::vector<Listed> parse(std::string_view bytes, const DirectoryPlace& place) const {
    std::vector<Listed> listed;
    size_t at = 0;
    for (uint64_t i = 0; i < place.num_entries; ++i) listed.push_back(parse_one(bytes, at, place));
    if (at != bytes.size())
      fail(fmt::format("the zip directory has {} bytes after its {} entries", bytes.size() - at,
                       place.num_entries));
    std::ranges::stable_sort(listed, {}, &Listed::header_offset);
    return listed;
  }

  Listed parse_one(std::string_view bytes, size_t& at, const DirectoryPlace& place) const {
    const std::string_view header = bytes.substr(at);
    if (header.size() < kZipDirectoryHeaderBytes || u32(header, 0) != kZipDirectoryHeader)
      fail(fmt::format("there is no zip directory header at offset {}", place.offset + at));
    const size_t name_size = u16(header, 28), extra_size = u16(header, 30);
    const size_t size = kZipDirectoryHeaderBytes + name_size + extra_size + u16(header, 32);
    if (header.size() < size)
      fail(fmt::format("the zip directory header at offset {} has {} bytes, {} are left",
                       place.offset + at, size, header.size()));
    at += size;
    Listed listed{.name = header.substr(kZipDirectoryHeaderBytes, name_size),
                  .flags = u16(header, 8),
                  .method = u16(header, 10),
                  .crc32 = u32(header, 16),
                  .compressed_size = u32(header, 20),
                  .size = u32(header, 24),
                  .header_offset = u32(header, 42)};
    apply_zip64(header.substr(kZipDirectoryHeaderBytes + name_size, extra_size), listed);
    if (listed.method == kStored && listed.compressed_size != listed.size)
      fail(fmt::format("the zip entry \"{}\" is stored, but has {} bytes in {}", listed.name,
                       listed.size, listed.compressed_size));
    return listed;
  }

  // Sets the fields whose numbers are in the extra fields.
  void apply_zip64(std::string_view extra, Listed& listed) const {
    std::vector<uint64_t*> fields;
    for (uint64_t* field : {&listed.size, &listed.compressed_size, &listed.header_offset})
      if (*field == kInZip64) fields.push_back(field);
    while (!fields.empty()) {
      constexpr size_t kHeadBytes = 4;
      if (extra.size() < kHeadBytes || extra.size() - kHeadBytes < u16(extra, 2))
        fail(fmt::format("the zip entry \"{}\" has no valid zip64 field", listed.name));
      const std::string_view content = extra.substr(kHeadBytes, u16(extra, 2));
      if (u16(extra, 0) == kZip64Extra) {
        if (content.size() < fields.size() * sizeof(uint64_t))
          fail(fmt::format("the zip entry \"{}\" has a zip64 field of {} bytes", listed.name,
                           content.size()));
        for (size_t i = 0; i < fields.size(); ++i) *fields[i] = u64(content, i * sizeof(uint64_t));
        return;
      }
      extra.remove_prefix(kHeadBytes + content.size());
    }
  }

  // The entry, after comparing its local header.
  ZipEntry located(const Listed& listed, uint64_t directory_offset) const {
    const auto fail_header = [&](std::string_view what) {
      fail(fmt::format("the zip entry \"{}\" at offset {} {}", listed.name, listed.header_offset,
                       what));
    };
    const uint64_t head_size = kZipLocalHeaderBytes + listed.name.size();
    if (listed.header_offset > directory_offset ||
        directory_offset - listed.header_offset < head_size)
      fail_header("is outside the file");
    const std::string head = read_part(file_, listed.header_offset, head_size);
    if (u32(head, 0) != kZipLocalHeader || u16(head, 6) != listed.flags ||
        u16(head, 8) != listed.method || u16(head, 26) != listed.name.size() ||
        std::string_view(head).substr(kZipLocalHeaderBytes) != listed.name)
      fail_header("has another name or type in its header than in the directory");
    const auto differs = [&](size_t offset, uint64_t size) {
      return u32(head, offset) != kInZip64 && u32(head, offset) != size;
    };
    if ((listed.flags & kHasDescriptor) == 0 &&
        (u32(head, 14) != listed.crc32 || differs(18, listed.compressed_size) ||
         differs(22, listed.size)))
      fail_header("has another size or checksum in its header than in the directory");
    const uint64_t offset = listed.header_offset + head_size + u16(head, 28);
    if (offset > directory_offset || listed.compressed_size > directory_offset - offset)
      fail_header(fmt::format("has {} bytes, but the directory begins at {}",
                              listed.compressed_size, directory_offset));
    return {.offset = offset,
            .size = listed.compressed_size,
            .crc32 = listed.crc32,
            .is_plain = listed.method == kStored && (listed.flags & kEncrypted) == 0};
  }

  const ReadableFile& file_;
  const std::string& path_;
};

}  // namespace

ZipDirectory read_zip_directory(const ReadableFile& file, const std::string& path) {
  return DirectoryReader(file, path).read();
}

void check_plain(const std::string& path, std::string_view name, const ZipEntry& entry) {
  if (!entry.is_plain)
    throw UnimplementedError(fmt::format(
        "{}: the zip entry \"{}\" is compressed or encrypted, expected stored", path, name));
}

void check_crc32(uint32_t found, const std::string& path, std::string_view name,
                 const ZipEntry& entry) {
  if (has_crc32(entry) && found != entry.crc32)
    throw DataLossError(
        fmt::format("{}: crc32 of the zip entry \"{}\" at offset {} is {:08x}, the directory says "
                    "{:08x}",
                    path, name, entry.offset, found, entry.crc32));
}

std::string read_zip_entry(const ReadableFile& file, const std::string& path, std::string_view name,
                           const ZipEntry& entry, uint64_t max_bytes) {
  check_plain(path, name, entry);
  if (entry.size > max_bytes)
    throw DataLossError(fmt::format("{}: the zip entry \"{}\" has {} bytes, expected at most {}",
                                    path, name, entry.size, max_bytes));
  std::string bytes = read_part(file, entry.offset, entry.size);
  check_crc32(extend_crc32(0, std::as_bytes(std::span(bytes))), path, name, entry);
  return bytes;
}

}  // namespace crochet::inline v0::internal
