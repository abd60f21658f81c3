// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/string_coding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/coding.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0::internal {
namespace {

constexpr size_t kCrcBytes = sizeof(uint32_t);
constexpr uint64_t kMaxVarint64Bytes = 10;

// Extends a crc by the `size` low bytes of a number.
uint32_t extend_by_number(uint32_t crc, uint64_t number, size_t size, bool big_endian) {
  std::array<std::byte, 8> bytes;
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(number >> (8 * i));
  if (big_endian) std::reverse(bytes.begin(), bytes.begin() + size);
  return extend_crc32c(crc, std::span(bytes).first(size));
}

uint32_t extend_by_length(uint32_t crc, uint64_t length, bool big_endian) {
  return extend_by_number(crc, length, length <= UINT32_MAX ? 4 : 8, big_endian);
}

uint32_t take_crc(std::string_view& from, bool big_endian) {
  const auto crc = take_fixed32(from);
  if (!crc) throw DataLossError("the bytes end before the checksum of the lengths");
  return big_endian ? __builtin_bswap32(*crc) : *crc;
}

}  // namespace

StringsHead encode_strings_head(std::span<const std::string> strings) {
  static_assert(std::endian::native == std::endian::little);
  StringsHead head;
  for (const std::string& string : strings) {
    put_varint64(head.bytes, string.size());
    head.crc = extend_by_length(head.crc, string.size(), false);
  }
  const size_t num_length_bytes = head.bytes.size();
  put_fixed32(head.bytes, mask_crc32c(head.crc));
  head.crc =
      extend_crc32c(head.crc, std::as_bytes(std::span(head.bytes)).subspan(num_length_bytes));
  return head;
}

uint64_t max_strings_head_bytes(int64_t num_elements) {
  return static_cast<uint64_t>(num_elements) * kMaxVarint64Bytes + kCrcBytes;
}

DecodedStringsHead decode_strings_head(std::span<const std::byte> head, uint64_t stored_bytes,
                                       int64_t num_elements, bool big_endian) {
  std::string_view rest(reinterpret_cast<const char*>(head.data()), head.size());
  DecodedStringsHead decoded;  // Nothing is reserved: the number of lengths is not trusted.
  uint64_t total = 0;
  for (int64_t i = 0; i < num_elements; ++i) {
    const auto length = take_varint64(rest);
    if (!length || *length > stored_bytes || (total += *length) > stored_bytes)
      throw DataLossError(
          fmt::format("the lengths of the strings run past the {} bytes stored", stored_bytes));
    decoded.crc = extend_by_length(decoded.crc, *length, big_endian);
    decoded.lengths.push_back(*length);
  }
  const std::string_view stored_crc = rest.substr(0, kCrcBytes);
  const uint32_t expected = unmask_crc32c(take_crc(rest, big_endian));
  if (decoded.crc != expected)
    throw DataLossError(
        fmt::format("crc32c of the lengths of the strings: found {:08x}, expected {:08x}",
                    decoded.crc, expected));
  decoded.num_bytes = head.size() - rest.size();
  if (stored_bytes - decoded.num_bytes != total)
    throw DataLossError(fmt::format("the strings: found {} bytes, expected {}",
                                    stored_bytes - decoded.num_bytes, total));
  decoded.crc = extend_crc32c(decoded.crc, std::as_bytes(std::span(stored_crc)));
  return decoded;
}

}  // namespace crochet::inline v0::internal
