// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/checkpoint_reader.h"

#include <array>
#include <atomic>
#include <complex>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/slice_key.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using internal::from_hex;
using internal::RawBundle;
using internal::StoredTensor;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::ThrowsMessage;

const std::string kFloats = from_hex("00 00 80 3f 00 00 00 40");  // 1, 2.

class CheckpointReaderTest : public testing::Test {
 protected:
  CheckpointReader put(const RawBundle& bundle) {
    bundle.put(files_, "d/m-1");
    return CheckpointReader("d/m-1", files_);
  }

  CheckpointReaderTest() { files_.create_directories("d"); }

  MemoryFileSystem files_;
};

TEST_F(CheckpointReaderTest, ReadsTheWorkedExample) {
  internal::put_example(files_, "d/m-1");
  const CheckpointReader reader("d/m-1", files_);
  EXPECT_EQ(reader.prefix(), "d/m-1");
  EXPECT_THAT(reader.tensors(), ElementsAre(Key("global_step"), Key("tags"), Key("w")));
  EXPECT_EQ(reader.tensors().at("tags").dtype, DType::kString);
  EXPECT_EQ(reader.tensors().at("tags").shape, Shape{2});
  EXPECT_EQ(reader.read("global_step").scalar<int64_t>(), 7);
  EXPECT_EQ(reader.read("w"), Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_NO_THROW(reader.verify());
  EXPECT_TRUE(reader.contains("w"));
  EXPECT_FALSE(reader.contains("v"));
  EXPECT_FALSE(reader.contains(""));
}

TEST_F(CheckpointReaderTest, ATemporaryReaderReturnsValues) {
  internal::put_example(files_, "d/m-1");
  std::vector<std::string> names;
  for (const auto& [name, info] : CheckpointReader("d/m-1", files_).tensors())
    names.push_back(name);
  EXPECT_THAT(names, ElementsAre("global_step", "tags", "w"));
  static_assert(!std::is_reference_v<decltype(CheckpointReader("").prefix())>);
  static_assert(!std::is_reference_v<decltype(CheckpointReader("").metadata())>);
  static_assert(!std::is_reference_v<decltype(CheckpointReader("").slices(""))>);
}

// TB-12: wrong lengths, their checksum and wrong characters; for numbers, see
// ReportsTheLocationOfAWrongChecksum.
TEST_F(CheckpointReaderTest, DetectsEveryWrongByteOfStrings) {
  internal::put_example(files_, "d/m-1");
  EXPECT_EQ(CheckpointReader("d/m-1", files_).read("tags"), Tensor::from({"ab", ""}));
  std::string data = internal::example_data();
  for (size_t i = 8; i < 16; ++i) {
    std::string bad = data;
    bad[i] = static_cast<char>(bad[i] ^ 0x01);
    internal::put_file(files_, internal::data_filename("d/m-1", 0, 1), bad);
    const CheckpointReader reader("d/m-1", files_);
    const char* const what = i < 14 ? "of the strings" : "the index says";
    const auto is_noticed =
        ThrowsMessage<DataLossError>(AllOf(HasSubstr("\"tags\" at offset 8"), HasSubstr(what)));
    EXPECT_THAT([&] { reader.read("tags"); }, is_noticed) << i;
    EXPECT_THAT([&] { reader.verify(); }, is_noticed) << i;
  }
}

TEST_F(CheckpointReaderTest, StringsAreNotReadIntoBytes) {
  internal::put_example(files_, "d/m-1");
  std::array<char, 8> bytes{};
  EXPECT_THAT(
      [&] {
        CheckpointReader("d/m-1", files_)
            .read_into("tags", std::as_writable_bytes(std::span(bytes)));
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("\"tags\" is string [2]")));
}

TEST_F(CheckpointReaderTest, AVariantIsListedButNotRead) {
  RawBundle bundle;
  bundle.add("v", {.dtype = DType::kVariant}, "x");
  EXPECT_THAT([&] { put(bundle).read("v"); },
              ThrowsMessage<UnimplementedError>(HasSubstr("\"v\" has the type variant")));
}

// TB-11, SV-67, SV-69
TEST_F(CheckpointReaderTest, MissingThingsAreNotFound) {
  EXPECT_THAT([&] { CheckpointReader("d/none", files_); },
              ThrowsMessage<NotFoundError>(HasSubstr("d/none.index")));
  internal::put_example(files_, "d/m-1");
  EXPECT_THAT([&] { CheckpointReader("d/m-1", files_).read("v"); },
              ThrowsMessage<NotFoundError>("Key v not found in checkpoint d/m-1"));
  EXPECT_THROW(CheckpointReader("d/m-1", files_).read(""), NotFoundError);
}

TEST_F(CheckpointReaderTest, ReportsAFileOfTheV1Format) {
  internal::put_file(files_, "d/v1", "anything");
  EXPECT_THAT([&] { CheckpointReader("d/v1", files_); },
              ThrowsMessage<UnimplementedError>(HasSubstr("V1 format is not supported")));
  EXPECT_THROW(CheckpointReader("d", files_), NotFoundError);
}

TEST_F(CheckpointReaderTest, RejectsTheNameOfAFileAsAPrefix) {
  internal::put_example(files_, "d/m-1");
  for (const char* const name : {"d/m-1.index", "d/m-1.data-00000-of-00001"})
    EXPECT_THAT([&] { CheckpointReader(name, files_); },
                ThrowsMessage<NotFoundError>(testing::EndsWith("its prefix is d/m-1")));
}

// SV-68
TEST_F(CheckpointReaderTest, ListsTheContentOfABundle) {
  RawBundle bundle;
  bundle.add("v0", {.dtype = DType::kFloat, .shape = {2, 3}}, std::string(24, 'x'));
  bundle.add("v1", {.dtype = DType::kDouble, .shape = {3, 2, 1}}, std::string(48, 'y'));
  bundle.add("v2", {.dtype = DType::kHalf}, "zz");
  bundle.add("v3", {.dtype = DType::kQuint16, .shape = {1}}, "zz");
  const CheckpointReader reader = put(bundle);
  EXPECT_TRUE(reader.contains("v0"));
  EXPECT_FALSE(reader.contains("w0"));
  EXPECT_EQ(reader.debug_string(),
            "v0 (DT_FLOAT) [2,3]\n"
            "v1 (DT_DOUBLE) [3,2,1]\n"
            "v2 (DT_HALF) []\n"
            "v3 (DT_QUINT16) [1]\n");
  EXPECT_EQ(reader.tensors().at("v1").shape, (Shape{3, 2, 1}));
  const Tensor read = reader.read("v0");
  EXPECT_EQ(read.bytes()[23], std::byte('x'));
  EXPECT_THAT([&] { reader.read("w0"); },
              ThrowsMessage<NotFoundError>(HasSubstr("w0 not found in checkpoint")));
}

TEST_F(CheckpointReaderTest, NamesAreListedWithoutControlCharacters) {
  RawBundle bundle;
  bundle.add("a\n\x1b[2J\\", {.dtype = DType::kHalf}, "zz");
  const CheckpointReader reader = put(bundle);
  EXPECT_EQ(reader.debug_string(), "a\\n\\x1b[2J\\\\ (DT_HALF) []\n");
  EXPECT_THAT([&] { reader.read("b\n"); }, ThrowsMessage<NotFoundError>(HasSubstr("Key b\\n not")));
  EXPECT_EQ(to_string(RestoreReport{.prefix = "m-1", .surplus = {"a\n"}}),
            "m-1: 0 restored, 1 surplus (a\\n)");
}

TEST_F(CheckpointReaderTest, AMissingDataFileIsDataLoss) {
  internal::put_example(files_, "d/m-1");
  files_.remove(internal::data_filename("d/m-1", 0, 1));
  const CheckpointReader reader("d/m-1", files_);  // Listing needs no data.
  EXPECT_THAT(
      [&] { reader.read("w"); },
      ThrowsMessage<DataLossError>(HasSubstr("d/m-1.data-00000-of-00001: there is no such")));
}

TEST_F(CheckpointReaderTest, ReportsTheLocationOfAWrongChecksum) {
  internal::put_example(files_, "d/m-1");
  std::string data = internal::example_data();
  data[20] = 'x';
  internal::put_file(files_, internal::data_filename("d/m-1", 0, 1), data);
  const CheckpointReader reader("d/m-1", files_);
  EXPECT_THAT([&] { reader.read("w"); },
              ThrowsMessage<DataLossError>(testing::MatchesRegex(
                  "d/m-1.data-00000-of-00001: crc32c of \"w\" at offset 16 is [0-9a-f]{8}, the "
                  "index says [0-9a-f]{8}")));
  EXPECT_THROW(reader.verify(), DataLossError);
  EXPECT_EQ(reader.read("global_step").scalar<int64_t>(), 7);
}

TEST_F(CheckpointReaderTest, ReportsTheLocationInAShortDataFile) {
  internal::put_example(files_, "d/m-1");
  internal::put_file(files_, internal::data_filename("d/m-1", 0, 1),
                     internal::example_data().substr(0, 39));
  EXPECT_THAT([&] { CheckpointReader("d/m-1", files_).read("w"); },
              ThrowsMessage<DataLossError>(
                  HasSubstr("\"w\" has 24 bytes at offset 16, the file ends at 39")));
}

TEST_F(CheckpointReaderTest, ReadsIntoTheCallersMemory) {
  internal::put_example(files_, "d/m-1");
  const CheckpointReader reader("d/m-1", files_);
  std::array<float, 6> values{};
  reader.read_into("w", std::as_writable_bytes(std::span(values)));
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(
      [&] { reader.read_into("w", std::as_writable_bytes(std::span(values).first(5))); },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("has 24 bytes, but the destination has 20")));
}

