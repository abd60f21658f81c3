// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/internal/packed_elements.h"

namespace crochet::inline v0::internal {

void unpack_elements(std::span<const std::byte> packed, unsigned bits,
                     std::span<std::byte> elements) {
  const unsigned mask = (1u << bits) - 1;
  unsigned pending = 0, num_pending = 0;
  for (std::byte& element : elements) {
    if (num_pending < bits) {
      pending |= static_cast<unsigned>(packed.front()) << num_pending;
      packed = packed.subspan(1);
      num_pending += 8;
    }
    element = static_cast<std::byte>(pending & mask);
    pending >>= bits;
    num_pending -= bits;
  }
}

void pack_elements(std::span<const std::byte> elements, unsigned bits,
                   std::span<std::byte> packed) {
  const unsigned mask = (1u << bits) - 1;
  unsigned pending = 0, num_pending = 0;
  for (const std::byte element : elements) {
    pending |= (static_cast<unsigned>(element) & mask) << num_pending;
    num_pending += bits;
    if (num_pending < 8) continue;
    packed.front() = static_cast<std::byte>(pending & 0xff);
    packed = packed.subspan(1);
    pending >>= 8;
    num_pending -= 8;
  }
}

}  // namespace crochet::inline v0::internal
