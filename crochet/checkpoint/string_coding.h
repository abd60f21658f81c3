// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crochet::internal {

// The stored form of a string tensor (numbers in the writer's byte order):
//
//   strings := length:varint64* crc(lengths):u32 byte*
//
// crc(lengths) is the masked crc32c of the lengths, each as u32, or u64 from
// 2^32 on, rather than of the varints. The crc of the whole goes on from the unmasked
// one over the stored crc(lengths) and all bytes of the strings.
//
// What comes before the strings' own bytes, in this machine's byte order, and
// its unmasked crc, which goes on over these bytes.
struct StringsHead {
  std::string bytes;
  uint32_t crc = 0;
};
StringsHead encode_strings_head(std::span<const std::string> strings);

struct DecodedStrings {
  std::vector<std::string_view> strings;  // Into what was decoded.
  uint32_t crc = 0;                       // Unmasked, of the whole.
};
// For bytes that are not trusted; the caller compares the crc of the whole.
// Throws: DataLossError, without a place, if the lengths do not fit the bytes or
// their own crc.
DecodedStrings decode_strings(std::span<const std::byte> stored, int64_t num_elements,
                              bool big_endian);

}  // namespace crochet::internal
