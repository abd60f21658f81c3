// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace crochet::internal {

// The stored form of a string tensor (numbers in the writer's byte order):
//
//   strings := length:varint64* crc(lengths):u32 byte*
//
// crc(lengths) is the masked crc32c of the lengths, each as u32, or u64 from
// 2^32 on, rather than of the varints. The crc of the whole goes on from the unmasked
// one over the stored crc(lengths) and all bytes of the strings.
//
// Returns the unmasked crc of the whole. Throws: DataLossError, without a place, if
// the lengths do not fit the bytes or their own crc.
uint32_t crc32c_of_strings(std::span<const std::byte> stored, int64_t num_elements,
                           bool big_endian);

}  // namespace crochet::internal
