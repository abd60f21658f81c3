// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/bundle_data.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/string_coding.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/strings_input.h"

namespace crochet::inline v0::internal {
namespace {

// The number of bytes swapped as a unit: a complex number consists of two.
size_t component_size(DType dtype) {
  const bool is_complex = dtype == DType::kComplex64 || dtype == DType::kComplex128;
  return element_size(dtype) / (is_complex ? 2 : 1);
}

void reverse_components(std::span<std::byte> bytes, size_t size) {
  for (; size > 1 && !bytes.empty(); bytes = bytes.subspan(size))
    std::ranges::reverse(bytes.first(size));
}

class BundleData final : public TensorSource {
 public:
  BundleData(FileSystem& files, std::string prefix, const BundleHeader& header)
      : TensorSource(std::make_unique<OpenFiles>(files, index_filename(prefix)), "index"),
        prefix_(std::move(prefix)),
        num_shards_(header.num_shards),
        big_endian_(header.big_endian) {}

  std::unique_ptr<MappedBytes> map(const StoredTensor& entry,
                                   std::string_view name) const override {
    if (!is_of_this_order() && component_size(entry.dtype) > 1) return nullptr;
    return TensorSource::map(entry, name);
  }

  void read(const StoredTensor& entry, std::string_view name, ReadStream& from,
            std::span<std::byte> destination) const override {
    TensorSource::read(entry, name, from, destination);
    if (!is_of_this_order()) reverse_components(destination, component_size(entry.dtype));
  }

  std::vector<std::string> read_strings(const StoredTensor& entry, std::string_view name,
                                        ReadStream& from) const override {
    const auto size = static_cast<uint64_t>(entry.size);
    const int64_t num_strings = entry.shape.num_elements();
    StringsInput input(from, size);
    DecodedStringsHead head;
    try {
      head = decode_strings_head(input.peek(max_strings_head_bytes(num_strings)), size, num_strings,
                                 big_endian_);
    } catch (const DataLossError& error) {
      throw DataLossError(fmt::format("{}: \"{}\" at offset {}: {}", path_of(entry.shard), name,
                                      entry.offset, error.what()));
    }
    input.skip(head.num_bytes, head.crc);
    std::vector<std::string> strings;
    strings.reserve(head.lengths.size());
    for (const uint64_t length : head.lengths) input.read(strings.emplace_back(length, '\0'));
    compare_crc(input.crc(), entry, name);
    return strings;
  }

 private:
  std::string path_of(int shard) const override {
    return data_filename(prefix_, shard, num_shards_);
  }
  // Each length has at least one byte, and all lengths together have a checksum.
  bool has_room_for(uint64_t num_strings, uint64_t num_bytes) const override {
    return num_bytes >= num_strings + sizeof(uint32_t);
  }
  bool is_of_this_order() const { return big_endian_ == (std::endian::native == std::endian::big); }

  const std::string prefix_;
  const int num_shards_;
  const bool big_endian_;
};

}  // namespace

std::unique_ptr<TensorSource> bundle_data(FileSystem& files, std::string prefix,
                                          const BundleHeader& header) {
  return std::make_unique<BundleData>(files, std::move(prefix), header);
}

}  // namespace crochet::inline v0::internal
