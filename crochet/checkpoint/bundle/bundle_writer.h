// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/layout/added_tensors.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/checkpoint/layout/staged_files.h"
#include "crochet/io/file_system.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0 {

struct BundleWriterOptions {
  // Every tensor starts at a multiple of this many bytes in the data file; tensors of at least 1
  // MiB always start at a page (kDataPageBytes), so that they are written and mapped without a
  // copy.
  size_t alignment = 1;
  // The number of data files; see next_shard().
  int num_shards = 1;
  // The approximate size of each data file in bytes, so that room is reserved first and the file is
  // written in the fastest way; 0, or no element, if unknown.
  std::vector<uint64_t> expected_bytes = {};
  // Data files of complete checkpoints in the same directory that are data files of this one, too,
  // after its own: TensorToWrite::linked refers to them by their numbers here.
  std::vector<std::string> linked_files = {};
};

// Writes a checkpoint in TensorFlow's format.
//
//   BundleWriter writer(FileSystem::posix(), "runs/digits/model.ckpt-2000");
//   writer.add("model/w1", w1);
//   writer.finish();
//
// The bytes go to `<data name>.tempstate<number>` at once, in the order of the calls.
//
// Not thread-safe.
class BundleWriter final : public CheckpointWriter {
 public:
  // Creates the directory if it is missing. `files` is not owned and must outlive this.
  // Throws: InvalidArgumentError for an alignment of 0, and for no data files or more than 99999;
  // what FileSystem::link() throws.
  BundleWriter(FileSystem& files, std::string prefix, BundleWriterOptions options = {});
  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;

  // Names are not empty and do not start with a zero byte.
  void add(std::string_view name, const TensorToWrite& added) override;

  // For a tensor that is too large for contiguous memory, or is stored in several parts:
  //
  //   writer.add_slice("embedding", {1000, 64}, parse_slice("0,500:-"), upper);
  //   writer.add_slice("embedding", {1000, 64}, parse_slice("500,500:-"), lower);
  void add_slice(std::string_view name, const Shape& full_shape, const TensorSlice& slice,
                 const TensorToWrite& added) override;
  bool can_read() const override { return true; }
  std::optional<StoredPlace> last_place() const override { return last_place_; }

  // Data files that are never begun exist, and are empty.
  void next_shard() override;

  void write() override;
  // Writes the index, too.
  void write_and_sync() override;
  // A checkpoint with the same prefix is replaced: its index is removed first, so that an index
  // never exists with data of another checkpoint.
  void publish() override;

  // Of the files that are written.
  uint64_t data_bytes() const { return finished_bytes_ + shard_bytes_; }
  uint64_t total_bytes() const override { return data_bytes() + linked_bytes_ + index_bytes_; }
  int num_files() const override {
    return options_.num_shards + static_cast<int>(options_.linked_files.size());
  }
  uint64_t linked_bytes() const override { return linked_bytes_; }
  uint32_t index_crc32c() const override { return index_crc32c_; }

 private:
  using StagedFiles = internal::StagedFiles;

  void begin_shard();
  // Throws: InvalidArgumentError for a type that TensorFlow does not have.
  void check_type(std::string_view name, const Tensor& tensor) const;
  // Writes the elements, unless they are linked; returns their encoded entry for the index.
  std::string store(const TensorToWrite& added);
  StoredPlace write_elements(const TensorToWrite& added);
  std::string name_of_file(int file) const { return data_filename(prefix_, file, num_files()); }
  void pad(size_t alignment);
  std::string encode_index();

  const std::string prefix_;
  const BundleWriterOptions options_;

  internal::AddedTensors added_;
  std::map<std::string, std::string> index_;  // The table, without its header.
  std::string table_;                         // The index, once all tensors are written.
  std::vector<Tensor> held_;                  // Tensors that are written without a copy.
  int num_begun_ = 0;                         // Number of shards begun.
  WritableFile* data_ = nullptr;              // The current shard.
  uint64_t shard_bytes_ = 0;                  // Of the current shard.
  uint64_t finished_bytes_ = 0;               // Of the earlier shards.
  uint64_t linked_bytes_ = 0;                 // Of the files that are linked.
  std::optional<StoredPlace> last_place_;     // Of the tensor that was added last.
  uint64_t index_bytes_ = 0;
  uint32_t index_crc32c_ = 0;
  StagedFiles staged_;  // After held_: the files are closed before the tensors are released.
};

}  // namespace crochet::inline v0