TEST_F(CheckpointReaderTest, ReadsSeveralShards) {
  RawBundle bundle{.header = {.num_shards = 3}};
  bundle.add("a", {.dtype = DType::kFloat, .shape = {2}, .shard = 2}, kFloats);
  bundle.add("b", {.dtype = DType::kInt16, .shape = {2}, .shard = 0}, from_hex("01 00 02 00"));
  bundle.add("c", {.dtype = DType::kUint8, .shape = {1}, .shard = 2}, from_hex("09"));
  const CheckpointReader reader = put(bundle);
  reader.verify();
  EXPECT_EQ(reader.read("a"), Tensor::from<float>({1, 2}));
  EXPECT_EQ(reader.read("b"), Tensor::from<int16_t>({1, 2}));
  EXPECT_EQ(reader.read("c"), Tensor::from<uint8_t>({9}));
}

TEST_F(CheckpointReaderTest, AShardBeyondTheHeadersNumberIsDataLoss) {
  RawBundle bundle;
  bundle.add("a", {.dtype = DType::kFloat, .shape = {2}, .shard = 1}, kFloats);
  EXPECT_THAT([&] { put(bundle); },
              ThrowsMessage<DataLossError>(HasSubstr("\"a\" is in data file 1")));
}

// No memory is allocated for bytes that no file has.
TEST_F(CheckpointReaderTest, HugeClaimsAreDataLoss) {
  RawBundle bundle;
  bundle.add("a", {.dtype = DType::kFloat, .shape = {2}}, kFloats);
  bundle.entries["a"].shape = {int64_t{1} << 58};
  bundle.entries["a"].size = int64_t{1} << 60;
  EXPECT_THROW(put(bundle).read("a"), DataLossError);
  EXPECT_THROW(put(bundle).verify(), DataLossError);
  bundle.entries["a"].offset = INT64_MAX - 10;
  EXPECT_THROW(put(bundle).read("a"), DataLossError);
  bundle.entries["a"] = {.dtype = DType::kString, .shape = {int64_t{1} << 60}, .size = 8};
  EXPECT_THROW(put(bundle).verify(), DataLossError);
}

