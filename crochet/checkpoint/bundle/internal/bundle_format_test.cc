// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/bundle_format.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "tests/support/raw_bundle.h"

namespace crochet::internal {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

StoredTensor example_w() {
  return {.dtype = DType::kFloat,
          .shape = {2, 3},
          .offset = 16,
          .size = 24,
          .masked_crc32c = 0xabf5eb7a};
}

auto entry(std::string bytes) {
  return [bytes] { return decode_entry(bytes, "w", "x.index"); };
}
auto header(std::string bytes) {
  return [bytes] { return decode_header(bytes, "x.index"); };
}

TEST(BundleFormatTest, NamesFilesAsTensorFlowDoes) {
  EXPECT_EQ(index_filename("d/model.ckpt-7"), "d/model.ckpt-7.index");
  EXPECT_EQ(data_filename("d/model.ckpt-7", 2, 10), "d/model.ckpt-7.data-00002-of-00010");
}

TEST(BundleFormatTest, WorkedExampleIsEncodedByteForByte) {
  const std::map<std::string, std::string> entries = {
      {"", encode(BundleHeader{})},
      {"global_step",
       encode(StoredTensor{.dtype = DType::kInt64, .size = 8, .masked_crc32c = 0x119fd7bb})},
      {"tags", encode(StoredTensor{.dtype = DType::kString,
                                   .shape = {2},
                                   .offset = 8,
                                   .size = 8,
                                   .masked_crc32c = 0x4db08891})},
      {"w", encode(example_w())}};
  EXPECT_EQ(encode_table(entries), example_index());
}

TEST(BundleFormatTest, PartitionedExampleIsEncodedByteForByte) {
  const StoredTensor p{
      .dtype = DType::kFloat, .shape = {4, 2}, .slices = {{{0, 2}, {0, 2}}, {{2, 2}, {0, 2}}}};
  const std::string bytes = from_hex(
      "08 01 12 08 12 02 08 04 12 02 08 02 3a 08 0a 02 10 02 0a 02 10 02 3a 0a 0a 04 08 02 10 02 "
      "0a 02 "
      "10 02");
  EXPECT_EQ(encode(p), bytes);
  EXPECT_EQ(decode_entry(bytes, "p", "x.index"), p);
}

TEST(BundleFormatTest, HeadersRoundTrip) {
  for (const BundleHeader& value :
       {BundleHeader{}, BundleHeader{.num_shards = 99'999, .big_endian = true},
        BundleHeader{.producer = 12, .min_consumer = 1, .bad_consumers = {0, 2, 3}}})
    EXPECT_EQ(decode_header(encode(value), "x.index"), value);
}

TEST(BundleFormatTest, EntriesRoundTrip) {
  const StoredTensor scalar{.dtype = DType::kInt64, .size = 8, .masked_crc32c = 1};
  const StoredTensor empty{.dtype = DType::kDouble, .shape = {0, int64_t{1} << 40}};
  const StoredTensor far{.dtype = DType::kUint8,
                         .shape = {int64_t{1} << 40},
                         .shard = 12,
                         .offset = int64_t{1} << 50,
                         .size = int64_t{1} << 40,
                         .masked_crc32c = UINT32_MAX};
  const StoredTensor whole_rows{
      .dtype = DType::kFloat, .shape = {4, 2}, .slices = {{{}, {0, 1}}, {{}, {1, 1}}}};
  for (const StoredTensor& value : {scalar, empty, far, whole_rows, example_w()})
    EXPECT_EQ(decode_entry(encode(value), "w", "x.index"), value);
}

// TB-15
TEST(BundleFormatTest, AnAbsentVersionIsAccepted) {
  EXPECT_EQ(decode_header(from_hex("08 01"), "x.index").producer, 0);
}

TEST(BundleFormatTest, UnknownFieldsAreSkipped) {
  const std::string unknown = from_hex("f8 01 05  fa 01 02 aa bb  fd 01 00 00 00 00");
  EXPECT_EQ(decode_header(encode(BundleHeader{}) + unknown, "x.index"), BundleHeader{});
  EXPECT_EQ(decode_entry(encode(example_w()) + unknown, "w", "x.index"), example_w());
}

// TB-15
TEST(BundleFormatTest, VersionsThatCannotBeReadAreInvalidArguments) {
  EXPECT_THAT(header(encode(BundleHeader{.producer = -1})),
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("Checkpoint producer version -1 below min producer 0")));
  EXPECT_THAT(header(encode(BundleHeader{.min_consumer = 2})),
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("Checkpoint min consumer version 2 above current version 1")));
  EXPECT_THAT(
      header(encode(BundleHeader{.bad_consumers = {3, 1}})),
      ThrowsMessage<InvalidArgumentError>(HasSubstr("Checkpoint disallows consumer version 1")));
}

