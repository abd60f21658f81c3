// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/safetensors/internal/safetensors_format.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// Notes that crochet writes into the metadata of a safetensors file, for information that the
// format itself cannot hold:
//
//   crochet.header_crc32c    8 hex digits: the crc32c of length and header, these digits as zeros
//   crochet.crc32c           8 hex digits per tensor, in the header's order, separated by spaces
//   crochet.dtype.<name>     "<dtype> <shape>": the meaning of the bytes of the U8 tensor <name>
//   crochet.slice.<name>     "<shape> <slice> <key>": the tensor <name> is this slice of <key>
//
// A file with any of these has the first two. Crcs are not masked, since none covers another. Other
// keys, even if they begin with "crochet.", mean nothing.
using Metadata = std::map<std::string, std::string, std::less<>>;

inline constexpr std::string_view kNotePrefix = "crochet.";
inline constexpr std::string_view kHeaderChecksumKey = "crochet.header_crc32c";
inline constexpr std::string_view kIndexChecksumKey = "crochet.index_crc32c";
inline constexpr std::string_view kChecksumsKey = "crochet.crc32c";
inline constexpr std::string_view kDtypePrefix = "crochet.dtype.";
inline constexpr std::string_view kSlicePrefix = "crochet.slice.";

// True for the key of a note.
bool is_note(std::string_view key);
bool has_notes(const Metadata& metadata);

std::string encode_checksums(std::span<const uint32_t> crcs);
// Unset if the text is not a list of `count` checksums.
std::optional<std::vector<uint32_t>> decode_checksums(std::string_view text, size_t count);

// The position of the text between the quotes after `"<key>":"`, which compact JSON contains at
// most once: within a string the quotes would be escaped. Unset unless the text has 8 characters.
std::optional<size_t> find_checksum(std::string_view json, std::string_view key);
// The crc32c of bytes, with the 8 bytes at `position` replaced by zero digits.
uint32_t crc32c_without(std::string_view bytes, size_t position);
// Verifies the checksum that the bytes contain of themselves, and returns it. `file` is for
// messages. Throws: DataLossError.
uint32_t verified_checksum(std::string_view bytes, std::string_view key, std::string_view file);
// Writes the checksum of the bytes into them. Requires: they contain the key.
void put_checksum(std::string& bytes, std::string_view key);

struct StoredType {
  DType dtype = DType::kInvalid;
  Shape shape = {};

  friend bool operator==(const StoredType&, const StoredType&) = default;
};
std::string encode(const StoredType& type);
std::optional<StoredType> decode_stored_type(std::string_view text);

struct SliceNote {
  Shape full_shape = {};
  TensorSlice slice = {};
  std::string key = {};
};
std::string encode(const SliceNote& note);
std::optional<SliceNote> decode_slice_note(std::string_view text);

}  // namespace crochet::inline v0::internal
