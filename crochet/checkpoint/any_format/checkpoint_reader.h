// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/format/unreadable_value.h"
#include "crochet/io/file_system.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0 {

namespace internal {
class CheckpointContents;
}  // namespace internal

// The description of one tensor in a checkpoint.
struct TensorInfo {
  DType dtype = DType::kInvalid;
  Shape shape = {};
  // For a partitioned variable: the number of parts it is stored in; 0 for a variable that
  // is stored whole.
  size_t num_slices = 0;
};

// Reads a checkpoint of any format, written by crochet, TensorFlow, torch, or any writer of
// safetensors.
//
//   CheckpointReader reader("runs/digits/model.ckpt-2000");
//   for (const auto& [name, info] : reader.tensors()) fmt::print("{} {} {}\n", name, info.dtype,
//   info.shape); Tensor w1 = reader.read("model/w1");
//
// Files are not trusted: a wrong byte is a DataLossError that names its location,
// never a wrong value, and nothing is allocated for missing data. Opening reads
// the index; data files are opened when they are first needed. Only safetensors files of other
// writers, and some of torch, may have no checksums: then only their structure can be verified.
//
// A checkpoint is named by its prefix; one in the safetensors format also by its file or the index
// of several, and one of torch by its file. Such files may have any name: they are recognized by
// their content. If both formats exist for a prefix, the tensor bundle is read.
//
// Thread-safe: several threads may read.
class CROCHET_EXPORT CheckpointReader {
 public:
  // `files` is not owned and outlives this.
  // Throws: NotFoundError if there is no such checkpoint; DataLossError for a damaged index;
  // InvalidArgumentError for a version of the format that this reader cannot read;
  // UnimplementedError for a file of another kind, as in TensorFlow's V1 format or a pointer of Git
  // LFS, for a compressed index, which no release of TensorFlow writes, and for a big-endian file
  // of torch.
  explicit CheckpointReader(std::string prefix, FileSystem& files = FileSystem::posix());
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;

  // Functions that return a reference return a value for a temporary reader, where it would dangle:
  // `for (const auto& [name, info] : CheckpointReader(prefix).tensors())` is safe.

  // As passed to the constructor.
  const std::string& prefix() const&;
  std::string prefix() && { return std::as_const(*this).prefix(); }
  CheckpointFormat format() const;
  // True if there is a checksum for every byte of a tensor.
  bool has_checksums() const;
  // The metadata of a safetensors file, without crochet's own notes; empty for a bundle.
  const std::map<std::string, std::string, std::less<>>& metadata() const&;
  std::map<std::string, std::string, std::less<>> metadata() && {
    return std::as_const(*this).metadata();
  }
  // A type of safetensors or torch that DType does not have is kInvalid, and cannot be read.
  const std::map<std::string, TensorInfo, std::less<>>& tensors() const&;
  std::map<std::string, TensorInfo, std::less<>> tensors() && {
    return std::as_const(*this).tensors();
  }
  // What read() refuses, by name, and why: values of a file of torch that are not tensors, numbers
  // or strings, variants, tensors in a missing or damaged file. Those whose type and shape are
  // known are in tensors(), too. They do not prevent the others from being read.
  const UnreadableValues& unreadable() const&;
  UnreadableValues unreadable() && { return std::as_const(*this).unreadable(); }
  bool contains(std::string_view name) const;

  // The tensor with this name, after verifying its checksum.
  // Throws: NotFoundError for an unknown name; the error of UnreadableValue::code for one of
  // unreadable(), UnimplementedError for a variant or resource; DataLossError for missing or wrong
  // bytes; InvalidArgumentError for a partitioned variable with parts that were not stored.
  Tensor read(std::string_view name) const;
  // Reads the elements, row-major, into the caller's memory. After an error its content
  // is undefined.
  // Throws: as read(); InvalidArgumentError unless `destination` has exactly the tensor's bytes,
  // and for strings.
  void read_into(std::string_view name, std::span<std::byte> destination) const;

  // Maps the tensor without reading or verifying it, for states larger than memory: if possible,
  // its elements are the file's own pages, which the system reads when they are accessed and may
  // drop again. Tensors that are small, strings, partitioned, in another byte order, or not aligned
  // for their type are read as by read(). The tensor may outlive this. The file is checked to
  // contain all bytes; if it is truncated later, access to the missing bytes ends the program with
  // SIGBUS. Throws: as read().
  Tensor map(std::string_view name) const;

  // Reads a part of a tensor, which need not match the parts it is stored in.
  // Throws: as read(); InvalidArgumentError for a slice that is not in the tensor.
  Tensor read_slice(std::string_view name, const TensorSlice& slice) const;
  // The same into the caller's memory. Throws: as read_into() and read_slice().
  void read_slice_into(std::string_view name, const TensorSlice& slice,
                       std::span<std::byte> destination) const;
  // The parts that a partitioned variable is stored in, in the order they were added (in
  // safetensors: by name); empty for a tensor that is stored whole. Throws: NotFoundError.
  const std::vector<TensorSlice>& slices(std::string_view name) const&;
  std::vector<TensorSlice> slices(std::string_view name) && {
    return std::as_const(*this).slices(name);
  }

  // A line "<name> (DT_FLOAT) [2,3]" for each tensor, by name, as in TensorFlow's reader.
  std::string debug_string() const;

  // Reads everything with a checksum, including parts and strings (for variants it only checks the
  // location), each data file from start to end, and compares the checksums.
  // Throws: DataLossError for the first error; NotFoundError for values in a missing file.
  void verify() const;
  // The same for one tensor. Throws: NotFoundError; DataLossError.
  void verify(std::string_view name) const;

 private:
  friend class internal::CheckpointContents;

  std::shared_ptr<internal::CheckpointContents> contents_;
};

// True if there is an index, which makes files a checkpoint, or a file with exactly this name.
CROCHET_EXPORT bool checkpoint_exists(FileSystem& files, const std::string& prefix);

}  // namespace crochet::inline v0
