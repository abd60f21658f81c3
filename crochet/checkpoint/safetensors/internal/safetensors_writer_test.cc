// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/internal/safetensors_writer.h"

#include <algorithm>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_index.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/checkpoint_contents.h"
#include "tests/support/raw_bundle.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SafetensorsWriterTest : public testing::Test {
 protected:
  std::string written(const SafetensorsWriterOptions& options, const TensorMap& tensors) {
    SafetensorsWriter writer(files_, "m", options);
    for (const auto& [name, tensor] : tensors) writer.add(name, tensor);
    writer.finish();
    return read_file(files_, "m.safetensors");
  }

  TensorMap read_back(const std::string& prefix = "m") {
    const CheckpointReader reader(prefix, files_);
    reader.verify();
    return read_all(reader);
  }

  MemoryFileSystem files_;
};

TEST_F(SafetensorsWriterTest, WritesTheFormatByteForByte) {
  EXPECT_EQ(written({.checksums = false}, {{"global_step", Tensor::scalar<int64_t>(7)},
                                           {"w", Tensor::from<float>({1, 2, 3}, {3, 1})}}),
            std::string("\x78\0\0\0\0\0\0\0", 8) +
                R"({"global_step":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                R"("w":{"dtype":"F32","shape":[3,1],"data_offsets":[8,20]}} )" +
                from_hex("07 00 00 00 00 00 00 00"
                         "00 00 80 3f 00 00 00 40 00 00 40 40"));
}

TEST_F(SafetensorsWriterTest, PacksElementsOfLessThanAByte) {
  constexpr int64_t kElements = (1 << 16) + 8;  // More than are packed at once.
  TensorMap tensors;
  for (const auto& [dtype, bits] :
       {std::pair(DType::kFloat4E2m1fn, 4), std::pair(DType::kFloat6E2m3fn, 6),
        std::pair(DType::kFloat6E3m2fn, 6)}) {
    Tensor tensor(dtype, {kElements});
    int next = 0;
    for (std::byte& byte : tensor.mutable_bytes())
      byte = static_cast<std::byte>(next++ * 7 % (1 << bits));
    tensors.emplace(dtype_name(dtype), tensor);
  }
  const size_t size = written({}, tensors).size();
  EXPECT_EQ(read_back(), tensors);
  EXPECT_GE(size, kElements * (4 + 6 + 6) / 8);
  EXPECT_LT(size, kElements * (4 + 6 + 6) / 8 + 1000);
}

TEST_F(SafetensorsWriterTest, RefusesElementsThatDoNotFillTheirLastByte) {
  SafetensorsWriter writer(files_, "m");
  EXPECT_THAT([&] { writer.add("w", Tensor(DType::kFloat4E2m1fn, {3})); },
              testing::ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("m: \"w\" is float4_e2m1fn [3]: not whole bytes")));
}

TEST_F(SafetensorsWriterTest, ReadsElementsThatAreNotInMemory) {
  const Tensor elements = Tensor::from<float>({1, 2, 3, 4});
  const Tensor memory(elements.dtype(), elements.shape());
  SafetensorsWriter writer(files_, "m");
  writer.add("w", {memory, [&](size_t begin, std::span<std::byte> into) {
                     std::ranges::copy(elements.bytes().subspan(begin, into.size()), into.begin());
                   }});
  writer.finish();
  EXPECT_EQ(read_back().at("w"), elements);
}

TEST_F(SafetensorsWriterTest, AddLaterWritesTheSameFileWithoutHoldingTensors) {
  constexpr int64_t kElements = 1 << 18;
  const auto make = [](float first) {
    Tensor tensor(DType::kFloat, {kElements});
    for (float& value : tensor.mutable_flat<float>()) value = first++;
    return tensor;
  };
  const size_t one = kElements * sizeof(float);
  TensorMap tensors = {{"words", Tensor::from({"ab", ""})}};
  for (int i = 0; i < 6; ++i) tensors.emplace(fmt::format("w{}", i), make(static_cast<float>(i)));
  const std::string expected = written({}, tensors);
  tensors.clear();
  reset_peak_buffer_usage();
  const size_t before = buffer_usage().num_bytes;
  SafetensorsWriter writer(files_, "m");
  for (int i = 0; i < 6; ++i)
    writer.add_later(fmt::format("w{}", i), [=] { return make(static_cast<float>(i)); });
  writer.add_later("words", [] { return Tensor::from({"ab", ""}); });
  writer.finish();
  EXPECT_LT(buffer_usage().peak_num_bytes, before + 2 * one);
  EXPECT_EQ(read_file(files_, "m.safetensors"), expected);
}

