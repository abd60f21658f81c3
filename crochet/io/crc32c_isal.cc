// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// crc32c by ISA-L; crc32c_own.cc takes its place in a build without it.
#include <algorithm>

#include <isa-l/crc.h>

#include "crochet/io/internal/after_isal.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0 {

uint32_t internal::extend_crc32c(uint32_t crc, std::span<const std::byte> data) {
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
  internal::after_isal();
  return ~state;
}

}  // namespace crochet::inline v0
