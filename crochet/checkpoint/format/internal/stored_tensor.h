// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// The alignment of tensors in a data file: large ones start at a page, so that disks write and
// programs map them without a copy; readers use the offsets of the entries.
inline constexpr size_t kDataPageBytes = 4096;
inline size_t data_alignment(const Tensor& tensor) {
  const bool is_large = tensor.dtype() != DType::kString && tensor.num_bytes() >= kPageAlignedBytes;
  return is_large ? kDataPageBytes : 1;
}

// The location and meaning of the bytes of one tensor.
struct StoredTensor {
  DType dtype = DType::kInvalid;
  Shape shape = {};
  int32_t shard = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t masked_crc32c = 0;
  // Not empty for the entry of a partitioned tensor; then its bytes are in the entries of the
  // slices, and the four fields above have no meaning.
  std::vector<TensorSlice> slices = {};

  friend bool operator==(const StoredTensor&, const StoredTensor&) = default;
};

}  // namespace crochet::inline v0::internal
