// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/safetensors/internal/packed_elements.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_format.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_index.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_notes.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
// The information about a tensor that the header needs.
struct HeaderEntry {
  Shape shape;
  uint64_t num_bytes;
  uint32_t crc;

  friend bool operator==(const HeaderEntry&, const HeaderEntry&) = default;
};

namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

// Small tensors are buffered up to this size.
constexpr size_t kChunkBytes = size_t{1} << 20;

// Calls `take(bytes)` for packed elements of less than a byte.
template <typename Take>
void for_each_packed_part(std::span<const std::byte> elements, unsigned bits, Take take) {
  constexpr size_t kNumElements = size_t{1} << 16;  // Whole bytes of any number of bits.
  std::vector<std::byte> packed;
  while (!elements.empty()) {
    const auto some = elements.first(std::min(kNumElements, elements.size()));
    packed.resize(some.size() * bits / 8);
    pack_elements(some, bits, packed);
    take(std::span<const std::byte>(packed));
    elements = elements.subspan(some.size());
  }
}

// Calls `take(bytes)` for the parts of a tensor's stored bytes:
// strings := length:u64le* byte*
template <typename Take>
void for_each_part(const Tensor& tensor, Take take) {
  if (tensor.dtype() != DType::kString) {
    const unsigned bits = stored_bits(tensor.dtype());
    return bits < 8 ? for_each_packed_part(tensor.bytes(), bits, take) : take(tensor.bytes());
  }
  std::vector<uint64_t> lengths;
  for (const std::string& string : tensor.strings()) lengths.push_back(string.size());
  take(std::as_bytes(std::span(lengths)));
  for (const std::string& string : tensor.strings()) take(std::as_bytes(std::span(string)));
}

uint64_t stored_bytes(const Tensor& tensor) {
  uint64_t sum = 0;
  for_each_part(tensor, [&](std::span<const std::byte> bytes) { sum += bytes.size(); });
  return sum;
}

uint32_t stored_crc32c(const Tensor& tensor) {
  uint32_t crc = 0;
  for_each_part(tensor, [&](std::span<const std::byte> bytes) { crc = extend_crc32c(crc, bytes); });
  return crc;
}

// Buffers small pieces before appending them.
class Output {
 public:
  explicit Output(WritableFile& file) : file_(file) { buffer_.reserve(kChunkBytes); }

  void append(std::span<const std::byte> bytes) {
    if (buffer_.size() + bytes.size() > kChunkBytes) flush();
    if (bytes.size() >= kChunkBytes)
      file_.append(bytes);
    else
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
  }
  void flush() {
    if (!buffer_.empty()) file_.append(buffer_);
    buffer_.clear();
  }

 private:
  WritableFile& file_;
  std::vector<std::byte> buffer_;
};

// The shape of the bytes of an element type that the format lacks: for numbers, with one more
// dimension.
Shape shape_of_bytes(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return {static_cast<int64_t>(stored_bytes(tensor))};
  const auto sizes = tensor.shape().dimensions();
  std::vector<int64_t> dimensions(sizes.begin(), sizes.end());
  dimensions.push_back(static_cast<int64_t>(element_size(tensor.dtype())));
  return Shape(dimensions);
}

HeaderEntry stored_of(const Tensor& tensor) {
  const bool as_bytes = safetensors_type_of(tensor.dtype()) == nullptr;
  return {as_bytes ? shape_of_bytes(tensor) : tensor.shape(), stored_bytes(tensor),
          stored_crc32c(tensor)};
}

}  // namespace

struct SafetensorsWriter::Item {
  int shard;
  Tensor tensor;                     // Unset if it is read later.
  std::function<Tensor()> read;      // Null for a tensor that is held.
  std::optional<HeaderEntry> known;  // For a tensor that is read later.
  const SafetensorsType* type;       // Of the stored bytes.
  Metadata notes;
};

SafetensorsWriter::SafetensorsWriter(FileSystem& files, std::string prefix,
                                     SafetensorsWriterOptions options)
    : prefix_(std::move(prefix)),
      options_(std::move(options)),
      added_(prefix_),
      staged_(files, prefix_) {
  if (options_.num_shards < 1 || options_.num_shards > kMaxShards)
    throw InvalidArgumentError(fmt::format("{}: found {} data files, expected 1 to {}", prefix_,
                                           options_.num_shards, kMaxShards));
  if (has_notes(options_.metadata))
    throw InvalidArgumentError(
        fmt::format("{}: metadata \"{}*\" is reserved for the writer", prefix_, kNotePrefix));
}

