// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// A data file of a tensor bundle that is being written.
//
// Not thread-safe.
class DataFile {
 public:
  // `file` is not owned and must outlive this. `number`: among the data files of the checkpoint.
  // `alignment`: see BundleWriterOptions.
  DataFile(WritableFile& file, size_t number, size_t alignment)
      : file_(file), number_(number), alignment_(alignment) {}
  DataFile(const DataFile&) = delete;
  DataFile& operator=(const DataFile&) = delete;

  // Appends the elements. The tensor's memory is held until release().
  StoredPlace append(const TensorToWrite& added);
  // Requires: the file has been flushed, or is closed.
  void release() { held_.clear(); }
  uint64_t num_bytes() const { return num_bytes_; }

 private:
  void pad(size_t alignment);

  WritableFile& file_;  // Not owned; outlives this.
  const size_t number_;
  const size_t alignment_;
  uint64_t num_bytes_ = 0;
  std::vector<Tensor> held_;  // Tensors that are written without a copy.
};

}  // namespace crochet::inline v0::internal