// TB-3
TEST_F(CheckpointReaderTest, StringsOfBigEndianBundlesAreRead) {
  const std::string lengths = from_hex("00 00 00 02 00 00 00 00");  // As in the checksum.
  const uint32_t masked = internal::mask_crc32c(internal::crc32c(lengths));
  std::string stored_crc;
  for (int shift = 24; shift >= 0; shift -= 8) stored_crc += static_cast<char>(masked >> shift);
  RawBundle bundle{.header = {.big_endian = true}};
  bundle.add(
      "s",
      {.dtype = DType::kString,
       .shape = {2},
       .masked_crc32c = internal::mask_crc32c(internal::crc32c(lengths + stored_crc + "ab"))},
      from_hex("02 00") + stored_crc + "ab");
  EXPECT_EQ(put(bundle).read("s"), Tensor::from({"ab", ""}));
}

TEST_F(CheckpointReaderTest, SlicesOfBigEndianBundlesAreSwapped) {
  RawBundle bundle{.header = {.big_endian = true}};
  bundle.entries["p"] = {.dtype = DType::kInt16, .shape = {3}, .slices = {{{0, 1}}, {{1, 2}}}};
  bundle.add(internal::slice_key("p", {{0, 1}}), {.dtype = DType::kInt16, .shape = {1}},
             from_hex("01 02"));
  bundle.add(internal::slice_key("p", {{1, 2}}), {.dtype = DType::kInt16, .shape = {2}},
             from_hex("03 04 05 06"));
  EXPECT_EQ(put(bundle).read("p"), Tensor::from<int16_t>({0x102, 0x304, 0x506}));
}

