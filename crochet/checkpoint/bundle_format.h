// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/tensor_slice.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"
#include "crochet/tensor/tensor.h"

namespace crochet {

// A checkpoint `<prefix>` is a tensor bundle: these files, side by side.
//
//   <prefix>.index                  a table (table_reader.h): "" -> header, name -> entry
//   <prefix>.data-00000-of-00001    the tensors' bytes, in one or several shards
std::string index_filename(std::string_view prefix);
std::string data_filename(std::string_view prefix, int shard, int num_shards);

}  // namespace crochet

namespace crochet::internal {

// The names of data files have five digits.
inline constexpr int kMaxShards = 99'999;

// Where a tensor may start in a data file: a multiple of this. Large ones are at pages, where disks
// write and programs map them as they are; readers go by the offsets of the entries.
inline constexpr size_t kDataPageBytes = 4096;
inline size_t data_alignment(const Tensor& tensor) {
  const bool is_large = tensor.dtype() != DType::kString && tensor.num_bytes() >= kPageAlignedBytes;
  return is_large ? kDataPageBytes : 1;
}

// What the key "" of the index says of the whole bundle.
struct BundleHeader {
  int32_t num_shards = 1;
  // The byte order of the tensors' data; everything else is little-endian.
  bool big_endian = false;
  // The format's version, and the readers that may not read it.
  int32_t producer = 1;
  int32_t min_consumer = 0;
  std::vector<int32_t> bad_consumers = {};

  friend bool operator==(const BundleHeader&, const BundleHeader&) = default;
};

// Where the bytes of one tensor are, and what they mean.
struct BundleEntry {
  DType dtype = DType::kInvalid;
  Shape shape = {};
  int32_t shard = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t masked_crc32c = 0;
  // Not empty for the whole of a partitioned tensor; its bytes are in the
  // entries of the slices then, and the four fields above mean nothing.
  std::vector<TensorSlice> slices = {};

  friend bool operator==(const BundleEntry&, const BundleEntry&) = default;
};

// As protobuf messages, field for field TensorFlow's BundleHeaderProto and
// BundleEntryProto, zeros left out.
std::string encode(const BundleHeader& header);
std::string encode(const BundleEntry& entry);

// The inverse, for bytes that are not trusted. `file` and `name` are for messages.
// Throws: DataLossError for malformed bytes and impossible values;
// InvalidArgumentError for a version that this reader cannot read.
BundleHeader decode_header(std::string_view bytes, std::string_view file);
BundleEntry decode_entry(std::string_view bytes, std::string_view name, std::string_view file);

}  // namespace crochet::internal
