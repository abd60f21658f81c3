// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0::internal {

// crc32c (Castagnoli), as used in TensorFlow's files.
// crc32c("123456789") is 0xe3069283.
CROCHET_EXPORT uint32_t crc32c(std::span<const std::byte> data);
CROCHET_EXPORT uint32_t crc32c(std::string_view data);
// The crc of the bytes that `crc` was computed from, followed by `data`;
// extend_crc32c(0, data) is crc32c(data).
CROCHET_EXPORT uint32_t extend_crc32c(uint32_t crc, std::span<const std::byte> data);
// The crc of bytes with `crc` followed by `num_bytes` bytes with the crc `next`.
CROCHET_EXPORT uint32_t combine_crc32c(uint32_t crc, uint32_t next, uint64_t num_bytes);

// Checksums are stored masked, since the crc of bytes that contain crcs is weak.
// The constant is LevelDB's. mask_crc32c(0xe3069283) is 0xc78ab0e5.
constexpr uint32_t kCrcMaskDelta = 0xa282ead8;
constexpr uint32_t mask_crc32c(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + kCrcMaskDelta; }
constexpr uint32_t unmask_crc32c(uint32_t masked) {
  const uint32_t rotated = masked - kCrcMaskDelta;
  return (rotated >> 17) | (rotated << 15);
}

}  // namespace crochet::inline v0::internal