SafetensorsWriter::~SafetensorsWriter() = default;

void SafetensorsWriter::check_name(std::string_view name) const {
  added_.check_name(name);
  if (items_.contains(name) || added_.is_partitioned(name)) added_.throw_added_before(name);
}

void SafetensorsWriter::check_can_store(const std::string& prefix, std::string_view name,
                                        const Tensor& tensor) {
  if (name == "__metadata__")
    throw InvalidArgumentError(
        fmt::format("{}: the format reserves the name \"{}\"", prefix, name));
  json_string(name);  // Checks that it is UTF-8.
  const unsigned bits = stored_bits(tensor.dtype());
  if (bits < 8 && static_cast<uint64_t>(tensor.num_elements()) * bits % 8 != 0)
    throw InvalidArgumentError(
        fmt::format("{}: \"{}\" is {} {}: not whole bytes, which the format requires", prefix, name,
                    tensor.dtype(), tensor.shape()));
}

void SafetensorsWriter::store(std::string name, const Tensor& tensor,
                              std::function<Tensor()> read) {
  check_can_store(prefix_, name, tensor);
  Item item{.shard = shard_,
            .tensor = read ? Tensor() : tensor,
            .read = std::move(read),
            .known = {},
            .type = safetensors_type_of(tensor.dtype()),
            .notes = {}};
  if (item.type == nullptr) {
    item.type = safetensors_type_of(DType::kUint8);
    item.notes.emplace(fmt::format("{}{}", kDtypePrefix, name),
                       encode(StoredType{tensor.dtype(), tensor.shape()}));
  }
  if (item.read) item.known = stored_of(tensor);
  items_.emplace(std::move(name), std::move(item));
}

void SafetensorsWriter::add(std::string_view name, const TensorToWrite& added) {
  const Tensor tensor = added.in_memory();
  staged_.run(StagedFiles::kAdding, StagedFiles::kAdding, "add()", [&] {
    added_.check_set(name, tensor);
    check_name(name);
    store(std::string(name), tensor);
  });
}

void SafetensorsWriter::add_later(std::string_view name, std::function<Tensor()> read) {
  staged_.run(StagedFiles::kAdding, StagedFiles::kAdding, "add_later()", [&] {
    check_name(name);
    const Tensor tensor = read();
    added_.check_set(name, tensor);
    store(std::string(name), tensor, std::move(read));
  });
}

void SafetensorsWriter::add_slice(std::string_view name, const Shape& full_shape,
                                  const TensorSlice& slice, const TensorToWrite& added) {
  const Tensor tensor = added.in_memory();
  staged_.run(StagedFiles::kAdding, StagedFiles::kAdding, "add_slice()", [&] {
    if (!added_.is_partitioned(name)) check_name(name);
    if (!added_.add_slice(name, full_shape, slice, tensor, items_.contains(name))) {
      check_name(name);
      store(std::string(name), tensor);
      return;
    }
    std::string part = fmt::format("{}[{}]", name, to_string(slice));
    check_name(part);
    store(part, tensor);
    items_.find(part)->second.notes.emplace(
        fmt::format("{}{}", kSlicePrefix, part),
        encode(SliceNote{full_shape, slice, std::string(name)}));
  });
}

void SafetensorsWriter::next_shard() {
  staged_.run(StagedFiles::kAdding, StagedFiles::kAdding, "next_shard()", [&] {
    if (shard_ + 1 == options_.num_shards)
      throw InvalidArgumentError(
          fmt::format("{}: one data file more than the {} expected", prefix_, options_.num_shards));
    ++shard_;
  });
}

std::string SafetensorsWriter::final_name(int shard) const {
  return options_.num_shards == 1 ? safetensors_filename(prefix_)
                                  : safetensors_shard_filename(prefix_, shard, options_.num_shards);
}