TEST_F(SafetensorsWriterTest, RejectsATensorThatChangedBeforeItIsWritten) {
  for (const Tensor& second :
       {Tensor::from<float>({1, 3}), Tensor::from<float>({1, 2}, {2, 1}), Tensor()}) {
    SafetensorsWriter writer(files_, "d/m");
    bool is_second = false;
    writer.add_later("w", [&] {
      return std::exchange(is_second, true) ? second : Tensor::from<float>({1, 2});
    });
    EXPECT_THAT([&] { writer.finish(); },
                testing::ThrowsMessage<DataLossError>(HasSubstr("\"w\" changed")));
    EXPECT_THAT(files_.list("d"), testing::IsEmpty());
  }
  SafetensorsWriter writer(files_, "d/m");
  EXPECT_THROW(writer.add_later("w", [] { return Tensor(); }), InvalidArgumentError);
}

// The worked example of docs/safetensors_format.md.
TEST_F(SafetensorsWriterTest, WritesTheExampleByteForByte) {
  EXPECT_EQ(written({}, {{"global_step", Tensor::scalar<int64_t>(7)},
                         {"tags", Tensor::from({"ab", ""})},
                         {"w", Tensor::from<float>({1, 2, 3}, {3, 1})}}),
            from_hex("38 01 00 00 00 00 00 00") +
                R"({"__metadata__":{"crochet.crc32c":"7671b78e 384de783 c4349796",)"
                R"("crochet.dtype.tags":"string [2]","crochet.header_crc32c":"03470e1b"},)"
                R"("global_step":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                R"("w":{"dtype":"F32","shape":[3,1],"data_offsets":[8,20]},)"
                R"("tags":{"dtype":"U8","shape":[18],"data_offsets":[20,38]}}   )" +
                from_hex("07 00 00 00 00 00 00 00"
                         "00 00 80 3f 00 00 00 40 00 00 40 40"
                         "02 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
                         "61 62"));
}

TEST_F(SafetensorsWriterTest, SortsByTypeThenByName) {
  TensorMap tensors;
  for (const DType dtype :
       {DType::kBool, DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kHalf,
        DType::kBfloat16, DType::kInt32, DType::kUint32, DType::kFloat, DType::kComplex64,
        DType::kDouble, DType::kInt64, DType::kUint64})
    tensors.emplace(fmt::format("{}", dtype), counting(dtype, {2}));
  tensors.emplace("another float", counting(DType::kFloat, {0}));
  const std::string file = written({}, tensors);
  std::vector<std::string> order;
  const auto header = open_safetensors_file(files_, "m.safetensors").header;
  for (const auto& tensor : header.tensors) order.push_back(tensor.name);
  EXPECT_THAT(order, ElementsAre("uint64", "int64", "float64", "complex64", "another float",
                                 "float32", "uint32", "int32", "bfloat16", "float16", "uint16",
                                 "int16", "int8", "uint8", "bool"));
  EXPECT_EQ(read_back(), tensors);
}

TEST_F(SafetensorsWriterTest, EveryTypeAndShapeRoundTrips) {
  TensorMap tensors = {{"strings", Tensor::from({"cat", "", std::string("a\0b", 3)}, {3, 1})},
                       {"no strings", Tensor::from(std::vector<std::string>(), {0, 4})},
                       {"a string", Tensor::scalar(std::string("\xff\xfe"))}};
  for (int32_t number = 1; is_valid_dtype(number); ++number) {
    const auto dtype = static_cast<DType>(number);
    if (element_size(dtype) == 0 || stored_bits(dtype) < 8) continue;
    for (const Shape& shape : {Shape{}, Shape{0}, Shape{3}, Shape{2, 0, 5}, Shape{2, 3, 1, 1, 2}})
      tensors.emplace(fmt::format("{} {}", dtype, shape), counting(dtype, shape));
  }
  for (const bool with_crcs : {true, false}) {
    SCOPED_TRACE(with_crcs);
    if (!with_crcs) {
      std::erase_if(tensors, [](const auto& item) {
        return safetensors_type_of(item.second.dtype()) == nullptr;
      });
    }
    written({.checksums = with_crcs}, tensors);
    EXPECT_EQ(read_back(), tensors);
    const CheckpointReader reader("m", files_);
    EXPECT_EQ(reader.has_checksums(), with_crcs);
    for (const auto& [name, tensor] : tensors) {
      const TensorInfo& info = reader.tensors().find(name)->second;
      EXPECT_EQ(info.dtype, tensor.dtype()) << name;
      EXPECT_EQ(info.shape, tensor.shape()) << name;
    }
  }
}

