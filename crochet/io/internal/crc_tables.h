// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace crochet::inline v0::internal {

// A crc of 32 bits, of any polynomial, with 8 bytes by 8 look-ups, on every processor.
//
// Row n has the states that each byte leads to, from zero, when n zero bytes follow it.
using CrcTables = std::array<std::array<uint32_t, 256>, 8>;

// That of crc32c, with its bits reversed.
inline constexpr uint32_t kCrc32cPolynomial = 0x82f63b78;

// `polynomial` has its bits reversed.
constexpr CrcTables make_crc_tables(uint32_t polynomial) {
  CrcTables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? polynomial : 0u);
    tables[0][byte] = state;
  }
  for (size_t n = 1; n < tables.size(); ++n)
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[n - 1][byte];
      tables[n][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  return tables;
}

inline uint32_t extend_crc_by_tables(const CrcTables& tables, uint32_t crc,
                                     std::span<const std::byte> data) {
  uint32_t state = ~crc;
  for (; data.size() >= 8; data = data.subspan(8)) {
    uint32_t next = 0;
    for (size_t i = 0; i < 8; ++i) {
      const uint32_t before = i < 4 ? (state >> (8 * i)) & 0xff : 0;
      next ^= tables[7 - i][before ^ static_cast<uint32_t>(data[i])];
    }
    state = next;
  }
  for (const std::byte byte : data)
    state = (state >> 8) ^ tables[0][(state ^ static_cast<uint32_t>(byte)) & 0xff];
  return ~state;
}

}  // namespace crochet::inline v0::internal