// TB-1, TB-3
TEST_F(CheckpointReaderTest, SwapsBigEndianBundles) {
  RawBundle bundle{.header = {.big_endian = true}};
  bundle.add("f", {.dtype = DType::kFloat, .shape = {2}}, from_hex("3f 80 00 00 40 00 00 00"));
  bundle.add("c", {.dtype = DType::kComplex64}, from_hex("3f 80 00 00 40 00 00 00"));
  bundle.add("d", {.dtype = DType::kInt64}, from_hex("00 00 00 00 00 00 01 02"));
  bundle.add("h", {.dtype = DType::kUint16, .shape = {2}}, from_hex("01 02 03 04"));
  bundle.add("b", {.dtype = DType::kUint8, .shape = {2}}, from_hex("01 02"));
  const CheckpointReader reader = put(bundle);
  reader.verify();
  EXPECT_EQ(reader.read("f"), Tensor::from<float>({1, 2}));
  EXPECT_EQ(reader.read("c").scalar<std::complex<float>>(), std::complex<float>(1, 2));
  EXPECT_EQ(reader.read("d").scalar<int64_t>(), 0x102);
  EXPECT_EQ(reader.read("h"), Tensor::from<uint16_t>({0x102, 0x304}));
  EXPECT_EQ(reader.read("b"), Tensor::from<uint8_t>({1, 2}));
}

TEST_F(CheckpointReaderTest, PartitionedVariablesAreListedAndRead) {
  RawBundle bundle;
  bundle.entries["p"] = {.dtype = DType::kFloat, .shape = {4}, .slices = {{{0, 2}}, {{2, 2}}}};
  for (const char* const start : {"80", "82"})
    bundle.add(from_hex(std::string("00 70 00 01 01 01") + start + "82"),
               {.dtype = DType::kFloat, .shape = {2}}, kFloats);
  const CheckpointReader reader = put(bundle);
  reader.verify();
  EXPECT_THAT(reader.tensors(), ElementsAre(Key("p")));
  EXPECT_EQ(reader.tensors().at("p").num_slices, 2u);
  EXPECT_EQ(reader.read("p"), Tensor::from<float>({1, 2, 1, 2}));
  std::array<float, 4> values{};
  reader.read_into("p", std::as_writable_bytes(std::span(values)));
  EXPECT_THAT(values, ElementsAre(1, 2, 1, 2));
  EXPECT_THROW(reader.read(from_hex("00 70 00 01 01 01 80 82")), NotFoundError);
}

TEST_F(CheckpointReaderTest, VerifyReadsSlices) {
  RawBundle bundle;
  bundle.entries["p"] = {.dtype = DType::kFloat, .shape = {2}, .slices = {{{0, 2}}}};
  bundle.add(from_hex("00 70 00 01 01 01 80 82"),
             {.dtype = DType::kFloat, .shape = {2}, .masked_crc32c = 1}, kFloats);
  EXPECT_THROW(put(bundle).verify(), DataLossError);
}

TEST_F(CheckpointReaderTest, AnIndexWithoutAHeaderIsDataLoss) {
  using Table = std::map<std::string, std::string>;
  for (const Table& table : {Table{}, Table{{"a", internal::encode(StoredTensor{})}}}) {
    internal::put_file(files_, "d/m-1.index", internal::encode_table(table));
    EXPECT_THAT([&] { CheckpointReader("d/m-1", files_); },
                ThrowsMessage<DataLossError>(HasSubstr("header")));
  }
}

TEST_F(CheckpointReaderTest, SeveralThreadsMayRead) {
  RawBundle bundle{.header = {.num_shards = 8}};
  for (int i = 0; i < 8; ++i)
    bundle.add(fmt::format("t{}", i), {.dtype = DType::kFloat, .shape = {2}, .shard = i}, kFloats);
  const CheckpointReader reader = put(bundle);
  std::atomic<int> num_right = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 8; ++i)
          if (reader.read(fmt::format("t{}", i)) == Tensor::from<float>({1, 2})) ++num_right;
      });
  }
  EXPECT_EQ(num_right, 4 * 8);
}

}  // namespace
}  // namespace crochet
