// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"

#include <bit>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/checkpoint/bundle/internal/table_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/slice_key.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the header declares tensors to be little-endian");

}  // namespace

BundleWriter::BundleWriter(FileSystem& files, std::string prefix, BundleWriterOptions options)
    : prefix_(std::move(prefix)),
      options_(std::move(options)),
      added_(prefix_),
      staged_(files, prefix_) {
  if (options_.alignment == 0)
    throw InvalidArgumentError(fmt::format("{}: the alignment is 0 bytes", prefix_));
  if (options_.num_shards < 1 || num_files() > kMaxShards)
    throw InvalidArgumentError(
        fmt::format("{}: found {} data files, expected 1 to {}", prefix_, num_files(), kMaxShards));
  for (int file = options_.num_shards; const std::string& linked : options_.linked_files) {
    linked_bytes_ += files.file_size(linked);
    staged_.link(linked, name_of_file(file++));
  }
  begin_shard();
}

void BundleWriter::begin_shard() {
  const size_t number = shards_.size();
  const uint64_t expected =
      number < options_.expected_bytes.size() ? options_.expected_bytes[number] : 0;
  WritableFile& file = staged_.create(name_of_file(static_cast<int>(number)), expected);
  shards_.emplace_back(file, number, options_.alignment);
}

void BundleWriter::next_shard() {
  staged_.run(StagedFiles::kAdding, StagedFiles::kAdding, "next_shard()", [&] {
    if (shards_.size() == static_cast<size_t>(options_.num_shards))
      throw InvalidArgumentError(
          fmt::format("{}: one data file more than the {} expected", prefix_, options_.num_shards));
    begin_shard();
  });
}

void BundleWriter::add(std::string_view name, const TensorToWrite& added) {
  const Tensor& tensor = added.tensor;
  staged_.run(StagedFiles::kAdding, StagedFiles::kAdding, "add()", [&] {
    added_.check_set(name, tensor);
    added_.check_name(name);
    check_can_store(prefix_, name, tensor);
    // The only lookup of the name, which takes no search if names are added in order.
    const size_t num_keys = index_.size();
    const auto place = index_.try_emplace(index_.end(), std::string(name));
    if (index_.size() == num_keys || added_.is_partitioned(name)) added_.throw_added_before(name);
    store(added, place->second);
  });
}

void BundleWriter::add_slice(std::string_view name, const Shape& full_shape,
                             const TensorSlice& slice, const TensorToWrite& added) {
  const Tensor& tensor = added.tensor;
  bool is_part = false;
  staged_.run(StagedFiles::kAdding, StagedFiles::kAdding, "add_slice()", [&] {
    const bool is_taken = !added_.is_partitioned(name) && index_.contains(name);
    is_part = added_.add_slice(name, full_shape, slice, tensor, is_taken);
    if (!is_part) return;
    check_can_store(prefix_, name, tensor);
    store(added, index_[slice_key(name, slice)]);
  });
  if (!is_part) add(name, added);
}

void BundleWriter::check_can_store(const std::string& prefix, std::string_view name,
                                   const Tensor& tensor) {
  if (!is_valid_dtype(static_cast<int32_t>(tensor.dtype())))
    throw InvalidArgumentError(
        fmt::format("{}: \"{}\" is {}, a type that TensorFlow does not have: use safetensors",
                    prefix, name, tensor.dtype()));
}

void BundleWriter::store(const TensorToWrite& added, Added& to) {
  to.dtype = added.tensor.dtype();
  to.shape = added.tensor.shape();
  stored_.push_back(&to);
  if (added.linked)
    to.place = place_of_linked(*added.linked);
  else
    to.place = shards_.back().append(added);
}

StoredPlace BundleWriter::place_of_linked(const StoredPlace& linked) const {
  if (linked.file >= options_.linked_files.size())
    throw InvalidArgumentError(fmt::format("{}: found linked file {}, expected one of {}", prefix_,
                                           linked.file, options_.linked_files.size()));
  StoredPlace place = linked;
  place.file += static_cast<size_t>(options_.num_shards);
  return place;
}

std::vector<StoredPlace> BundleWriter::places() const {
  std::vector<StoredPlace> places;
  places.reserve(stored_.size());
  for (const Added* const stored : stored_) places.push_back(stored->place);
  return places;
}

uint64_t BundleWriter::data_bytes() const {
  uint64_t num_bytes = 0;
  for (const DataFile& shard : shards_) num_bytes += shard.num_bytes();
  return num_bytes;
}

void BundleWriter::write() {
  staged_.run(StagedFiles::kAdding, StagedFiles::kWritten, "write()", [&] {
    while (shards_.size() < static_cast<size_t>(options_.num_shards)) begin_shard();
    table_ = encode_index();  // While the disk is writing the data.
    staged_.flush();
    for (DataFile& shard : shards_) shard.release();
  });
}

void BundleWriter::write_and_sync() {
  if (staged_.stage() != StagedFiles::kWritten) write();
  staged_.run(StagedFiles::kWritten, StagedFiles::kSynced, "write_and_sync()", [&] {
    staged_.sync();
    staged_.create(index_filename(prefix_)).append(table_);
    staged_.sync();
    index_bytes_ = table_.size();
    index_crc32c_ = mask_crc32c(crc32c(table_));
  });
}

void BundleWriter::publish() {
  staged_.run(StagedFiles::kSynced, StagedFiles::kPublished, "publish()",
              [&] { staged_.publish(); });
}

std::string BundleWriter::encode_index() {
  for (const auto& [name, whole] : added_.partitioned())
    index_.emplace(name,
                   Added{.dtype = whole.dtype, .shape = whole.shape, .slices = &whole.slices});
  TableWriter table;
  table.add("", encode(BundleHeader{.num_shards = num_files()}));
  for (const auto& [key, added] : index_) {
    StoredTensor entry{.dtype = added.dtype,
                       .shape = added.shape,
                       .shard = static_cast<int32_t>(added.place.file),
                       .offset = added.place.offset,
                       .size = added.place.size,
                       .masked_crc32c = added.place.masked_crc32c};
    if (added.slices != nullptr) entry.slices = *added.slices;
    table.add(key, encode(entry));
  }
  return table.finish();
}

}  // namespace crochet::inline v0::internal
