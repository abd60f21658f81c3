// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/safetensors_writer.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/checkpoint/safetensors/safetensors_format.h"
#include "crochet/checkpoint/safetensors/safetensors_index.h"
#include "crochet/checkpoint/safetensors/safetensors_notes.h"
#include "crochet/io/crc32c.h"
#include "crochet/io/path.h"

namespace crochet {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

// Small tensors are gathered to this size.
constexpr size_t kChunkBytes = size_t{1} << 20;

// Calls `take(bytes)` for the parts of what is stored for a tensor:
// strings := length:u64le* byte*
template <typename Take>
void for_each_part(const Tensor& tensor, Take take) {
  if (tensor.dtype() != DType::kString) return take(tensor.bytes());
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

// Gathers what is small before it appends.
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

// The shape that the bytes of an element type have that the format lacks: of numbers, one more
// dimension.
Shape shape_of_bytes(const Tensor& tensor) {
  if (tensor.dtype() == DType::kString) return {static_cast<int64_t>(stored_bytes(tensor))};
  const auto sizes = tensor.shape().dimensions();
  std::vector<int64_t> dimensions(sizes.begin(), sizes.end());
  dimensions.push_back(static_cast<int64_t>(element_size(tensor.dtype())));
  return Shape(dimensions);
}

// What the header has to say of a tensor.
struct Stored {
  Shape shape;
  uint64_t num_bytes;
  uint32_t crc;

  friend bool operator==(const Stored&, const Stored&) = default;
};

Stored stored_of(const Tensor& tensor) {
  const bool as_bytes = internal::safetensors_type_of(tensor.dtype()) == nullptr;
  return {as_bytes ? shape_of_bytes(tensor) : tensor.shape(), stored_bytes(tensor),
          stored_crc32c(tensor)};
}

}  // namespace

using internal::SafetensorsTensor;
using internal::SafetensorsType;

struct SafetensorsWriter::Item {
  int shard;
  Tensor tensor;                 // Unset if it is read later.
  std::function<Tensor()> read;  // Null for one that is held.
  std::optional<Stored> known;   // Of one that is read later.
  const SafetensorsType* type;   // Of what is stored.
  internal::Metadata notes;
};

struct SafetensorsWriter::Partitioned {
  DType dtype;
  Shape full_shape;
  std::vector<TensorSlice> slices;  // Resolved.
};

SafetensorsWriter::SafetensorsWriter(FileSystem& files, std::string prefix,
                                     SafetensorsWriterOptions options)
    : files_(files),
      prefix_(std::move(prefix)),
      directory_(parent_directory(prefix_)),
      options_(std::move(options)) {
  if (options_.num_shards < 1 || options_.num_shards > internal::kMaxShards)
    throw InvalidArgumentError("{}: {} data files, expected 1 to {}", prefix_, options_.num_shards,
                               internal::kMaxShards);
  if (internal::has_notes(options_.metadata))
    throw InvalidArgumentError("{}: metadata \"{}*\" is the writer's own", prefix_,
                               internal::kNotePrefix);
  if (!files_.exists(directory_)) files_.create_directories(directory_);
}

SafetensorsWriter::~SafetensorsWriter() {
  if (stages_.is_unfinished()) remove_temporaries();
}

template <typename Step>
void SafetensorsWriter::guarded(WriterStages::Stage stage, const char* call, const Step& step) {
  stages_.run(stage, call, step, [this] { remove_temporaries(); });
}

void SafetensorsWriter::check_set(std::string_view name, const Tensor& tensor) const {
  if (!tensor.is_set()) throw InvalidArgumentError("{}: \"{}\" is unset", prefix_, name);
}

void SafetensorsWriter::check_name(std::string_view name) const {
  if (name.empty()) throw InvalidArgumentError("{}: a tensor without a name", prefix_);
  if (name.front() == '\0')
    throw InvalidArgumentError("{}: the name of a tensor starts with a zero byte", prefix_);
  if (name == "__metadata__")
    throw InvalidArgumentError("{}: no tensor can be called \"{}\" in this format", prefix_, name);
  if (items_.contains(name) || partitioned_.contains(name))
    throw InvalidArgumentError("{}: \"{}\" was added before", prefix_, name);
  internal::json_string(name);  // That it is UTF-8.
}

void SafetensorsWriter::store(std::string name, const Tensor& tensor,
                              std::function<Tensor()> read) {
  Item item{.shard = shard_,
            .tensor = read ? Tensor() : tensor,
            .read = std::move(read),
            .known = {},
            .type = internal::safetensors_type_of(tensor.dtype()),
            .notes = {}};
  if (item.type == nullptr) {
    item.type = internal::safetensors_type_of(DType::kUint8);
    item.notes.emplace(fmt::format("{}{}", internal::kDtypePrefix, name),
                       internal::encode(internal::StoredType{tensor.dtype(), tensor.shape()}));
  }
  if (item.read) item.known = stored_of(tensor);
  items_.emplace(std::move(name), std::move(item));
}

void SafetensorsWriter::add(std::string_view name, const Tensor& tensor) {
  guarded(WriterStages::kAdding, "add()", [&] {
    check_set(name, tensor);
    check_name(name);
    store(std::string(name), tensor);
  });
}

void SafetensorsWriter::add_later(std::string_view name, std::function<Tensor()> read) {
  guarded(WriterStages::kAdding, "add_later()", [&] {
    check_name(name);
    const Tensor tensor = read();
    check_set(name, tensor);
    store(std::string(name), tensor, std::move(read));
  });
}

void SafetensorsWriter::check_slice(std::string_view name, const Shape& full_shape,
                                    const TensorSlice& slice, const Tensor& tensor) {
  const auto found = partitioned_.find(name);
  if (found == partitioned_.end()) {
    check_name(name);
    partitioned_.emplace(name, Partitioned{tensor.dtype(), full_shape, {slice}});
    return;
  }
  Partitioned& whole = found->second;
  if (whole.dtype != tensor.dtype() || whole.full_shape != full_shape)
    throw InvalidArgumentError("{}: a slice of \"{}\" is one of {} {}, those before of {} {}",
                               prefix_, name, tensor.dtype(), full_shape, whole.dtype,
                               whole.full_shape);
  for (const TensorSlice& other : whole.slices)
    if (internal::intersection(slice, other))
      throw InvalidArgumentError("{}: the slices {} and {} of \"{}\" overlap", prefix_,
                                 to_string(other), to_string(slice), name);
  whole.slices.push_back(slice);
}

void SafetensorsWriter::add_slice(std::string_view name, const Shape& full_shape,
                                  const TensorSlice& slice, const Tensor& tensor) {
  guarded(WriterStages::kAdding, "add_slice()", [&] {
    check_set(name, tensor);
    const TensorSlice resolved = internal::resolved(slice, full_shape);
    if (tensor.shape() != internal::shape_of(resolved))
      throw InvalidArgumentError("{}: slice {} of \"{}\" {} was given as {}", prefix_,
                                 to_string(slice), name, full_shape, describe(tensor));
    if (resolved == internal::whole_slice(full_shape)) {
      check_name(name);
      store(std::string(name), tensor);
      return;
    }
    check_slice(name, full_shape, resolved, tensor);
    std::string part = fmt::format("{}[{}]", name, to_string(slice));
    check_name(part);
    store(part, tensor);
    items_.find(part)->second.notes.emplace(
        fmt::format("{}{}", internal::kSlicePrefix, part),
        internal::encode(internal::SliceNote{full_shape, slice, std::string(name)}));
  });
}

void SafetensorsWriter::next_shard() {
  guarded(WriterStages::kAdding, "next_shard()", [&] {
    if (shard_ + 1 == options_.num_shards)
      throw InvalidArgumentError("{}: a data file more than the {} there are to be", prefix_,
                                 options_.num_shards);
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
    return internal::comes_before(a.second->type, b.second->type);
  });
  internal::SafetensorsHeader header{.tensors = {}, .metadata = options_.metadata};
  std::vector<uint32_t> crcs;
  uint64_t end = 0;
  for (const auto& [name, item] : sorted) {
    const uint64_t begin = end;
    const Stored stored = item->known ? *item->known : stored_of(item->tensor);
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
    if (internal::has_notes(header.metadata))
      throw InvalidArgumentError(
          "{}: {} needs a note in the metadata, which there is only with checksums", prefix_,
          header.metadata.lower_bound(internal::kNotePrefix)->first);
    return internal::encode(header, final_name(shard));
  }
  header.metadata.emplace(internal::kChecksumsKey, internal::encode_checksums(crcs));
  header.metadata.emplace(internal::kHeaderChecksumKey,
                          internal::encode_checksums(std::vector<uint32_t>{0}));
  std::string bytes = internal::encode(header, final_name(shard));
  internal::put_checksum(bytes, internal::kHeaderChecksumKey);
  return bytes;
}

Tensor SafetensorsWriter::read_again(std::string_view name, const Item& item) const {
  Tensor tensor = item.read();
  if (!tensor.is_set() || stored_of(tensor) != *item.known)
    throw DataLossError("{}: \"{}\" has changed while it was written", prefix_, name);
  return tensor;
}

void SafetensorsWriter::write_shard(int shard) {
  NamedItems items;
  const std::string header = encode_header(shard, items);
  uint64_t size = header.size();
  for (const auto& [name, item] : items)
    size += item->known ? item->known->num_bytes : stored_bytes(item->tensor);
  temporaries_.push_back(internal::temporary_filename(final_name(shard)));
  file_ = size >= kChunkBytes ? files_.create_large(temporaries_.back(), size)
                              : files_.create(temporaries_.back());
  Output output(*file_);
  output.append(std::as_bytes(std::span(header)));
  const auto append = [&](const Tensor& tensor) {
    for_each_part(tensor, [&](std::span<const std::byte> bytes) { output.append(bytes); });
  };
  for (const auto& [name, item] : items)
    append(item->read ? read_again(name, *item) : item->tensor);
  output.flush();
  file_->flush();
  total_bytes_ += size;
  data_bytes_ += size - header.size();
  index_crc32c_ = mask_crc32c(crc32c(header));
  if (options_.checksums)
    header_crcs_.push_back(internal::crc32c_without(
        header, *internal::find_checksum(header, internal::kHeaderChecksumKey)));
}

void SafetensorsWriter::close_file() {
  file_->sync();
  std::exchange(file_, nullptr)->close();
}

void SafetensorsWriter::write_index() {
  internal::ShardIndex index;
  for (const auto& [name, item] : items_)
    index.weight_map.emplace(name, base_name(final_name(item.shard)));
  index.total_size = data_bytes_;
  for (size_t i = 0; i < header_crcs_.size(); ++i)
    index.header_crcs.emplace(base_name(final_name(static_cast<int>(i))), header_crcs_[i]);
  const std::string text = internal::encode(index);
  temporaries_.push_back(internal::temporary_filename(safetensors_index_filename(prefix_)));
  file_ = files_.create(temporaries_.back());
  file_->append(text);
  file_->flush();
  total_bytes_ += text.size();
  index_crc32c_ = mask_crc32c(crc32c(text));
}

void SafetensorsWriter::write() {
  guarded(WriterStages::kAdding, "write()", [&] {
    for (int shard = 0; shard < options_.num_shards; ++shard) {
      if (file_) close_file();
      write_shard(shard);
    }
    if (options_.num_shards > 1) {
      close_file();
      write_index();
    }
    items_.clear();  // The tensors' memory is not needed any more.
    stages_.reach(WriterStages::kWritten);
  });
}

void SafetensorsWriter::write_and_sync() {
  if (stages_.now() != WriterStages::kWritten) write();
  guarded(WriterStages::kWritten, "write_and_sync()", [&] {
    close_file();
    stages_.reach(WriterStages::kSynced);
  });
}

void SafetensorsWriter::publish() {
  guarded(WriterStages::kSynced, "publish()", [&] {
    if (options_.num_shards > 1) {
      const std::string index = safetensors_index_filename(prefix_);
      if (files_.exists(index)) {
        files_.remove(index);
        files_.sync_directory(directory_);
      }
      for (int shard = 0; shard < options_.num_shards; ++shard)
        files_.rename(temporaries_[static_cast<size_t>(shard)], final_name(shard));
      files_.sync_directory(directory_);
      files_.rename(temporaries_.back(), index);
    } else {
      files_.rename(temporaries_.back(), final_name(0));
    }
    files_.sync_directory(directory_);
    stages_.reach(WriterStages::kPublished);
  });
}

void SafetensorsWriter::remove_temporaries() noexcept {
  file_.reset();
  for (const std::string& path : temporaries_) {
    try {
      if (files_.exists(path)) files_.remove(path);
    } catch (const std::exception& error) {
      log(Severity::kWarning, error.what());
    }
  }
}

}  // namespace crochet
