// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/checksum128.h"

#include <cstring>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/random_bytes.h"

namespace crochet::internal {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// By `xxhsum -H2` of xxHash 0.8.1.
TEST(Checksum128Test, HasTheReferenceValues) {
  EXPECT_EQ(checksum128(bytes_of("")),
            (Checksum128{.low = 0x6001c324468d497f, .high = 0x99aa06d3014798d8}));
  EXPECT_EQ(checksum128(bytes_of("abc")),
            (Checksum128{.low = 0x78af5f94892f3950, .high = 0x06b05ab6733a6185}));
}

TEST(Checksum128Test, IsTheSamePieceByPiece) {
  for (const size_t size : {0, 1, 1000, 16384, 16385, 100'000}) {
    const std::string bytes = random_bytes(size);
    size_t next = 0;
    const Checksum128 read = checksum128(size, [&](size_t begin, std::span<std::byte> into) {
      EXPECT_EQ(begin, next);
      next += into.size();
      std::memcpy(into.data(), bytes.data() + begin, into.size());
    });
    EXPECT_EQ(next, size);
    EXPECT_EQ(read, checksum128(bytes_of(bytes))) << size;
  }
}

TEST(Checksum128Test, DiffersWithEachBit) {
  std::string bytes = random_bytes(1000);
  const Checksum128 before = checksum128(bytes_of(bytes));
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const char flip = static_cast<char>(1U << (bit % 8));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ flip);
    const Checksum128 changed = checksum128(bytes_of(bytes));
    EXPECT_NE(changed.low, before.low);
    EXPECT_NE(changed.high, before.high);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ flip);
  }
}

}  // namespace
}  // namespace crochet::internal
