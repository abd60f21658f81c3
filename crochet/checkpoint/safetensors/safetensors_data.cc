// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/safetensors_data.h"

#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/crc32c.h"

namespace crochet::inline v0::internal {
namespace {

// Size of one read: still in the cache when the checksum is computed.
constexpr size_t kChunkBytes = size_t{1} << 20;

}  // namespace

// Reads an entry's bytes sequentially, and computes the checksum of those read so far.
class SafetensorsData::Input {
 public:
  Input(const SafetensorsFile& file, const StoredTensor& entry, ReadStream& from)
      : file_(file), entry_(entry), from_(from) {}

  void read(std::span<std::byte> destination) {
    while (!destination.empty()) {
      const auto chunk = destination.first(std::min(destination.size(), kChunkBytes));
      if (file_.crcs)
        crc_ = from_.read_with_crc32c(crc_, chunk);
      else
        from_.read(chunk);
      destination = destination.subspan(chunk.size());
    }
  }

  // Throws: DataLossError unless the bytes read so far have the entry's checksum.
  void compare_crc(std::string_view name) const {
    const uint32_t expected = unmask_crc32c(entry_.masked_crc32c);
    if (file_.crcs && crc_ != expected)
      throw DataLossError(
          fmt::format("{}: crc32c of \"{}\" at offset {} is {:08x}, the header says {:08x}",
                      file_.path, name, entry_.offset, crc_, expected));
  }

 private:
  const SafetensorsFile& file_;
  const StoredTensor& entry_;
  ReadStream& from_;
  uint32_t crc_ = 0;
};

// Opening the file has checked everything else.
void SafetensorsData::check_place(const StoredTensor& entry, std::string_view name) const {
  if (entry.dtype != DType::kString) return;
  const auto num_strings = static_cast<uint64_t>(entry.shape.num_elements());
  if (static_cast<uint64_t>(entry.size) / sizeof(uint64_t) < num_strings)
    throw DataLossError(fmt::format("{}: \"{}\" has {} bytes at offset {}, too few for {} strings",
                                    file_of(entry).path, name, entry.size, entry.offset,
                                    num_strings));
}

std::unique_ptr<ReadStream> SafetensorsData::stream(int shard, uint64_t offset,
                                                    uint64_t num_bytes) const {
  return open_->stream(shard, files_[static_cast<size_t>(shard)].path, offset, num_bytes);
}

std::unique_ptr<MappedBytes> SafetensorsData::map(const StoredTensor& entry) const {
  return open_->get(entry.shard, file_of(entry).path)
      ->map(static_cast<uint64_t>(entry.offset), static_cast<uint64_t>(entry.size));
}

void SafetensorsData::read(const StoredTensor& entry, std::string_view name, ReadStream& from,
                           std::span<std::byte> destination) const {
  Input input(file_of(entry), entry, from);
  input.read(destination);
  input.compare_crc(name);
}

std::vector<std::string> SafetensorsData::read_strings(const StoredTensor& entry,
                                                       std::string_view name,
                                                       ReadStream& from) const {
  Input input(file_of(entry), entry, from);
  std::vector<uint64_t> lengths(static_cast<size_t>(entry.shape.num_elements()));
  input.read(std::as_writable_bytes(std::span(lengths)));
  uint64_t left = static_cast<uint64_t>(entry.size) - lengths.size() * sizeof(uint64_t);
  std::vector<std::string> strings;
  for (const uint64_t length : lengths) {
    if (length > left)
      throw DataLossError(fmt::format("{}: \"{}\" at offset {}: a string has {} bytes, {} are left",
                                      file_of(entry).path, name, entry.offset, length, left));
    left -= length;
    input.read(std::as_writable_bytes(std::span(strings.emplace_back(length, '\0'))));
  }
  if (left != 0)
    throw DataLossError(fmt::format("{}: \"{}\" at offset {}: {} bytes after its strings",
                                    file_of(entry).path, name, entry.offset, left));
  input.compare_crc(name);
  return strings;
}

void SafetensorsData::verify(const StoredTensor& entry, std::string_view name,
                             ReadStream& from) const {
  if (entry.dtype == DType::kString) {
    read_strings(entry, name, from);
    return;
  }
  if (!file_of(entry).crcs) return from.skip(static_cast<uint64_t>(entry.size));
  Input input(file_of(entry), entry, from);
  std::vector<std::byte> buffer(std::min(kChunkBytes, static_cast<size_t>(entry.size)));
  for (uint64_t left = static_cast<uint64_t>(entry.size); left > 0;) {
    const auto chunk = std::span(buffer).first(std::min<uint64_t>(buffer.size(), left));
    input.read(chunk);
    left -= chunk.size();
  }
  input.compare_crc(name);
}

}  // namespace crochet::inline v0::internal
