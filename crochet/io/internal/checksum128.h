// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "crochet/base/internal/export.h"
#include "crochet/base/read_bytes.h"

namespace crochet::inline v0::internal {

// A checksum by which two values can be taken for equal: of 2^64 pairs that differ by chance, one
// has equal checksums. It protects against accidents, not against an adversary.
struct Checksum128 {
  uint64_t low = 0;
  uint64_t high = 0;

  friend bool operator==(const Checksum128&, const Checksum128&) = default;
};

// XXH3 with 128 bits, of all bytes.
CROCHET_EXPORT Checksum128 checksum128(std::span<const std::byte> bytes);
// The same of `num_bytes` bytes that `read` fills in, piece by piece, in order.
CROCHET_EXPORT Checksum128 checksum128(size_t num_bytes, const ReadBytes& read);

}  // namespace crochet::inline v0::internal
