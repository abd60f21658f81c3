// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/checksum128.h"

#include <algorithm>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace crochet::inline v0::internal {
namespace {

// The unit of reads: still in the first-level cache when the checksum is computed.
constexpr size_t kPieceBytes = size_t{16} << 10;

Checksum128 checksum_of(const XXH128_hash_t& hash) {
  return {.low = hash.low64, .high = hash.high64};
}

}  // namespace

Checksum128 checksum128(std::span<const std::byte> bytes) {
  return checksum_of(XXH3_128bits(bytes.data(), bytes.size()));
}

Checksum128 checksum128(size_t num_bytes, const ReadBytes& read) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  std::vector<std::byte> memory(std::min(num_bytes, kPieceBytes));
  for (size_t begin = 0; begin < num_bytes; begin += memory.size()) {
    const auto piece = std::span(memory).first(std::min(memory.size(), num_bytes - begin));
    read(begin, piece);
    XXH3_128bits_update(&state, piece.data(), piece.size());
  }
  return checksum_of(XXH3_128bits_digest(&state));
}

}  // namespace crochet::inline v0::internal
