// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace crochet::inline v0::internal {

// The integers of LevelDB's files, little-endian: fixed32 is four bytes, a
// varint has seven bits per byte, low group first, with the high bit set in all
// bytes except the last.
//
// take_* parse a number at the front of untrusted bytes and remove it; they return
// std::nullopt if the bytes end too early or the number is too large.

inline void put_fixed32(std::string& to, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(value >> shift);
}

inline void put_varint64(std::string& to, uint64_t value) {
  for (; value >= 0x80; value >>= 7) to += static_cast<char>(value | 0x80);
  to += static_cast<char>(value);
}

inline std::optional<uint32_t> take_fixed32(std::string_view& from) {
  if (from.size() < sizeof(uint32_t)) return std::nullopt;
  uint32_t value = 0;
  for (size_t i = 0; i < sizeof(uint32_t); ++i)
    value |= static_cast<uint32_t>(static_cast<unsigned char>(from[i])) << (8 * i);
  from.remove_prefix(sizeof(uint32_t));
  return value;
}

inline std::optional<uint64_t> take_varint64(std::string_view& from) {
  uint64_t value = 0;
  for (size_t i = 0; i < from.size() && i < 10; ++i) {
    const uint64_t byte = static_cast<unsigned char>(from[i]);
    if (i == 9 && byte > 1) return std::nullopt;  // More than 64 bits.
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) {
      from.remove_prefix(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

inline std::optional<uint32_t> take_varint32(std::string_view& from) {
  std::string_view rest = from;
  const std::optional<uint64_t> value = take_varint64(rest);
  if (!value || *value > UINT32_MAX) return std::nullopt;
  from = rest;
  return static_cast<uint32_t>(*value);
}

}  // namespace crochet::inline v0::internal
