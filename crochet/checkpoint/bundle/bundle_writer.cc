// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/bundle_writer.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/checkpoint/bundle/bundle_format.h"
#include "crochet/checkpoint/bundle/string_coding.h"
#include "crochet/checkpoint/bundle/table_writer.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/checkpoint/layout/slice_key.h"
#include "crochet/io/crc32c.h"
#include "crochet/io/path.h"

namespace crochet {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the header says that tensors are little-endian");

}  // namespace

BundleWriter::BundleWriter(FileSystem& files, std::string prefix,
                           const BundleWriterOptions& options)
    : files_(files),
      prefix_(std::move(prefix)),
      directory_(parent_directory(prefix_)),
      alignment_(options.alignment),
      num_shards_(options.num_shards),
      expected_bytes_(options.expected_bytes),
      temp_index_(internal::temporary_filename(index_filename(prefix_))) {
  if (alignment_ == 0) throw InvalidArgumentError("{}: an alignment of 0 bytes", prefix_);
  if (num_shards_ < 1 || num_shards_ > internal::kMaxShards)
    throw InvalidArgumentError("{}: {} data files, expected 1 to {}", prefix_, num_shards_,
                               internal::kMaxShards);
  if (!files_.exists(directory_)) files_.create_directories(directory_);
  try {
    open_shard(0);
  } catch (...) {
    remove_temporaries();  // There may be a file although making it failed.
    throw;
  }
}

std::string BundleWriter::final_name(int shard) const {
  return data_filename(prefix_, shard, num_shards_);
}

void BundleWriter::open_shard(int shard) {
  temp_data_.push_back(internal::temporary_filename(final_name(shard)));
  const auto index = static_cast<size_t>(shard);
  data_ = files_.create_large(temp_data_.back(),
                              index < expected_bytes_.size() ? expected_bytes_[index] : 0);
  finished_bytes_ += std::exchange(shard_bytes_, 0);
}

// Makes the bytes of a data file durable, if there is one.
void BundleWriter::finish_file(std::unique_ptr<WritableFile>& file) {
  if (!file) return;
  file->sync();
  std::exchange(file, nullptr)->close();
}

void BundleWriter::begin_shard(int shard) {
  finish_file(before_);
  before_ = std::move(data_);  // Its last bytes may be on their way while the next one begins.
  open_shard(shard);
}

void BundleWriter::next_shard() {
  guarded(WriterStages::kAdding, "next_shard()", [&] {
    const auto next = static_cast<int>(temp_data_.size());
    if (next == num_shards_)
      throw InvalidArgumentError("{}: a data file more than the {} there are to be", prefix_,
                                 num_shards_);
    begin_shard(next);
  });
}

BundleWriter::~BundleWriter() {
  if (stages_.is_unfinished()) remove_temporaries();
}

template <typename Step>
void BundleWriter::guarded(WriterStages::Stage stage, const char* call, const Step& step) {
  stages_.run(stage, call, step, [this] { remove_temporaries(); });
}

void BundleWriter::add(std::string_view name, const Tensor& tensor) {
  guarded(WriterStages::kAdding, "add()", [&] {
    check_set(name, tensor);
    add_whole(name, tensor);
  });
}

void BundleWriter::add_slice(std::string_view name, const Shape& full_shape,
                             const TensorSlice& slice, const Tensor& tensor) {
  guarded(WriterStages::kAdding, "add_slice()", [&] {
    check_set(name, tensor);
    const TensorSlice resolved = internal::resolved(slice, full_shape);
    if (tensor.shape() != internal::shape_of(resolved))
      throw InvalidArgumentError("{}: slice {} of \"{}\" {} was given as {}", prefix_,
                                 to_string(slice), name, full_shape, describe(tensor));
    if (resolved == internal::whole_slice(full_shape)) {
      add_whole(name, tensor);
      return;
    }
    entry_for_slice(name, full_shape, resolved, tensor).slices.push_back(slice);
    index_.emplace(internal::slice_key(name, slice), store(tensor));
  });
}

void BundleWriter::add_whole(std::string_view name, const Tensor& tensor) {
  check_name(name);
  // The only search for the name: none at all if they come in order.
  const size_t num_keys = index_.size();
  const auto place = index_.emplace_hint(index_.end(), name, std::string());
  if (index_.size() == num_keys || partitioned_.contains(name)) throw_added_before(name);
  place->second = store(tensor);
  ++num_tensors_;
}

internal::StoredTensor& BundleWriter::entry_for_slice(std::string_view name,
                                                      const Shape& full_shape,
                                                      const TensorSlice& resolved,
                                                      const Tensor& tensor) {
  const auto found = partitioned_.find(name);
  if (found == partitioned_.end()) {
    check_name(name);
    if (index_.contains(std::string(name))) throw_added_before(name);
    ++num_tensors_;
    return partitioned_[std::string(name)] = {.dtype = tensor.dtype(), .shape = full_shape};
  }
  internal::StoredTensor& entry = found->second;
  if (entry.dtype != tensor.dtype() || entry.shape != full_shape)
    throw InvalidArgumentError("{}: a slice of \"{}\" is one of {} {}, those before of {} {}",
                               prefix_, name, tensor.dtype(), full_shape, entry.dtype, entry.shape);
  for (const TensorSlice& other : entry.slices)
    if (internal::intersection(resolved, internal::resolved(other, full_shape)))
      throw InvalidArgumentError("{}: the slices {} and {} of \"{}\" overlap", prefix_,
                                 to_string(other), to_string(resolved), name);
  return entry;
}

