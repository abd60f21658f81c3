// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/crc32c_ways.h"

#include <cstring>

#include "crochet/io/internal/crc_tables.h"

namespace crochet::inline v0::internal {

uint32_t extend_crc32c_by_table(uint32_t crc, std::span<const std::byte> data) {
  static constexpr CrcTables kTables = make_crc_tables(kCrc32cPolynomial);
  return extend_crc_by_tables(kTables, crc, data);
}

#ifdef __x86_64__

bool cpu_has_crc32c() { return __builtin_cpu_supports("sse4.2") != 0; }

__attribute__((target("sse4.2"))) uint32_t extend_crc32c_by_cpu(uint32_t crc,
                                                                std::span<const std::byte> data) {
  uint64_t state = ~crc;
  const std::byte* from = data.data();
  size_t left = data.size();
  for (; left >= sizeof(uint64_t); left -= sizeof(uint64_t), from += sizeof(uint64_t)) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, from, sizeof(bytes));
    state = __builtin_ia32_crc32di(state, bytes);
  }
  auto rest = static_cast<uint32_t>(state);
  for (; left > 0; --left, ++from)
    rest = __builtin_ia32_crc32qi(rest, static_cast<unsigned char>(*from));
  return ~rest;
}

#else

bool cpu_has_crc32c() { return false; }

uint32_t extend_crc32c_by_cpu(uint32_t crc, std::span<const std::byte> data) {
  return extend_crc32c_by_table(crc, data);
}

#endif

}  // namespace crochet::inline v0::internal
