// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/bundle_writer.h"

#include <bit>
#include <numeric>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/bundle_format.h"
#include "crochet/checkpoint/bundle/string_coding.h"
#include "crochet/checkpoint/bundle/table_writer.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/checkpoint/layout/slice_key.h"
#include "crochet/checkpoint/layout/stored_tensor.h"
#include "crochet/io/crc32c.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0 {
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
  if (options_.num_shards < 1 || num_files() > internal::kMaxShards)
    throw InvalidArgumentError(fmt::format("{}: found {} data files, expected 1 to {}", prefix_,
                                           num_files(), internal::kMaxShards));
  for (int file = options_.num_shards; const std::string& linked : options_.linked_files) {
    linked_bytes_ += files.file_size(linked);
    staged_.link(linked, name_of_file(file++));
  }
  begin_shard();
}

void BundleWriter::begin_shard() {
  const auto index = static_cast<size_t>(num_begun_);
  const uint64_t expected =
      index < options_.expected_bytes.size() ? options_.expected_bytes[index] : 0;
  data_ = &staged_.create(name_of_file(num_begun_), expected);
  finished_bytes_ += std::exchange(shard_bytes_, 0);
  ++num_begun_;
}

void BundleWriter::next_shard() {
  staged_.run(StagedFiles::kAdding, StagedFiles::kAdding, "next_shard()", [&] {
    if (num_begun_ == options_.num_shards)
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
    check_type(name, tensor);
    // The only lookup of the name, which takes no search if names are added in order.
    const size_t num_keys = index_.size();
    const auto place = index_.emplace_hint(index_.end(), name, std::string());
    if (index_.size() == num_keys || added_.is_partitioned(name)) added_.throw_added_before(name);
    place->second = store(added);
  });
}

void BundleWriter::add_slice(std::string_view name, const Shape& full_shape,
                             const TensorSlice& slice, const TensorToWrite& added) {
  const Tensor& tensor = added.tensor;
  bool is_part = false;
  staged_.run(StagedFiles::kAdding, StagedFiles::kAdding, "add_slice()", [&] {
    const bool is_taken = !added_.is_partitioned(name) && index_.contains(std::string(name));
    is_part = added_.add_slice(name, full_shape, slice, tensor, is_taken);
    if (!is_part) return;
    check_type(name, tensor);
    index_.emplace(internal::slice_key(name, slice), store(added));
  });
  if (!is_part) add(name, added);
}

void BundleWriter::check_type(std::string_view name, const Tensor& tensor) const {
  if (!is_valid_dtype(static_cast<int32_t>(tensor.dtype())))
    throw InvalidArgumentError(
        fmt::format("{}: \"{}\" is {}, a type that TensorFlow does not have: use safetensors",
                    prefix_, name, tensor.dtype()));
}

std::string BundleWriter::store(const TensorToWrite& added) {
  if (added.linked) {
    last_place_ = added.linked;
    last_place_->file += static_cast<size_t>(options_.num_shards);
    if (added.linked->file >= options_.linked_files.size())
      throw InvalidArgumentError(fmt::format("{}: found linked file {}, expected one of {}",
                                             prefix_, added.linked->file,
                                             options_.linked_files.size()));
  } else {
    last_place_ = write_elements(added);
  }
  return internal::encode(internal::StoredTensor{.dtype = added.tensor.dtype(),
                                                 .shape = added.tensor.shape(),
                                                 .shard = static_cast<int32_t>(last_place_->file),
                                                 .offset = last_place_->offset,
                                                 .size = last_place_->size,
                                                 .masked_crc32c = last_place_->masked_crc32c});
}

StoredPlace BundleWriter::write_elements(const TensorToWrite& added) {
  const Tensor& tensor = added.tensor;
  const size_t alignment = internal::data_alignment(tensor);
  pad(std::lcm(options_.alignment, alignment));
  StoredPlace place{.file = static_cast<size_t>(num_begun_ - 1),
                    .offset = static_cast<int64_t>(shard_bytes_)};
  uint32_t crc = 0;
  if (tensor.dtype() == DType::kString) {
    const internal::StringsHead head = internal::encode_strings_head(tensor.strings());
    data_->append(head.bytes);
    shard_bytes_ += head.bytes.size();
    crc = head.crc;
    for (const std::string& string : tensor.strings())
      crc = data_->append_with_crc32c(crc, std::as_bytes(std::span(string)));
  } else if (added.read) {
    crc = data_->append_read_with_crc32c(0, tensor.num_bytes(), added.read);
  } else if (alignment == 1) {
    crc = data_->append_with_crc32c(0, tensor.bytes());
  } else {
    held_.push_back(tensor);
    crc = data_->append_held_with_crc32c(0, held_.back().bytes());
  }
  shard_bytes_ += tensor.num_bytes();
  place.size = static_cast<int64_t>(shard_bytes_) - place.offset;
  place.masked_crc32c = mask_crc32c(crc);
  pad(options_.alignment);
  return place;
}

void BundleWriter::write() {
  staged_.run(StagedFiles::kAdding, StagedFiles::kWritten, "write()", [&] {
    while (num_begun_ < options_.num_shards) begin_shard();
    table_ = encode_index();  // While the disk is writing the data.
    staged_.flush();
    held_.clear();
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

void BundleWriter::pad(size_t alignment) {
  const size_t surplus = shard_bytes_ % alignment;
  if (surplus == 0) return;
  const std::vector<std::byte> zeros(alignment - surplus);
  data_->append(zeros);
  shard_bytes_ += zeros.size();
}

std::string BundleWriter::encode_index() {
  index_.emplace("", internal::encode(internal::BundleHeader{.num_shards = num_files()}));
  for (const auto& [name, whole] : added_.partitioned())
    index_.emplace(name, internal::encode(internal::StoredTensor{
                             .dtype = whole.dtype, .shape = whole.shape, .slices = whole.slices}));
  return internal::encode_table(index_);
}

}  // namespace crochet::inline v0
