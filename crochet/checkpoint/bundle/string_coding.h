// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace crochet::internal {

// The stored form of a string tensor (numbers in the writer's byte order):
//
//   strings := length:varint64* crc(lengths):u32 byte*
//
// crc(lengths) is the masked crc32c of the lengths, each as u32, or u64 from
// 2^32 on, rather than of the varints. (TensorFlow once knew u32 lengths only: the bytes are
// the same.) The crc of the whole goes on from the unmasked
// one over the stored crc(lengths) and all bytes of the strings.
//
// What comes before the strings' own bytes, in this machine's byte order, and
// its unmasked crc, which goes on over these bytes.
struct StringsHead {
  std::string bytes;
  uint32_t crc = 0;
};
StringsHead encode_strings_head(std::span<const std::string> strings);

// The most bytes that the head of so many strings takes.
uint64_t max_strings_head_bytes(int64_t num_elements);

struct DecodedStringsHead {
  std::vector<uint64_t> lengths;
  size_t num_bytes = 0;  // Of the head; the strings come behind it.
  uint32_t crc = 0;      // Unmasked; goes on over the strings.
};
// For bytes that are not trusted: the first ones of what is stored, all of the head among them
// unless `stored_bytes` are fewer. The caller compares the crc of the whole.
// Throws: DataLossError, without a place, if the lengths do not fit the bytes or
// their own crc.
DecodedStringsHead decode_strings_head(std::span<const std::byte> head, uint64_t stored_bytes,
                                       int64_t num_elements, bool big_endian);

}  // namespace crochet::internal
