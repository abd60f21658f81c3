// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/layout/added_tensors.h"
#include "crochet/checkpoint/layout/checkpoint_writer.h"
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
};

// Writes a checkpoint, so that it is either complete or absent, whatever stops the program or the
// machine.
//
//   BundleWriter writer(FileSystem::posix(), "runs/digits/model.ckpt-2000");
//   writer.add("model/w1", w1);
//   writer.finish();
//
// The bytes go to `<data name>.tempstate<number>` at once, in the order of the
// calls; no file has its final name before publish(). Without publish(), and
// after an error, the temporary files are removed; then every call throws
// FailedPreconditionError and a new writer is needed.
//
// Not thread-safe.
class BundleWriter final : public CheckpointWriter {
 public:
  // Creates the directory if it is missing. `files` is not owned and must outlive this.
  // Throws: InvalidArgumentError for an alignment of 0, and for no data files or more than 99999.
  BundleWriter(FileSystem& files, std::string prefix, const BundleWriterOptions& options = {});
  BundleWriter(const BundleWriter&) = delete;
  BundleWriter& operator=(const BundleWriter&) = delete;

  // Throws: InvalidArgumentError for a name that is empty, starts with a zero
  // byte or was added before, and for an unset tensor.
  void add(std::string_view name, const Tensor& tensor) override;

  // Adds a part of a tensor that is too large for contiguous memory, or is stored in
  // several parts. `full_shape` is the shape of the whole; readers see one tensor, and
  // can read any part that was added.
  //
  //   writer.add_slice("embedding", {1000, 64}, parse_slice("0,500:-"), upper);
  //   writer.add_slice("embedding", {1000, 64}, parse_slice("500,500:-"), lower);
  //
  // Throws: as add(); InvalidArgumentError for a slice that reaches outside, overlaps
  // another one or does not match the tensor's shape, and if type or full shape differ
  // from those of earlier slices.
  void add_slice(std::string_view name, const Shape& full_shape, const TensorSlice& slice,
                 const Tensor& tensor) override;

  // Ends this data file: later tensors go to the next one. Data files that are never begun exist,
  // and are empty. Throws: InvalidArgumentError if this is the last one.
  void next_shard() override;

  void write() override;
  // Writes the index, too. Returns once all bytes would survive a power cut,
  // under their temporary names.
  void write_and_sync() override;
  // Gives the files their final names: the data first, the index last, since a
  // checkpoint exists once its index does. A checkpoint with the same prefix is
  // replaced: its index is removed first, so that an index never exists with data
  // of another checkpoint. Returns once the names would survive a power cut.
  // Requires: write_and_sync().
  void publish() override;

  const std::string& prefix() const { return prefix_; }
  size_t num_tensors() const { return num_tensors_; }
  uint64_t data_bytes() const { return finished_bytes_ + shard_bytes_; }
  // The size of data and index. Requires: write_and_sync().
  uint64_t total_bytes() const override { return data_bytes() + index_bytes_; }
  // The masked crc32c of the index file's bytes. Requires: write_and_sync().
  uint32_t index_crc32c() const override { return index_crc32c_; }

 private:
  using StagedFiles = internal::StagedFiles;

  void begin_shard();
  // Writes the elements; returns their encoded entry for the index.
  std::string store(const Tensor& tensor);
  void pad(size_t alignment);
  std::string encode_index();

  const std::string prefix_;
  const size_t alignment_;
  const int num_shards_;
  const std::vector<uint64_t> expected_bytes_;

  internal::AddedTensors added_;
  std::map<std::string, std::string> index_;  // The table, without its header.
  std::string table_;                         // The index, once all tensors are written.
  std::vector<Tensor> held_;                  // Tensors that are written without a copy.
  int num_begun_ = 0;                         // Number of shards begun.
  WritableFile* data_ = nullptr;              // The current shard.
  uint64_t shard_bytes_ = 0;                  // Of the current shard.
  uint64_t finished_bytes_ = 0;               // Of the earlier shards.
  size_t num_tensors_ = 0;
  uint64_t index_bytes_ = 0;
  uint32_t index_crc32c_ = 0;
  StagedFiles staged_;  // After held_: the files are closed before the tensors are released.
};

}  // namespace crochet::inline v0
