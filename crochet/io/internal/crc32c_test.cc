// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/crc32c.h"

#include <sys/mman.h>

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/random_bytes.h"

namespace crochet::internal {
namespace {

// The definition, bit by bit.
uint32_t slow_crc32c(std::string_view data) {
  uint32_t crc = ~uint32_t{0};
  for (const char c : data) {
    crc ^= static_cast<uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

// From RFC 3720, B.4.
TEST(Crc32cTest, MatchesTheStandardsExamples) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283);
  EXPECT_EQ(crc32c(""), 0);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aa);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43);
}

TEST(Crc32cTest, MatchesTheDefinitionForEveryLengthAndAlignment) {
  const std::string bytes = random_bytes(600);
  for (size_t start = 0; start < 9; ++start)
    for (size_t length = 0; length < 520; ++length) {
      const auto part = std::string_view(bytes).substr(start, length);
      ASSERT_EQ(crc32c(part), slow_crc32c(part)) << start << " " << length;
    }
}

TEST(Crc32cTest, ExtendsAtEveryOffset) {
  const std::string bytes = random_bytes(100);
  const auto all = std::as_bytes(std::span(bytes));
  for (size_t cut = 0; cut <= bytes.size(); ++cut)
    EXPECT_EQ(extend_crc32c(crc32c(all.first(cut)), all.subspan(cut)), crc32c(all));
}

TEST(Crc32cTest, NoticesEveryFlippedBit) {
  std::string bytes = random_bytes(64);
  const uint32_t good = crc32c(bytes);
  for (char& byte : bytes)
    for (int bit = 0; bit < 8; ++bit) {
      byte = static_cast<char>(byte ^ (1 << bit));
      EXPECT_NE(crc32c(bytes), good);
      byte = static_cast<char>(byte ^ (1 << bit));
    }
}

// ISA-L takes an int; lengths above 2^30 are split.
TEST(Crc32cTest, AcceptsLengthsBeyondAnInt) {
  // Pages that are only read take no memory.
  const size_t length = (size_t{1} << 31) + 5;
  void* const zeros = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  const std::span all(static_cast<const std::byte*>(zeros), length);
  const size_t half = size_t{1} << 29;
  uint32_t in_parts = 0;
  for (size_t start = 0; start < all.size(); start += half)
    in_parts = extend_crc32c(in_parts, all.subspan(start, std::min(half, all.size() - start)));
  EXPECT_EQ(crc32c(all), in_parts);
  ::munmap(zeros, length);
}

TEST(Crc32cTest, CombinesWhatIsComputedInParts) {
  const std::string bytes = random_bytes(100);
  const auto all = std::as_bytes(std::span(bytes));
  for (size_t cut = 0; cut <= all.size(); ++cut)
    EXPECT_EQ(combine_crc32c(extend_crc32c(7, all.first(cut)), crc32c(all.subspan(cut)),
                             all.size() - cut),
              extend_crc32c(7, all));
  const std::string zeros((size_t{1} << 22) + 1, '\0');
  EXPECT_EQ(combine_crc32c(7, crc32c(zeros), zeros.size()),
            extend_crc32c(7, std::as_bytes(std::span(zeros))));
}

TEST(Crc32cTest, Masks) {
  static_assert(mask_crc32c(0xe3069283) == 0xc78ab0e5);
  for (const uint32_t crc : {0u, 1u, 0xe3069283u, 0xffffffffu}) {
    EXPECT_EQ(unmask_crc32c(mask_crc32c(crc)), crc);
    EXPECT_NE(mask_crc32c(crc), crc);
  }
}

}  // namespace
}  // namespace crochet::internal
