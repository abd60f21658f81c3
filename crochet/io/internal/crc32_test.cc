// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/crc32.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/support/random_bytes.h"

namespace crochet {
namespace {

uint32_t crc32_of(std::string_view data) {
  return internal::extend_crc32(0, std::as_bytes(std::span(data)));
}

// The definition, bit by bit.
uint32_t slow_crc32(std::string_view data) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

// The check value of the catalog of crcs; the others by Python's zlib.
TEST(Crc32Test, MatchesKnownValues) {
  EXPECT_EQ(crc32_of("123456789"), 0xcbf43926);
  EXPECT_EQ(crc32_of(""), 0);
  EXPECT_EQ(crc32_of(std::string(32, '\0')), 0x190a55ad);
}

TEST(Crc32Test, MatchesTheDefinitionForEveryLengthAndAlignment) {
  const std::string bytes = random_bytes(600);
  for (size_t start = 0; start < 9; ++start)
    for (size_t length = 0; length < 520; ++length) {
      const auto part = std::string_view(bytes).substr(start, length);
      ASSERT_EQ(crc32_of(part), slow_crc32(part)) << start << " " << length;
    }
}

TEST(Crc32Test, ExtendsAtEveryOffset) {
  const std::string bytes = random_bytes(100);
  const auto all = std::as_bytes(std::span(bytes));
  for (size_t cut = 0; cut <= bytes.size(); ++cut)
    EXPECT_EQ(internal::extend_crc32(internal::extend_crc32(0, all.first(cut)), all.subspan(cut)),
              internal::extend_crc32(0, all));
}

}  // namespace
}  // namespace crochet
