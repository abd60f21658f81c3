// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/tensor_source.h"

#include <algorithm>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::internal {

void TensorSource::check_place(const StoredTensor& entry, std::string_view name) const {
  const uint64_t file_size = open_->size(entry.shard, [&] { return path_of(entry.shard); });
  const auto offset = static_cast<uint64_t>(entry.offset);
  const auto size = static_cast<uint64_t>(entry.size);
  if (offset > file_size || size > file_size - offset)
    throw DataLossError(fmt::format("{}: \"{}\" has {} bytes at offset {}, the file ends at {}",
                                    path_of(entry.shard), name, size, offset, file_size));
  if (entry.dtype != DType::kString) return;
  const auto num_strings = static_cast<uint64_t>(entry.shape.num_elements());
  if (!has_room_for(num_strings, size))
    throw DataLossError(fmt::format("{}: \"{}\" has {} bytes at offset {}, too few for {} strings",
                                    path_of(entry.shard), name, size, offset, num_strings));
}

std::unique_ptr<ReadStream> TensorSource::stream(int shard, uint64_t offset,
                                                 uint64_t num_bytes) const {
  return open_->stream(shard, path_of(shard), offset, num_bytes);
}

std::unique_ptr<MappedBytes> TensorSource::map(const StoredTensor& entry, std::string_view) const {
  return open_->get(entry.shard, path_of(entry.shard))
      ->map(static_cast<uint64_t>(entry.offset), static_cast<uint64_t>(entry.size));
}

std::shared_ptr<const ReadableFile> TensorSource::open_file(int shard) const {
  return open_->get(shard, path_of(shard));
}

void TensorSource::read(const StoredTensor& entry, std::string_view name, ReadStream& from,
                        std::span<std::byte> destination) const {
  if (has_checksums(entry.shard))
    compare_crc(from.read_with_crc32c(0, destination), entry, name);
  else
    from.read(destination);
}

void TensorSource::verify(const StoredTensor& entry, std::string_view name,
                          ReadStream& from) const {
  // Size of one read: still in the cache when the checksum is computed.
  constexpr uint64_t kChunkBytes = uint64_t{1} << 20;
  if (entry.dtype == DType::kString) {
    read_strings(entry, name, from);
    return;
  }
  auto left = static_cast<uint64_t>(entry.size);
  if (!has_checksums(entry.shard)) return from.skip(left);
  std::vector<std::byte> buffer(std::min(kChunkBytes, left));
  uint32_t crc = 0;
  for (; left > 0; left -= buffer.size()) {
    buffer.resize(std::min<uint64_t>(buffer.size(), left));
    crc = from.read_with_crc32c(crc, buffer);
  }
  compare_crc(crc, entry, name);
}

void TensorSource::compare_crc(uint32_t found, const StoredTensor& entry,
                               std::string_view name) const {
  const uint32_t expected = unmask_crc32c(entry.masked_crc32c);
  if (has_checksums(entry.shard) && found != expected)
    throw DataLossError(
        fmt::format("{}: crc32c of \"{}\" at offset {} is {:08x}, the {} says {:08x}",
                    path_of(entry.shard), name, entry.offset, found, crcs_are_in_, expected));
}

}  // namespace crochet::inline v0::internal
