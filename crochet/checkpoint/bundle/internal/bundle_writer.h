// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/bundle/internal/data_file.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/internal/added_tensors.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/staged_files.h"
#include "crochet/io/file_system.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

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
// The bytes go to `<data name>.tempstate<number>`, at once and in the order of the calls.
//
// Not thread-safe.
class BundleWriter final : public CheckpointWriter {
 public:
  // Creates the directory if it is missing. `files` is not owned and must outlive this.
  // Throws: InvalidArgumentError for an alignment of 0, for no data files or more than 99999;
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
  std::vector<StoredPlace> places() const override;

  // Data files that are never begun exist, and are empty.
  void next_shard() override;

  void write() override;
  // Writes the index, too.
  void write_and_sync() override;
  // A checkpoint with the same prefix is replaced: its index is removed first, so that an index
  // never exists with data of another checkpoint.
  void publish() override;

  // Of the files that are written.
  uint64_t data_bytes() const;
  uint64_t total_bytes() const override { return data_bytes() + linked_bytes_ + index_bytes_; }
  int num_files() const override {
    return options_.num_shards + static_cast<int>(options_.linked_files.size());
  }
  uint64_t linked_bytes() const override { return linked_bytes_; }
  uint32_t index_crc32c() const override { return index_crc32c_; }

  // Throws: InvalidArgumentError for a type that the format does not have.
  static void check_can_store(const std::string& prefix, std::string_view name,
                              const Tensor& tensor);

 private:
  // An entry of the index: a tensor that was added, a slice, or a tensor in slices.
  struct Added {
    DType dtype = DType::kInvalid;
    Shape shape = {};
    StoredPlace place = {};
    const std::vector<TensorSlice>* slices = nullptr;  // Of a tensor in slices: it has no place.
  };

  void begin_shard();
  // Throws: InvalidArgumentError for a type that TensorFlow does not have.
  // Writes the elements, unless they are linked. `to` is in index_.
  void store(const TensorToWrite& added, Added& to);
  StoredPlace place_of_linked(const StoredPlace& linked) const;
  std::string name_of_file(int file) const { return data_filename(prefix_, file, num_files()); }
  std::string encode_index();

  const std::string prefix_;
  const BundleWriterOptions options_;

  AddedTensors added_;
  std::map<std::string, Added, std::less<>> index_;  // By their keys in the index.
  std::vector<const Added*> stored_;                 // In the order of the calls.
  std::string table_;                                // The index, once all tensors are written.
  std::deque<DataFile> shards_;                      // Those that have been begun.
  uint64_t linked_bytes_ = 0;                        // Of the files that are linked.
  uint64_t index_bytes_ = 0;
  uint32_t index_crc32c_ = 0;
  StagedFiles staged_;  // After shards_: the files are closed before the tensors are released.
};

}  // namespace crochet::inline v0::internal
