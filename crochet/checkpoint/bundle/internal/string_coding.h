// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace crochet::inline v0::internal {

// The stored form of a string tensor (numbers in the writer's byte order):
//
//   strings := length:varint64* crc(lengths):u32 byte*
//
// crc(lengths) is the masked crc32c of the lengths, each as u32, or u64 from
// 2^32 on, rather than of the varints. (TensorFlow once supported only u32 lengths: the bytes are
// the same.) The crc of the whole extends the unmasked one by the stored crc(lengths) and all
// bytes of the strings.
//
// The part before the bytes of the strings, in this machine's byte order, and
// its unmasked crc, to be extended by those bytes.
struct StringsHead {
  std::string bytes;
  uint32_t crc = 0;
};
StringsHead encode_strings_head(std::span<const std::string> strings);

// The maximum size of the head for `num_elements` strings.
uint64_t max_strings_head_bytes(int64_t num_elements);

struct DecodedStringsHead {
  std::vector<uint64_t> lengths;
  size_t num_bytes = 0;  // Of the head; the strings follow it.
  uint32_t crc = 0;      // Unmasked; to be extended by the strings.
};
// For untrusted bytes: the first of the stored bytes, including all of the head unless
// `stored_bytes` is smaller. The caller compares the crc of the whole.
// Throws: DataLossError, without a location, if the lengths do not fit the bytes or
// their own crc.
DecodedStringsHead decode_strings_head(std::span<const std::byte> head, uint64_t stored_bytes,
                                       int64_t num_elements, bool big_endian);

}  // namespace crochet::inline v0::internal
