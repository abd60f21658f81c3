// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/layout/checkpoint_writer.h"
#include "crochet/io/file_system.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet {

namespace internal {
class CheckpointContents;
}  // namespace internal

// What a checkpoint says of one tensor.
struct TensorInfo {
  DType dtype = DType::kInvalid;
  Shape shape = {};
  // Of a partitioned variable: the number of parts it is stored in; 0 for one that
  // is stored whole.
  size_t num_slices = 0;
};

// Reads a checkpoint of either format: ours, TensorFlow's, or safetensors of anybody's.
//
//   CheckpointReader reader("runs/digits/model.ckpt-2000");
//   for (const auto& [name, info] : reader.tensors()) fmt::print("{} {} {}\n", name, info.dtype,
//   info.shape); Tensor w1 = reader.read("model/w1");
//
// Files are not trusted: a wrong byte is a DataLossError that says where, never
// a wrong value, and nothing is allocated for data that is not there. Opening
// reads the index; data files are opened when they are first needed. Only safetensors files that
// others wrote may have no checksums: of these the structure is all that can be verified.
//
// A checkpoint is named by its prefix; one in the safetensors format also by its file (or the index
// of several), which need not have a prefix that we would give. If there are both formats of a
// prefix, the tensor bundle is read.
//
// Thread-safe: several threads may read.
class CheckpointReader {
 public:
  // `files` is not owned and outlives this.
  // Throws: NotFoundError if there is no such checkpoint; DataLossError for a damaged index;
  // InvalidArgumentError for a version of the format that this reader cannot read;
  // UnimplementedError for a file of exactly this name, which is how TensorFlow's V1 format looks.
  explicit CheckpointReader(std::string prefix, FileSystem& files = FileSystem::posix());
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;

  // As it was given.
  const std::string& prefix() const;
  CheckpointFormat format() const;
  // True if there is a checksum for every byte of a tensor.
  bool has_checksums() const;
  // What a safetensors file says of itself besides the tensors, without what crochet notes for
  // itself; empty for a bundle.
  const std::map<std::string, std::string, std::less<>>& metadata() const;
  // A type of safetensors that DType does not have (F8_E4M3) is kInvalid, and cannot be read.
  const std::map<std::string, TensorInfo, std::less<>>& tensors() const;
  bool contains(std::string_view name) const { return tensors().contains(name); }

  // The tensor of this name; its checksum has been verified.
  // Throws: NotFoundError for an unknown name; UnimplementedError for a variant or resource;
  // DataLossError for missing or wrong bytes; InvalidArgumentError for a partitioned
  // variable of which parts were not stored.
  Tensor read(std::string_view name) const;
  // Reads the elements, row-major, into memory of the caller. After an error
  // its content is undefined.
  // Throws: as read(); InvalidArgumentError unless `destination` has exactly the tensor's bytes,
  // and for strings.
  void read_into(std::string_view name, std::span<std::byte> destination) const;

  // The tensor without reading or verifying it, for states larger than memory: where that can be
  // done, its elements are the file's own pages, which the system reads as they are touched and
  // may drop again. What has to be read, as read() does, is what is small, strings or partitioned,
  // in another byte order, or does not lie as its type must. The tensor may outlive this. That all
  // its bytes are in the file is known now; if the file is cut later, touching what is gone ends
  // the program by SIGBUS. Throws: as read().
  Tensor map(std::string_view name) const;

  // A part of a tensor, whatever parts it is stored in.
  // Throws: as read(); InvalidArgumentError for a slice that is not in the tensor.
  Tensor read_slice(std::string_view name, const TensorSlice& slice) const;
  // The same into memory of the caller. Throws: as read_into() and read_slice().
  void read_slice_into(std::string_view name, const TensorSlice& slice,
                       std::span<std::byte> destination) const;
  // The parts that a partitioned variable is stored in, in the order they were added (in
  // safetensors: by name); none for a tensor that is stored whole. Throws: NotFoundError.
  const std::vector<TensorSlice>& slices(std::string_view name) const;

  // A line "<name> (DT_FLOAT) [2,3]" for each tensor, by name, as TensorFlow's reader has it.
  std::string debug_string() const;

  // Reads everything that has a checksum, parts and strings too (variants as far as
  // their place goes), each data file from its start to its end, and compares the checksums.
  // Throws: DataLossError for the first thing that is wrong.
  void verify() const;
  // The same for one tensor. Throws: NotFoundError; DataLossError.
  void verify(std::string_view name) const;

 private:
  friend class CheckpointPass;

  std::unique_ptr<internal::CheckpointContents> contents_;
};

}  // namespace crochet
