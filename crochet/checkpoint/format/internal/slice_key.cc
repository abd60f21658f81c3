// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/slice_key.h"

namespace crochet::inline v0::internal {
namespace {

// Encodes numbers and texts as bytes with the same order.
//
//   key    := 0:u8 text rank:number (start:signed length:signed)*
//   text   := bytes, with 00 as 00 ff and ff as ff 00, then 00 01
//   number := n:u8, the n significant bytes, big-endian
//   signed := n bytes of a number of at most 7n bits, big-endian, with the first n
//             bits inverted: they encode n and the sign

void put_text(std::string& to, std::string_view text) {
  for (const char c : text) {
    to += c;
    if (c == '\0') to += '\xff';
    if (c == '\xff') to += '\0';
  }
  to += std::string_view("\0\1", 2);
}

void put_number(std::string& to, uint64_t number) {
  std::string bytes;
  for (; number != 0; number >>= 8) bytes.insert(bytes.begin(), static_cast<char>(number));
  to += static_cast<char>(bytes.size());
  to += bytes;
}

bool fits(int64_t number, int num_bytes) {
  if (num_bytes >= 10) return true;
  const int64_t limit = int64_t{1} << (7 * num_bytes - 1);
  return number >= -limit && number < limit;
}

void put_signed(std::string& to, int64_t number) {
  int num_bytes = 1;
  while (!fits(number, num_bytes)) ++num_bytes;
  std::string bytes;
  for (int i = num_bytes - 1; i >= 0; --i)
    bytes += static_cast<char>(i < 8 ? number >> (8 * i) : number >> 63);
  for (int bit = 0; bit < num_bytes; ++bit)
    bytes[static_cast<size_t>(bit / 8)] ^= static_cast<char>(0x80 >> bit % 8);
  to += bytes;
}

}  // namespace

std::string slice_key(std::string_view name, const TensorSlice& slice) {
  std::string key(1, '\0');
  put_text(key, name);
  put_number(key, slice.size());
  for (const SliceExtent& extent : slice) {
    put_signed(key, extent.start);
    put_signed(key, extent.length);
  }
  return key;
}

}  // namespace crochet::inline v0::internal
