// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/bundle_data.h"

#include <algorithm>
#include <bit>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/string_coding.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/io/crc32c.h"
#include "crochet/io/untrusted_file.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0::internal {
namespace {

// Size of one read: still in the cache when the checksum is computed.
constexpr size_t kChunkBytes = size_t{1} << 20;

constexpr uint64_t kMinStringsBytes = sizeof(uint32_t);

// The number of bytes swapped as a unit: a complex number consists of two.
size_t component_size(DType dtype) {
  const bool is_complex = dtype == DType::kComplex64 || dtype == DType::kComplex128;
  return element_size(dtype) / (is_complex ? 2 : 1);
}

void reverse_components(std::span<std::byte> bytes, size_t size) {
  for (; size > 1 && !bytes.empty(); bytes = bytes.subspan(size))
    std::ranges::reverse(bytes.first(size));
}

// Reads the bytes of a stream sequentially; short pieces go through a buffer.
class Input {
 public:
  Input(ReadStream& source, uint64_t size) : source_(source), num_left_(size) {}

  // The first `size` bytes, or all if there are fewer. Requires: nothing was read before.
  std::span<const std::byte> peek(uint64_t size) {
    fill(size);
    return buffer_;
  }
  // Requires: `size` bytes were peeked at.
  void skip(size_t size) { used_ += size; }

  // Requires: enough bytes are left.
  void read(std::span<std::byte> to) {
    while (!to.empty()) {
      if (used_ == buffer_.size()) fill(kChunkBytes);
      const size_t size = std::min(to.size(), buffer_.size() - used_);
      std::copy_n(buffer_.begin() + static_cast<ptrdiff_t>(used_), size, to.begin());
      used_ += size;
      to = to.subspan(size);
    }
  }

 private:
  void fill(uint64_t size) {
    buffer_.resize(std::min(size, num_left_));
    source_.read(buffer_);
    num_left_ -= buffer_.size();
    used_ = 0;
  }

  ReadStream& source_;
  uint64_t num_left_;
  std::vector<std::byte> buffer_;
  size_t used_ = 0;
};

}  // namespace

template <typename Use>
auto BundleData::with_file(int shard, const Use& use) const {
  const std::string path = data_filename(prefix_, shard, header_.num_shards);
  try {
    return use(path);
  } catch (const NotFoundError&) {
    throw DataLossError(
        fmt::format("{}: there is no such file, {} needs it", path, index_filename(prefix_)));
  }
}

std::string BundleData::filename(const StoredTensor& entry) const {
  return data_filename(prefix_, entry.shard, header_.num_shards);
}

void BundleData::check_place(const StoredTensor& entry, std::string_view name) const {
  const uint64_t file_size = with_file(
      entry.shard, [&](const std::string& path) { return open_.size(entry.shard, path); });
  const auto offset = static_cast<uint64_t>(entry.offset);
  const auto size = static_cast<uint64_t>(entry.size);
  if (offset > file_size || size > file_size - offset)
    throw DataLossError(fmt::format("{}: \"{}\" has {} bytes at offset {}, the file ends at {}",
                                    filename(entry), name, size, offset, file_size));
  // Each string has a length of at least one byte, and all lengths together have a checksum.
  if (entry.dtype == DType::kString &&
      (size < kMinStringsBytes ||
       size - kMinStringsBytes < static_cast<uint64_t>(entry.shape.num_elements())))
    throw DataLossError(fmt::format("{}: \"{}\" has {} bytes at offset {}, too few for {} strings",
                                    filename(entry), name, size, offset,
                                    entry.shape.num_elements()));
}

std::unique_ptr<ReadStream> BundleData::stream(int shard, uint64_t offset,
                                               uint64_t num_bytes) const {
  return with_file(
      shard, [&](const std::string& path) { return open_.stream(shard, path, offset, num_bytes); });
}

bool BundleData::is_of_this_order() const {
  return header_.big_endian == (std::endian::native == std::endian::big);
}

std::unique_ptr<MappedBytes> BundleData::map(const StoredTensor& entry) const {
  if (!is_of_this_order() && component_size(entry.dtype) > 1) return nullptr;
  return with_file(entry.shard, [&](const std::string& path) {
    return open_.get(entry.shard, path)
        ->map(static_cast<uint64_t>(entry.offset), static_cast<uint64_t>(entry.size));
  });
}

void BundleData::read(const StoredTensor& entry, std::string_view name, ReadStream& from,
                      std::span<std::byte> destination) const {
  compare_crc(from.read_with_crc32c(0, destination), entry, name);
  if (!is_of_this_order()) reverse_components(destination, component_size(entry.dtype));
}

void BundleData::verify(const StoredTensor& entry, std::string_view name, ReadStream& from) const {
  if (entry.dtype == DType::kString) {
    read_strings(entry, name, from);
    return;
  }
  const auto size = static_cast<uint64_t>(entry.size);
  std::vector<std::byte> buffer(std::min<uint64_t>(kChunkBytes, size));
  uint32_t crc = 0;
  for (uint64_t done = 0; done < size; done += buffer.size()) {
    buffer.resize(std::min<uint64_t>(buffer.size(), size - done));
    crc = from.read_with_crc32c(crc, buffer);
  }
  compare_crc(crc, entry, name);
}

std::vector<std::string> BundleData::read_strings(const StoredTensor& entry, std::string_view name,
                                                  ReadStream& from) const {
  const auto size = static_cast<uint64_t>(entry.size);
  const int64_t num_strings = entry.shape.num_elements();
  Input input(from, size);
  DecodedStringsHead head;
  try {
    head = decode_strings_head(input.peek(max_strings_head_bytes(num_strings)), size, num_strings,
                               header_.big_endian);
  } catch (const DataLossError& error) {
    throw DataLossError(fmt::format("{}: \"{}\" at offset {}: {}", filename(entry), name,
                                    entry.offset, error.what()));
  }
  input.skip(head.num_bytes);
  std::vector<std::string> strings;
  strings.reserve(head.lengths.size());
  uint32_t crc = head.crc;
  for (const uint64_t length : head.lengths) {
    std::string& string = strings.emplace_back(length, '\0');
    std::span<std::byte> rest = std::as_writable_bytes(std::span(string));
    while (!rest.empty()) {
      const auto chunk = rest.first(std::min(rest.size(), kChunkBytes));
      input.read(chunk);
      crc = extend_crc32c(crc, chunk);
      rest = rest.subspan(chunk.size());
    }
  }
  compare_crc(crc, entry, name);
  return strings;
}

void BundleData::compare_crc(uint32_t found, const StoredTensor& entry,
                             std::string_view name) const {
  const uint32_t expected = unmask_crc32c(entry.masked_crc32c);
  if (found != expected)
    throw DataLossError(
        fmt::format("{}: crc32c of \"{}\" at offset {} is {:08x}, the index says {:08x}",
                    filename(entry), name, entry.offset, found, expected));
}

}  // namespace crochet::inline v0::internal
