// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/crc32c_ways.h"

#include <array>
#include <cstring>

namespace crochet::inline v0::internal {
namespace {

using Table = std::array<uint32_t, 256>;

// Row n has the states that each byte leads to, from zero, when n zero bytes follow it.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? 0x82f63b78u : 0u);
    tables[0][byte] = state;
  }
  for (size_t n = 1; n < tables.size(); ++n)
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[n - 1][byte];
      tables[n][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  return tables;
}
constexpr std::array<Table, 8> kTables = make_tables();

uint32_t take_byte(uint32_t state, std::byte byte) {
  return (state >> 8) ^ kTables[0][(state ^ static_cast<uint32_t>(byte)) & 0xff];
}

uint32_t take_8_bytes(uint32_t state, const std::byte* bytes) {
  uint32_t result = 0;
  for (size_t i = 0; i < 8; ++i) {
    const uint32_t before = i < 4 ? (state >> (8 * i)) & 0xff : 0;
    result ^= kTables[7 - i][before ^ static_cast<uint32_t>(bytes[i])];
  }
  return result;
}

}  // namespace

uint32_t extend_crc32c_by_table(uint32_t crc, std::span<const std::byte> data) {
  uint32_t state = ~crc;
  for (; data.size() >= 8; data = data.subspan(8)) state = take_8_bytes(state, data.data());
  for (const std::byte byte : data) state = take_byte(state, byte);
  return ~state;
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
