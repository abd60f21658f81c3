// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/crc32c.h"

#include <algorithm>

#include <isa-l/crc.h>

namespace crochet::inline v0 {

uint32_t extend_crc32c(uint32_t crc, std::span<const std::byte> data) {
  constexpr size_t kMaxChunkBytes = size_t{1} << 30;  // ISA-L's length is an int.
  uint32_t state = ~crc;
  while (!data.empty()) {
    const auto chunk = data.first(std::min(data.size(), kMaxChunkBytes));
    // ISA-L only reads the bytes, but its C signature is not const.
    auto* const bytes = const_cast<std::byte*>(chunk.data());
    state = ::crc32_iscsi(reinterpret_cast<unsigned char*>(bytes), static_cast<int>(chunk.size()),
                          state);
    data = data.subspan(chunk.size());
  }
  return ~state;
}

uint32_t crc32c(std::span<const std::byte> data) { return extend_crc32c(0, data); }

uint32_t crc32c(std::string_view data) { return crc32c(std::as_bytes(std::span(data))); }

}  // namespace crochet::inline v0
