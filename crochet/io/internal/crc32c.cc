// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/crc32c.h"

#include "crochet/io/internal/crc_tables.h"

namespace crochet::inline v0::internal {
namespace {

// Polynomials over GF(2), reduced by that of crc32c; as in its crcs, the highest bit is the
// coefficient of x^0.
constexpr uint32_t kOne = 1u << 31;
constexpr uint32_t kByte = 1u << 23;  // x^8: what a byte moves the bytes before it by.

constexpr uint32_t product(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (; a != 0; a <<= 1) {
    if ((a & kOne) != 0) sum ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kCrc32cPolynomial : 0u);
  }
  return sum;
}

}  // namespace

uint32_t crc32c(std::span<const std::byte> data) { return extend_crc32c(0, data); }

uint32_t crc32c(std::string_view data) { return crc32c(std::as_bytes(std::span(data))); }

uint32_t combine_crc32c(uint32_t crc, uint32_t next, uint64_t num_bytes) {
  uint32_t shift = kOne;
  for (uint32_t power = kByte; num_bytes != 0; num_bytes >>= 1, power = product(power, power))
    if ((num_bytes & 1) != 0) shift = product(shift, power);
  return product(crc, shift) ^ next;
}

}  // namespace crochet::inline v0::internal
