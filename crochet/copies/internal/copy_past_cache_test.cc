// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/internal/copy_past_cache.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

std::vector<std::byte> numbered_bytes(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + (i >> 8) + 1);
  return bytes;
}

// Every byte of the piece and no other, wherever it begins and ends in a cache line.
TEST(CopyPastCacheTest, CopiesExactlyThePiece) {
  constexpr size_t kLarge = size_t{1} << 18;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, kLarge - 1, kLarge, kLarge + 129}) {
    for (const size_t offset : {0, 1, 16, 63}) {
      const std::vector<std::byte> source = numbered_bytes(size + 64);
      std::vector<std::byte> target(size + 256, std::byte{0});
      copy_past_cache(target.data() + 64 + offset, source.data() + (offset * 7) % 64, size);
      const auto piece = target.begin() + static_cast<ptrdiff_t>(64 + offset);
      const auto end = piece + static_cast<ptrdiff_t>(size);
      EXPECT_TRUE(std::equal(piece, end, source.begin() + static_cast<ptrdiff_t>(offset * 7 % 64)))
          << size << " at " << offset;
      EXPECT_EQ(std::count(target.begin(), piece, std::byte{0}), piece - target.begin());
      EXPECT_EQ(std::count(end, target.end(), std::byte{0}), target.end() - end);
    }
  }
}

}  // namespace
}  // namespace crochet::internal
