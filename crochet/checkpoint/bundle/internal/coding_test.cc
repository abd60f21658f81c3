// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/coding.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

using testing::Eq;
using testing::Optional;

constexpr uint64_t kInteresting[] = {
    0, 1, 127, 128, 300, 16383, 16384, UINT32_MAX, uint64_t{UINT32_MAX} + 1, UINT64_MAX};

std::string varint(uint64_t value) {
  std::string bytes;
  put_varint64(bytes, value);
  return bytes;
}

TEST(CodingTest, VarintsRoundTripAndLeaveTheRest) {
  for (const uint64_t value : kInteresting) {
    const std::string bytes = varint(value) + "rest";
    std::string_view input = bytes;
    EXPECT_THAT(take_varint64(input), Optional(value));
    EXPECT_EQ(input, "rest");
  }
}

TEST(CodingTest, VarintsHaveProtobufsBytes) { EXPECT_EQ(varint(300), "\xac\x02"); }

TEST(CodingTest, RejectsTruncatedVarints) {
  for (const uint64_t value : kInteresting) {
    const std::string bytes = varint(value);
    for (size_t size = 0; size < bytes.size(); ++size) {
      std::string_view input = std::string_view(bytes).substr(0, size);
      EXPECT_EQ(take_varint64(input), std::nullopt) << value << " cut to " << size;
    }
  }
}

TEST(CodingTest, RejectsVarintsOfMoreThan64Bits) {
  for (const std::string& bytes : {std::string(9, '\xff') + '\x02', std::string(11, '\x80')}) {
    std::string_view input = bytes;
    EXPECT_EQ(take_varint64(input), std::nullopt);
  }
}

TEST(CodingTest, RejectsVarint32OfMoreThan32Bits) {
  const std::string fits = varint(UINT32_MAX);
  const std::string too_big = varint(uint64_t{UINT32_MAX} + 1);
  std::string_view input = fits;
  EXPECT_THAT(take_varint32(input), Optional(UINT32_MAX));
  input = too_big;
  EXPECT_EQ(take_varint32(input), std::nullopt);
}

TEST(CodingTest, Fixed32IsLittleEndian) {
  std::string bytes;
  put_fixed32(bytes, 0xdb477524);
  EXPECT_EQ(bytes, "\x24\x75\x47\xdb");
  std::string_view input = bytes;
  EXPECT_THAT(take_fixed32(input), Optional(0xdb477524));
  EXPECT_EQ(take_fixed32(input), std::nullopt);
  input = std::string_view(bytes).substr(1);
  EXPECT_EQ(take_fixed32(input), std::nullopt);
}

}  // namespace
}  // namespace crochet::internal