std::string SafetensorsWriter::encode_header(int shard, NamedItems& items) const {
  std::vector<std::pair<std::string_view, const Item*>> sorted;
  for (const auto& [name, item] : items_)
    if (item.shard == shard) sorted.emplace_back(name, &item);
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) {
    return comes_before(a.second->type, b.second->type);
  });
  SafetensorsHeader header{.tensors = {}, .metadata = options_.metadata};
  std::vector<uint32_t> crcs;
  uint64_t end = 0;
  for (const auto& [name, item] : sorted) {
    const uint64_t begin = end;
    const HeaderEntry stored = item->known ? *item->known : stored_of(item->tensor);
    end += stored.num_bytes;
    header.tensors.push_back({.name = std::string(name),
                              .type = item->type,
                              .shape = stored.shape,
                              .begin = begin,
                              .end = end});
    header.metadata.insert(item->notes.begin(), item->notes.end());
    crcs.push_back(stored.crc);
    items.emplace_back(name, item);
  }
  if (!options_.checksums) {
    if (has_notes(header.metadata))
      throw InvalidArgumentError(
          fmt::format("{}: {} needs a note in the metadata, which requires checksums", prefix_,
                      header.metadata.lower_bound(kNotePrefix)->first));
    return encode(header, final_name(shard));
  }
  header.metadata.emplace(kChecksumsKey, encode_checksums(crcs));
  header.metadata.emplace(kHeaderChecksumKey, encode_checksums(std::vector<uint32_t>{0}));
  std::string bytes = encode(header, final_name(shard));
  put_checksum(bytes, kHeaderChecksumKey);
  return bytes;
}

Tensor SafetensorsWriter::read_again(std::string_view name, const Item& item) const {
  Tensor tensor = item.read();
  if (!tensor.is_set() || stored_of(tensor) != *item.known)
    throw DataLossError(
        fmt::format("{}: \"{}\" changed while it was being written", prefix_, name));
  return tensor;
}

void SafetensorsWriter::write_shard(int shard) {
  NamedItems items;
  const std::string header = encode_header(shard, items);
  uint64_t size = header.size();
  for (const auto& [name, item] : items)
    size += item->known ? item->known->num_bytes : stored_bytes(item->tensor);
  Output output(
      staged_.create(final_name(shard), size >= kChunkBytes ? std::optional(size) : std::nullopt));
  output.append(std::as_bytes(std::span(header)));
  const auto append = [&](const Tensor& tensor) {
    for_each_part(tensor, [&](std::span<const std::byte> bytes) { output.append(bytes); });
  };
  for (const auto& [name, item] : items)
    append(item->read ? read_again(name, *item) : item->tensor);
  output.flush();
  total_bytes_ += size;
  data_bytes_ += size - header.size();
  index_crc32c_ = mask_crc32c(crc32c(header));
  if (options_.checksums)
    header_crcs_.push_back(crc32c_without(header, *find_checksum(header, kHeaderChecksumKey)));
}

void SafetensorsWriter::write_index() {
  ShardIndex index;
  for (const auto& [name, item] : items_)
    index.weight_map.emplace(name, base_name(final_name(item.shard)));
  index.total_size = data_bytes_;
  for (size_t i = 0; i < header_crcs_.size(); ++i)
    index.header_crcs.emplace(base_name(final_name(static_cast<int>(i))), header_crcs_[i]);
  const std::string text = encode(index);
  staged_.create(safetensors_index_filename(prefix_)).append(text);
  total_bytes_ += text.size();
  index_crc32c_ = mask_crc32c(crc32c(text));
}

void SafetensorsWriter::write() {
  staged_.run(StagedFiles::kAdding, StagedFiles::kWritten, "write()", [&] {
    for (int shard = 0; shard < options_.num_shards; ++shard) write_shard(shard);
    if (options_.num_shards > 1) write_index();
    staged_.flush();
    items_.clear();  // The tensors' memory is no longer needed.
  });
}

void SafetensorsWriter::write_and_sync() {
  if (staged_.stage() != StagedFiles::kWritten) write();
  staged_.run(StagedFiles::kWritten, StagedFiles::kSynced, "write_and_sync()",
              [&] { staged_.sync(); });
}

void SafetensorsWriter::publish() {
  staged_.run(StagedFiles::kSynced, StagedFiles::kPublished, "publish()",
              [&] { staged_.publish(); });
}

}  // namespace crochet::inline v0::internal
