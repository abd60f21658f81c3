// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/safetensors/internal/safetensors_types.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0::internal {

// file := length(header):u64le  header  data
//
// The header is JSON, padded with spaces: {"__metadata__": {key: string, ...}, name: {"dtype":
// "F32", "shape": [2,3], "data_offsets": [begin,end]}, ...}. The tensors' bytes, little-endian and
// row-major, cover the data without holes.
inline constexpr uint64_t kSafetensorsLengthBytes = sizeof(uint64_t);
// The limit of the format's own library.
inline constexpr uint64_t kMaxSafetensorsHeaderBytes = 100'000'000;

struct SafetensorsTensor {
  std::string name;
  const SafetensorsType* type;  // Null for one that is not known.
  Shape shape;
  uint64_t begin;  // In the data.
  uint64_t end;
  std::string unknown_type = {};
};

struct SafetensorsHeader {
  std::vector<SafetensorsTensor> tensors;  // In the order of the header.
  std::map<std::string, std::string, std::less<>> metadata;
};

// Length and header, padded so that the data is 8-aligned. Without metadata the bytes are the same
// as those written by Python's package. `file` is for messages.
// Requires: the tensors cover the data, in this order.
// Throws: InvalidArgumentError for names and metadata that are not UTF-8, and for a header that is
// too large.
std::string encode(const SafetensorsHeader& header, std::string_view file);

// The inverse, without the length, for untrusted bytes. What it does not know is ignored, as by the
// format's own library: other fields of a tensor, metadata that is null. `data_bytes` is the number
// of bytes after the header. Throws: DataLossError for anything that violates the format.
SafetensorsHeader decode_safetensors_header(std::string_view text, uint64_t data_bytes,
                                            std::string_view file);

// A string in JSON, with quotes. Throws: InvalidArgumentError if it is not UTF-8.
std::string json_string(std::string_view text);
// The same for messages, for any bytes; long strings are shortened.
std::string shown(std::string_view text);

}  // namespace crochet::inline v0::internal
