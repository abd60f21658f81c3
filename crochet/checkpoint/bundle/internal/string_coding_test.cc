// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/string_coding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "tests/support/raw_bundle.h"

namespace crochet::internal {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

uint32_t checksum(const std::string& stored, int64_t num_elements, bool big_endian = false) {
  const auto bytes = std::as_bytes(std::span(stored));
  const DecodedStringsHead head =
      decode_strings_head(bytes, bytes.size(), num_elements, big_endian);
  return extend_crc32c(head.crc, bytes.subspan(head.num_bytes));
}

const std::string kTags = from_hex("02 00 | 78 27 0b 34 | 61 62");  // {"ab", ""}

TEST(StringCodingTest, AgreesWithTheWorkedExample) {
  EXPECT_EQ(mask_crc32c(checksum(kTags, 2)), 0x4db08891);
}

TEST(StringCodingTest, AnEmptyTensorHasTheChecksumOfNoBytes) {
  std::string stored;
  for (int shift = 0; shift < 32; shift += 8) stored += static_cast<char>(mask_crc32c(0) >> shift);
  EXPECT_EQ(checksum(stored, 0), crc32c(stored));
}

TEST(StringCodingTest, BigEndianWritersSwapTheNumbers) {
  const uint32_t lengths = mask_crc32c(crc32c(from_hex("00 00 00 02 00 00 00 00")));
  std::string stored_crc;
  for (int shift = 24; shift >= 0; shift -= 8) stored_crc += static_cast<char>(lengths >> shift);
  EXPECT_EQ(checksum(from_hex("02 00") + stored_crc + "ab", 2, true),
            crc32c(from_hex("00 00 00 02 00 00 00 00") + stored_crc + "ab"));
}

TEST(StringCodingTest, DecodesEncodedStrings) {
  const std::vector<std::string> strings = {"ab", "", std::string(300, 'x'), std::string(1, '\0')};
  const StringsHead head = encode_strings_head(strings);
  std::string stored = head.bytes;
  uint32_t crc = head.crc;
  for (const std::string& string : strings) {
    stored += string;
    crc = extend_crc32c(crc, std::as_bytes(std::span(string)));
  }
  const DecodedStringsHead decoded =
      decode_strings_head(std::as_bytes(std::span(head.bytes)), stored.size(), 4, false);
  EXPECT_THAT(decoded.lengths, testing::ElementsAre(2, 0, 300, 1));
  EXPECT_EQ(decoded.num_bytes, head.bytes.size());
  EXPECT_EQ(decoded.crc, head.crc);
  EXPECT_EQ(checksum(stored, 4), crc);
  EXPECT_EQ(encode_strings_head({}).bytes.size(), 4u);
}

// Lengths below 2^32 count as four bytes in the checksum, others as eight; the check does not need
// the strings.
TEST(StringCodingTest, SupportsLengthsOfBothWidths) {
  const auto crc_of = [](std::string lengths) {
    std::string stored;
    const uint32_t crc = mask_crc32c(crc32c(lengths));
    for (int shift = 0; shift < 32; shift += 8) stored += static_cast<char>(crc >> shift);
    return stored;
  };
  const std::string narrow =
      from_hex("ff ff ff ff 0f") + crc_of(from_hex("ff ff ff ff"));  // 2^32 - 1
  const std::string wide =
      from_hex("80 80 80 80 10") + crc_of(from_hex("00 00 00 00 01 00 00 00"));  // 2^32
  const auto length_of = [](const std::string& head, uint64_t length) {
    return decode_strings_head(std::as_bytes(std::span(head)), head.size() + length, 1, false)
        .lengths.at(0);
  };
  EXPECT_EQ(length_of(narrow, 0xffffffff), 0xffffffff);
  EXPECT_EQ(length_of(wide, 0x100000000), 0x100000000);
}

TEST(StringCodingTest, WrongLengthsAreDataLoss) {
  const auto of = [](std::string stored, int64_t num_elements) {
    return [=] { checksum(stored, num_elements); };
  };
  EXPECT_THAT(of(from_hex("03 00 78 27 0b 34 61 62"), 2),
              ThrowsMessage<DataLossError>(HasSubstr("crc32c of the lengths")));
  EXPECT_THAT(of(from_hex("ff ff 03"), 1), ThrowsMessage<DataLossError>(HasSubstr("run past")));
  EXPECT_THAT(of(from_hex("01 61"), 1), ThrowsMessage<DataLossError>(HasSubstr("end before")));
  EXPECT_THAT(of(kTags, INT64_MAX), ThrowsMessage<DataLossError>(HasSubstr("")));
  EXPECT_THAT(of(kTags + "c", 2),
              ThrowsMessage<DataLossError>(HasSubstr("the strings: found 3 bytes, expected 2")));
}

}  // namespace
}  // namespace crochet::internal
