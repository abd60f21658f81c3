// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/internal/safetensors_data.h"

#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/internal/strings_input.h"
#include "crochet/checkpoint/safetensors/internal/packed_elements.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_types.h"

namespace crochet::inline v0::internal {
namespace {

bool is_packed(DType dtype) { return stored_bits(dtype) < 8; }

class SafetensorsData final : public TensorSource {
 public:
  SafetensorsData(std::vector<SafetensorsFile> files, std::unique_ptr<OpenFiles> open)
      : TensorSource(std::move(open), "header"), files_(std::move(files)) {}

  std::unique_ptr<MappedBytes> map(const StoredTensor& entry,
                                   std::string_view name) const override {
    return is_packed(entry.dtype) ? nullptr : TensorSource::map(entry, name);
  }

  void read(const StoredTensor& entry, std::string_view name, ReadStream& from,
            std::span<std::byte> destination) const override {
    if (!is_packed(entry.dtype)) return TensorSource::read(entry, name, from, destination);
    std::vector<std::byte> packed(static_cast<size_t>(entry.size));
    TensorSource::read(entry, name, from, packed);
    unpack_elements(packed, stored_bits(entry.dtype), destination);
  }

  std::vector<std::string> read_strings(const StoredTensor& entry, std::string_view name,
                                        ReadStream& from) const override {
    auto left = static_cast<uint64_t>(entry.size);
    StringsInput input(from, left);
    std::vector<uint64_t> lengths(static_cast<size_t>(entry.shape.num_elements()));
    input.read(std::as_writable_bytes(std::span(lengths)));
    left -= lengths.size() * sizeof(uint64_t);
    std::vector<std::string> strings;
    for (const uint64_t length : lengths) {
      if (length > left)
        throw DataLossError(
            fmt::format("{}: \"{}\" at offset {}: a string has {} bytes, {} are left",
                        path_of(entry.shard), name, entry.offset, length, left));
      left -= length;
      input.read(strings.emplace_back(length, '\0'));
    }
    if (left != 0)
      throw DataLossError(fmt::format("{}: \"{}\" at offset {}: {} bytes after its strings",
                                      path_of(entry.shard), name, entry.offset, left));
    compare_crc(input.crc(), entry, name);
    return strings;
  }

 private:
  std::string path_of(int shard) const override { return file(shard).path; }
  bool has_checksums(int shard) const override { return file(shard).crcs.has_value(); }
  bool has_room_for(uint64_t num_strings, uint64_t num_bytes) const override {
    return num_bytes / sizeof(uint64_t) >= num_strings;
  }
  const SafetensorsFile& file(int shard) const { return files_[static_cast<size_t>(shard)]; }

  const std::vector<SafetensorsFile> files_;
};

}  // namespace

std::unique_ptr<TensorSource> safetensors_data(std::vector<SafetensorsFile> files,
                                               std::unique_ptr<OpenFiles> open) {
  return std::make_unique<SafetensorsData>(std::move(files), std::move(open));
}

}  // namespace crochet::inline v0::internal
