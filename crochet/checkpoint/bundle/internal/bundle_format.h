// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/format/internal/stored_tensor.h"

namespace crochet::inline v0::internal {

// Describes the whole bundle; stored under the key "" of the index.
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

// The maximum number of bytes that a tensor takes in a data file, including what precedes it.
uint64_t max_stored_bytes(const Tensor& tensor);

// Encode as protobuf messages, field by field as TensorFlow's BundleHeaderProto
// and BundleEntryProto, without zeros.
std::string encode(const BundleHeader& header);
std::string encode(const StoredTensor& entry);

// The inverse, for bytes that are not trusted. `file` and `name` are for messages.
// Throws: DataLossError for malformed bytes and impossible values;
// InvalidArgumentError for a version that this reader cannot read.
BundleHeader decode_header(std::string_view bytes, std::string_view file);
StoredTensor decode_entry(std::string_view bytes, std::string_view name, std::string_view file);

}  // namespace crochet::inline v0::internal