TEST(BundleFormatTest, ImpossibleHeadersAreDataLoss) {
  for (const int32_t num_shards : {-1, 0, 100'000})
    EXPECT_THAT(header(encode(BundleHeader{.num_shards = num_shards})),
                ThrowsMessage<DataLossError>(
                    HasSubstr(fmt::format("x.index: header: found {} data files", num_shards))));
  EXPECT_THAT(header(from_hex("08 01 10 02")),
              ThrowsMessage<DataLossError>(HasSubstr("found byte order 2")));
  EXPECT_THAT(header("\x08"), ThrowsMessage<DataLossError>(HasSubstr("malformed")));
}

TEST(BundleFormatTest, ImpossibleEntriesAreDataLoss) {
  const auto is_loss = [](const std::string& text) {
    return ThrowsMessage<DataLossError>(
        testing::AllOf(HasSubstr("x.index: entry \"w\""), HasSubstr(text)));
  };
  StoredTensor bad = example_w();
  bad.dtype = static_cast<DType>(99);
  // encode() accepts unknown types; the element type 0 is omitted.
  EXPECT_THAT(entry(encode(bad)), is_loss("unknown element type 99"));
  EXPECT_THAT(entry(from_hex("12 00")), is_loss("unknown element type 0"));
  bad = example_w();
  bad.offset = -1;
  EXPECT_THAT(entry(encode(bad)), is_loss("negative"));
  bad = example_w();
  bad.shard = -1;
  EXPECT_THAT(entry(encode(bad)), is_loss("negative"));
  bad = example_w();
  bad.size = 23;
  EXPECT_THAT(entry(encode(bad)), is_loss("found 23 bytes for float32 [2,3], expected 24"));
  bad.slices = {{{0, 1}}};
  EXPECT_THAT(entry(encode(bad)), is_loss("a slice: found 1 dimensions, expected 2"));
  bad.slices = {{{-1, 1}, {0, 1}}};
  EXPECT_THAT(entry(encode(bad)), is_loss("a slice starts at -1"));
  // A dimension of -1; two of 2^62; one of 2^62 with 8 bytes each; an unknown rank.
  EXPECT_THAT(entry(from_hex("08 01 12 0d 12 0b 08 ff ff ff ff ff ff ff ff ff 01")),
              is_loss("a dimension of size -1"));
  EXPECT_THAT(entry(encode(StoredTensor{.dtype = DType::kDouble, .shape = {int64_t{1} << 62}})),
              is_loss("more than 2^63 bytes"));
  const std::string huge = "12 0a 08 80 80 80 80 80 80 80 80 40";
  EXPECT_THAT(entry(from_hex("08 01 12 18" + huge + huge)), is_loss("more elements than 2^63"));
  EXPECT_THAT(entry(from_hex("08 01 12 02 18 01")), is_loss("number of dimensions is unknown"));
  std::string dimensions;
  for (int i = 0; i < 255; ++i) dimensions += from_hex("12 02 08 01");
  EXPECT_THAT(entry(from_hex("08 01 12 fc 07") + dimensions), is_loss("255 dimensions"));
}

// Found by fuzz_entries: protozero read the flag past the end. The bytes have their own allocation,
// so that AddressSanitizer detects this.
TEST(BundleFormatTest, AnUnknownRankTruncatedBeforeItsFlagIsDataLoss) {
  const std::string entry("\x12\x01\x18", 3);
  const std::vector<char> bytes(entry.begin(), entry.end());
  EXPECT_THROW(decode_entry({bytes.data(), bytes.size()}, "name", "x.index"), DataLossError);
}

TEST(BundleFormatTest, EveryTruncatedEntryIsDataLossOrAnotherEntry) {
  const std::string good = encode(example_w());
  for (size_t size = 0; size < good.size(); ++size) {
    try {
      EXPECT_NE(decode_entry(good.substr(0, size), "w", "x.index"), example_w());
    } catch (const DataLossError&) {
    }
  }
}

TEST(BundleFormatTest, WrongWireTypesAreSkippedAsUnknownFields) {
  // Field 5, the size, as fixed64: it is ignored.
  EXPECT_THAT(entry(from_hex("08 01 12 00 29 04 00 00 00 00 00 00 00")),
              ThrowsMessage<DataLossError>(HasSubstr("found 0 bytes for float32 [], expected 4")));
}

}  // namespace
}  // namespace crochet::internal