std::string BundleWriter::store(const Tensor& tensor) {
  internal::StoredTensor entry{.dtype = tensor.dtype(), .shape = tensor.shape()};
  pad(std::lcm(alignment_, internal::data_alignment(tensor)));
  entry.shard = static_cast<int32_t>(temp_data_.size()) - 1;
  entry.offset = static_cast<int64_t>(shard_bytes_);
  const uint32_t crc = append_elements(tensor);
  entry.size = static_cast<int64_t>(shard_bytes_) - entry.offset;
  entry.masked_crc32c = mask_crc32c(crc);
  pad(alignment_);
  return internal::encode(entry);
}

void BundleWriter::write() {
  guarded(WriterStages::kAdding, "write()", [&] {
    while (static_cast<int>(temp_data_.size()) < num_shards_)
      begin_shard(static_cast<int>(temp_data_.size()));
    table_ = encode_index();  // While the disk is busy with the data.
    if (before_) before_->flush();
    data_->flush();
    held_.clear();
    stages_.reach(WriterStages::kWritten);
  });
}

void BundleWriter::write_and_sync() {
  if (stages_.now() != WriterStages::kWritten) write();
  guarded(WriterStages::kWritten, "write_and_sync()", [&] {
    finish_file(before_);
    finish_file(data_);
    write_index(table_);
    stages_.reach(WriterStages::kSynced);
  });
}

void BundleWriter::publish() {
  guarded(WriterStages::kSynced, "publish()", [&] {
    const std::string index = index_filename(prefix_);
    if (files_.exists(index)) {
      files_.remove(index);
      files_.sync_directory(directory_);
    }
    for (size_t i = 0; i < temp_data_.size(); ++i)
      files_.rename(temp_data_[i], final_name(static_cast<int>(i)));
    files_.sync_directory(directory_);
    files_.rename(temp_index_, index);
    files_.sync_directory(directory_);
    stages_.reach(WriterStages::kPublished);
  });
}

void BundleWriter::check_name(std::string_view name) const {
  if (name.empty()) throw InvalidArgumentError("{}: a tensor without a name", prefix_);
  // Such keys belong to the slices of partitioned tensors.
  if (name.front() == '\0')
    throw InvalidArgumentError("{}: the name of a tensor starts with a zero byte", prefix_);
}

void BundleWriter::throw_added_before(std::string_view name) const {
  throw InvalidArgumentError("{}: \"{}\" was added before", prefix_, name);
}

void BundleWriter::check_set(std::string_view name, const Tensor& tensor) const {
  if (!tensor.is_set()) throw InvalidArgumentError("{}: \"{}\" is unset", prefix_, name);
}

uint32_t BundleWriter::append_elements(const Tensor& tensor) {
  if (tensor.dtype() != DType::kString) {
    shard_bytes_ += tensor.num_bytes();
    if (internal::data_alignment(tensor) == 1) return data_->append_with_crc32c(0, tensor.bytes());
    held_.push_back(tensor);
    return data_->append_held_with_crc32c(0, held_.back().bytes());
  }
  const internal::StringsHead head = internal::encode_strings_head(tensor.strings());
  data_->append(head.bytes);
  shard_bytes_ += head.bytes.size() + tensor.num_bytes();
  uint32_t crc = head.crc;
  for (const std::string& string : tensor.strings())
    crc = data_->append_with_crc32c(crc, std::as_bytes(std::span(string)));
  return crc;
}

void BundleWriter::pad(size_t alignment) {
  const size_t surplus = shard_bytes_ % alignment;
  if (surplus == 0) return;
  const std::vector<std::byte> zeros(alignment - surplus);
  data_->append(zeros);
  shard_bytes_ += zeros.size();
}

std::string BundleWriter::encode_index() {
  index_.emplace("", internal::encode(internal::BundleHeader{.num_shards = num_shards_}));
  for (const auto& [name, entry] : partitioned_) index_.emplace(name, internal::encode(entry));
  return internal::encode_table(index_);
}

void BundleWriter::write_index(const std::string& table) {
  const auto file = files_.create(temp_index_);
  file->append(table);
  file->sync();
  file->close();
  index_bytes_ = table.size();
  index_crc32c_ = mask_crc32c(crc32c(table));
}

void BundleWriter::remove_temporaries() noexcept {
  before_.reset();
  data_.reset();
  const auto remove = [this](const std::string& path) {
    try {
      if (files_.exists(path)) files_.remove(path);
    } catch (const std::exception& error) {
      log(Severity::kWarning, error.what());
    }
  };
  for (const std::string& path : temp_data_) remove(path);
  remove(temp_index_);
}

}  // namespace crochet
