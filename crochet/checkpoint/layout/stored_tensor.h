// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::internal {

// Where a tensor may start in a data file: a multiple of this. Large ones are at pages, where disks
// write and programs map them as they are; readers go by the offsets of the entries.
inline constexpr size_t kDataPageBytes = 4096;
inline size_t data_alignment(const Tensor& tensor) {
  const bool is_large = tensor.dtype() != DType::kString && tensor.num_bytes() >= kPageAlignedBytes;
  return is_large ? kDataPageBytes : 1;
}

// Where the bytes of one tensor are, and what they mean.
struct StoredTensor {
  DType dtype = DType::kInvalid;
  Shape shape = {};
  int32_t shard = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t masked_crc32c = 0;
  // Not empty for the whole of a partitioned tensor; its bytes are in the entries of the slices
  // then, and the four fields above mean nothing.
  std::vector<TensorSlice> slices = {};

  friend bool operator==(const StoredTensor&, const StoredTensor&) = default;
};

// What a checkpoint's index has, by name; the slices of partitioned tensors have keys of their own
// (slice_key.h), which start with a zero byte.
using StoredTensors = std::map<std::string, StoredTensor, std::less<>>;

}  // namespace crochet::internal