TEST_F(SafetensorsWriterTest, WritesAnEmptyCheckpoint) {
  EXPECT_EQ(written({.checksums = false}, {}), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
  EXPECT_TRUE(read_back().empty());
  written({}, {});
  EXPECT_TRUE(read_back().empty());
  EXPECT_TRUE(CheckpointReader("m", files_).has_checksums());
}

TEST_F(SafetensorsWriterTest, MetadataIsReadWithoutTheNotes) {
  const std::map<std::string, std::string, std::less<>> metadata = {{"format", "pt"},
                                                                    {"\"\n", "caf\xc3\xa9"}};
  written({.metadata = metadata}, {{"tags", Tensor::from({"a"})}});
  EXPECT_EQ(CheckpointReader("m", files_).metadata(), metadata);
  EXPECT_EQ(CheckpointReader("m", files_).format(), CheckpointFormat::kSafetensors);
  EXPECT_THROW(written({.metadata = {{"crochet.crc32c", ""}}}, {}), InvalidArgumentError);
}

TEST_F(SafetensorsWriterTest, NamesAreEscapedAsPythonDoes) {
  const Tensor one = Tensor::scalar<uint8_t>(1);
  const std::string name = "\x01\x1f\"\\/\b\f\n\r\t\x7f\xc3\xa9\xe2\x80\xa8";
  EXPECT_THAT(written({.checksums = false}, {{name, one}}),
              HasSubstr("{\"\\u0001\\u001f\\\"\\\\/\\b\\f\\n\\r\\t\x7f\xc3\xa9\xe2\x80\xa8\":{"));
  EXPECT_EQ(read_back(), (TensorMap{{name, one}}));
}

TEST_F(SafetensorsWriterTest, RejectsWhatTheFormatDoesNotAllow) {
  const Tensor one = Tensor::scalar<float>(1);
  const auto add = [&](const std::string& name, const Tensor& tensor, bool checksums = true) {
    SafetensorsWriter writer(files_, "m", {.checksums = checksums});
    writer.add("there", one);
    writer.add(name, tensor);
    writer.finish();
  };
  for (const std::string& name : {std::string(), std::string("\0a", 2), std::string("__metadata__"),
                                  std::string("\xff"), std::string("there")})
    EXPECT_THROW(add(name, one), InvalidArgumentError) << name;
  EXPECT_THROW(add("unset", Tensor()), InvalidArgumentError);
  EXPECT_THROW(add("tags", Tensor::from({"a"}), false), InvalidArgumentError);
  EXPECT_THROW(SafetensorsWriter(files_, "m", {.num_shards = 0}), InvalidArgumentError);
  EXPECT_THAT(files_.list(""), ElementsAre());
}

TEST_F(SafetensorsWriterTest, SlicesAreReadAsOneTensor) {
  const Tensor upper = counting(DType::kFloat, {2, 3});
  const Tensor lower = counting(DType::kFloat, {1, 3});
  for (const int num_shards : {1, 2}) {
    SafetensorsWriter writer(files_, "m", {.num_shards = num_shards});
    writer.add_slice("w", {3, 3}, parse_slice("2,1:-"), lower);
    if (num_shards == 2) writer.next_shard();
    writer.add_slice("w", {3, 3}, parse_slice("0,2:-"), upper);
    writer.add_slice("tags", {2}, parse_slice("0,1"), Tensor::from({"a"}));
    writer.add_slice("whole", {1}, parse_slice("0,1"), counting(DType::kInt8, {1}));
    EXPECT_NO_THROW(writer.finish());
    const CheckpointReader reader(num_shards == 1 ? "m" : "m.safetensors.index.json", files_);
    reader.verify();
    EXPECT_EQ(reader.tensors().find("w")->second.num_slices, 2u);
    EXPECT_EQ(reader.tensors().find("whole")->second.num_slices, 0u);
    std::vector<float> all;
    for (const Tensor& part : {upper, lower})
      all.insert(all.end(), part.flat<float>().begin(), part.flat<float>().end());
    EXPECT_EQ(reader.read("w"), Tensor::from(all, {3, 3}));
    EXPECT_EQ(reader.read_slice("tags", parse_slice("0,1")), Tensor::from({"a"}));
    EXPECT_THROW(reader.read("tags"), InvalidArgumentError);  // The second was not added.
  }
}

TEST_F(SafetensorsWriterTest, RejectsSlicesThatDoNotFit) {
  const auto add_two = [&](const TensorSlice& slice, const Shape& full, const Tensor& tensor) {
    SafetensorsWriter writer(files_, "m");
    writer.add_slice("w", {4}, parse_slice("0,2"), counting(DType::kFloat, {2}));
    writer.add_slice("w", full, slice, tensor);
  };
  EXPECT_NO_THROW(add_two(parse_slice("2,2"), {4}, counting(DType::kFloat, {2})));
  EXPECT_THROW(add_two(parse_slice("1,2"), {4}, counting(DType::kFloat, {2})),
               InvalidArgumentError);
  EXPECT_THROW(add_two(parse_slice("3,2"), {4}, counting(DType::kFloat, {2})),
               InvalidArgumentError);
  EXPECT_THROW(add_two(parse_slice("2,2"), {5}, counting(DType::kFloat, {2})),
               InvalidArgumentError);
  EXPECT_THROW(add_two(parse_slice("2,2"), {4}, counting(DType::kInt32, {2})),
               InvalidArgumentError);
  EXPECT_THROW(add_two(parse_slice("2,2"), {4}, counting(DType::kFloat, {1})),
               InvalidArgumentError);
  SafetensorsWriter writer(files_, "m");
  writer.add_slice("w", {4}, parse_slice("0,2"), counting(DType::kFloat, {2}));
  EXPECT_THROW(writer.add("w", counting(DType::kFloat, {2})), InvalidArgumentError);
}

// As written by Hugging Face's tools.
TEST_F(SafetensorsWriterTest, SeveralFilesHaveAnIndex) {
  SafetensorsWriter writer(files_, "m", {.num_shards = 3});
  writer.add("a", counting(DType::kFloat, {2}));
  writer.next_shard();
  writer.add("b", Tensor::from({"x", "yz"}));
  writer.finish();
  EXPECT_THAT(files_.list(""),
              ElementsAre("m-00001-of-00003.safetensors", "m-00002-of-00003.safetensors",
                          "m-00003-of-00003.safetensors", "m.safetensors.index.json"));
  EXPECT_THAT(read_file(files_, "m.safetensors.index.json"),
              HasSubstr(R"("weight_map":{"a":"m-00001-of-00003.safetensors",)"
                        R"("b":"m-00002-of-00003.safetensors"}})"));
  EXPECT_THAT(read_file(files_, "m.safetensors.index.json"), HasSubstr("\"total_size\":27"));
  EXPECT_EQ(read_back(),
            (TensorMap{{"a", counting(DType::kFloat, {2})}, {"b", Tensor::from({"x", "yz"})}}));
  uint64_t size = 0;
  for (const std::string& name : files_.list("")) size += files_.file_size(name);
  EXPECT_EQ(writer.total_bytes(), size);
}

TEST_F(SafetensorsWriterTest, ReportsSizeAndChecksumOfTheHeader) {
  SafetensorsWriter writer(files_, "m");
  writer.add("a", counting(DType::kFloat, {2}));
  writer.finish();
  const std::string file = read_file(files_, "m.safetensors");
  EXPECT_EQ(writer.total_bytes(), file.size());
  EXPECT_EQ(writer.index_crc32c(), mask_crc32c(crc32c(file.substr(0, file.size() - 8))));
}

TEST_F(SafetensorsWriterTest, RemovesUnpublishedFiles) {
  {
    SafetensorsWriter writer(files_, "m", {.num_shards = 2});
    writer.add("a", counting(DType::kFloat, {2}));
    writer.write_and_sync();
    EXPECT_THROW(writer.add("b", Tensor::scalar<float>(1)), FailedPreconditionError);
    EXPECT_EQ(files_.list("").size(), 3u);
  }
  EXPECT_THAT(files_.list(""), ElementsAre());
}

// Whichever operation fails: no file is left, or the checkpoint is complete.
TEST_F(SafetensorsWriterTest, AFailureLeavesNothingOrACompleteCheckpoint) {
  for (const int num_shards : {1, 2}) {
    for (int64_t n = 0;; ++n) {
      MemoryFileSystem disk;
      FailingFileSystem files(disk);
      files.fail_operation(n, Code::kResourceExhausted, Failing::kOnce);
      bool failed = false;
      try {
        SafetensorsWriter writer(files, "m", {.num_shards = num_shards});
        writer.add("a", counting(DType::kFloat, {2}));
        writer.finish();
      } catch (const ResourceExhaustedError&) {
        failed = true;
      }
      if (!failed || disk.exists("m.safetensors") || disk.exists("m.safetensors.index.json")) {
        EXPECT_NO_THROW(CheckpointReader("m", disk).verify()) << n;
      }
      for (const std::string& name : disk.list(""))
        EXPECT_THAT(name, testing::Not(HasSubstr("tempstate"))) << n;
      if (files.num_failures() == 0) break;
    }
  }
}

}  // namespace
}  // namespace crochet::internal
