// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/safetensors/internal/safetensors_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/safetensors/internal/safetensors_notes.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/tensor_slice.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing::ThrowsMessage;

// Length, header and `data_bytes` bytes of data.
std::string raw_file(const std::string& json, size_t data_bytes) {
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(json.size() >> (8 * i));
  return file + json + std::string(data_bytes, '\x01');
}

class SafetensorsFormatTest : public testing::Test {
 protected:
  CheckpointReader open(const std::string& bytes) {
    internal::put_file(files_, "m.safetensors", bytes);
    return CheckpointReader("m", files_);
  }
  void expect_damaged(const std::string& json, size_t data_bytes, const std::string& message) {
    EXPECT_THAT(
        [&] { open(raw_file(json, data_bytes)); },
        ThrowsMessage<DataLossError>(AllOf(StartsWith("m.safetensors"), HasSubstr(message))))
        << json.substr(0, 200);
  }
  // For a tensor `a` with these fields, and 8 bytes of data.
  void expect_bad_tensor(const std::string& fields, const std::string& message) {
    expect_damaged("{\"a\":{" + fields + "}}", 8, message);
  }

  MemoryFileSystem files_;
};

TEST_F(SafetensorsFormatTest, ReadsFilesOfOtherWriters) {
  const CheckpointReader reader =
      open(raw_file(" {\"b\" : {\"data_offsets\":[4, 8],\"shape\":[2,2],\"dtype\":\"I8\"} ,\n"
                    "\"__metadata__\":{\"format\":\"pt\"},"
                    "\"\\u0061\\n\":{\"dtype\":\"U32\",\"shape\":[],\"data_offsets\":[0,4]}}  " +
                        std::string(1, '\t'),
                    8)
               .replace(8, 1, "{")
               .replace(9, 1, " "));
  EXPECT_EQ(reader.read("b"), Tensor::from<int8_t>({1, 1, 1, 1}, {2, 2}));
  EXPECT_EQ(reader.read("a\n"), Tensor::scalar<uint32_t>(0x01010101));
  EXPECT_FALSE(reader.has_checksums());
  EXPECT_EQ(reader.metadata().at("format"), "pt");
  reader.verify();
}

TEST_F(SafetensorsFormatTest, SmallElementsAreAByteEachInMemory) {
  const CheckpointReader reader =
      open(raw_file(R"({"e":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]},)"
                    R"("f":{"dtype":"F4","shape":[2,3],"data_offsets":[2,5]},)"
                    R"("g":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[5,8]}})",
                    8));
  reader.verify();
  const auto is = [&](const char* name, DType dtype, const std::vector<uint8_t>& bytes) {
    const Tensor tensor = reader.read(name);
    EXPECT_EQ(tensor.dtype(), dtype);
    EXPECT_TRUE(std::ranges::equal(tensor.bytes(), std::as_bytes(std::span(bytes)))) << name;
  };
  is("e", DType::kFloat8E4m3fn, {1, 1});
  is("f", DType::kFloat4E2m1fn, {1, 0, 1, 0, 1, 0});
  // 0000'0001 0000'0001 0000'0001, the first element in the lowest bits.
  is("g", DType::kFloat6E2m3fn, {0x01, 0x04, 0x10, 0x00});
  const Tensor slice = reader.read_slice("f", parse_slice("1,1:0,2"));
  EXPECT_EQ(slice.bytes()[1], std::byte{1});
  expect_damaged(R"({"g":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}})", 1, "not whole bytes");
}

TEST_F(SafetensorsFormatTest, TheLengthIsBounded) {
  const auto expect = [&](const std::string& bytes, const std::string& message) {
    EXPECT_THAT([&] { open(bytes); }, ThrowsMessage<DataLossError>(HasSubstr(message)));
  };
  expect("", "found 0 bytes, expected at least 8");
  expect("1234567", "found 7 bytes, expected at least 8");
  expect(std::string(8, '\0'), "opening brace");
  expect(std::string(8, '\xff') + "{}",
         "the header has 18446744073709551615 bytes, expected at most 2");
  expect(std::string("\x03\0\0\0\0\0\0\0{}", 10), "the header has 3 bytes, expected at most 2");
  // 100,000,001 bytes, in a file that claims as much; clang-tidy takes the size for a mistake.
  // NOLINTNEXTLINE(bugprone-string-constructor)
  std::string large = raw_file("{}" + std::string(99'999'999, ' '), 0);
  expect(large, "expected at most 100000000");
}

TEST_F(SafetensorsFormatTest, AMalformedHeaderIsDataLoss) {
  expect_damaged("", 0, "opening brace");
  expect_damaged("[]", 0, "opening brace");
  expect_damaged(" ", 0, "opening brace");
  expect_damaged(" []", 0, "opening brace");
  expect_damaged("\xef\xbb\xbf{}", 0, "opening brace");
  expect_damaged("{", 0, "byte 2");
  expect_damaged("{}}", 0, "byte 3");
  expect_damaged("{} {}", 0, "byte 4");
  expect_damaged(std::string("{}\0", 3), 0, "byte 2: a zero byte");
  expect_damaged("{\"\xff\":{}}", 0, "UTF-8");
  expect_damaged("{\"a\":/**/1}", 0, "byte");
  for (const std::string value : {"null", "true", "1", "-1", "1.5", "\"a\"", "[]"})
    expect_damaged("{\"a\":" + value + "}", 0, "expected an object");
  expect_damaged("{\"a\":" + std::string(1'000'000, '['), 0, "nested deeper than 32 levels");
  expect_damaged("{\"a\":[]", 0, "has an array, expected an object");
  expect_damaged("{\"a\":" + std::string(1'000'000, '{'), 0, "nested deeper");
  expect_damaged(R"({"a":{"a":{"a":{}}}})", 0, "lacks its dtype");
  expect_damaged("{}", 1, "describes 0 bytes of data, but the file has 1");
}

TEST_F(SafetensorsFormatTest, MalformedMetadataIsDataLoss) {
  for (const std::string value : {"true", "1", "\"a\"", "[]"})
    expect_damaged("{\"__metadata__\":" + value + "}", 0, "__metadata__ has");
  for (const std::string value : {"null", "true", "1", "1.0", "[]", "{}"})
    expect_damaged("{\"__metadata__\":{\"a\":" + value + "}}", 0, "expected a string");
  expect_damaged(R"({"__metadata__":{"a":"","a":""}})", 0, "has \"a\" twice");
  expect_damaged(R"({"__metadata__":{},"__metadata__":{}})", 0, "twice");
}

TEST_F(SafetensorsFormatTest, AMalformedTensorIsDataLoss) {
  const std::string type = R"("dtype":"U8",)";
  const std::string shape = R"("shape":[8],)";
  const std::string offsets = R"("data_offsets":[0,8])";
  EXPECT_NO_THROW(open(raw_file("{\"a\":{" + type + shape + offsets + "}}", 8)));
  expect_bad_tensor("", "lacks its dtype");
  expect_bad_tensor(shape + offsets, "lacks its dtype");
  expect_bad_tensor(type + offsets, "lacks its shape");
  expect_bad_tensor(type + R"("shape":[8])", "lacks its two data_offsets");
  expect_bad_tensor(type + shape + R"("data_offsets":[8])", "lacks its two data_offsets");
  expect_bad_tensor(type + shape + R"("data_offsets":[0,8,8])", "more than 2 numbers");
  expect_bad_tensor(type + type + shape + offsets, "has \"dtype\" twice");
  expect_bad_tensor(type + shape + shape + offsets, "has \"shape\" twice");
  expect_bad_tensor(type + shape + offsets + "," + offsets, "has \"data_offsets\" twice");
  expect_bad_tensor(R"("dtype":"u8",)" + shape + R"("data_offsets":[8,0])", "data_offsets [8,0]");
  expect_bad_tensor(R"("dtype":8,)" + shape + offsets, "expected a string: the dtype");
  expect_bad_tensor(R"("dtype":null,)" + shape + offsets, "has null");
  for (const std::string number :
       {"-8", "8.0", "1e1", "18446744073709551616", "\"8\"", "null", "[8]", "{}"})
    expect_bad_tensor(type + "\"shape\":[" + number + "]," + offsets, "expected a number");
  expect_bad_tensor(type + "\"shape\":[1e999]," + offsets, "byte");
  expect_bad_tensor(type + R"("shape":8,)" + offsets, "expected an array");
  expect_bad_tensor(type + R"("shape":[18446744073709551615],)" + offsets, "beyond 2^63 - 1");
  expect_bad_tensor(type + R"("shape":[4294967296,4294967296],)" + offsets,
                    "more elements than 2^63");
  expect_bad_tensor(type + R"("shape":[4611686018427387904,2],)" + offsets, "shape");
  expect_bad_tensor(R"("dtype":"F64","shape":[1152921504606846976],)" + offsets, "too large");
  expect_bad_tensor(type + R"("shape":[7],)" + offsets, "takes 7 bytes");
  expect_bad_tensor(type + shape + R"("data_offsets":[8,0])", "data_offsets [8,0]");
  expect_bad_tensor(type + shape + R"("data_offsets":[1,9])",
                    "begins at offset 1 of the data, expected 0");
  expect_bad_tensor(type + R"("shape":[9],"data_offsets":[0,9])", "describes 9 bytes");
  expect_bad_tensor(type + R"("shape":[7],"data_offsets":[0,7])", "describes 7 bytes");
  expect_bad_tensor(
      type + R"("shape":[18446744073709551615],"data_offsets":[0,18446744073709551615])",
      "beyond 2^63 - 1");
  std::string ones = "1";
  for (int i = 0; i < 254; ++i) ones += ",1";
  expect_bad_tensor(type + "\"shape\":[" + ones + "]," + offsets, "more than 254 numbers");
}

TEST_F(SafetensorsFormatTest, TensorsCoverTheDataWithoutHolesOrOverlaps) {
  const auto two = [](const std::string& name, int begin, int end) {
    return fmt::format(R"({{"a":{{"dtype":"U8","shape":[4],"data_offsets":[0,4]}},)"
                       R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}}}})",
                       name, end - begin, begin, end);
  };
  EXPECT_NO_THROW(open(raw_file(two("b", 4, 8), 8)));
  expect_damaged(two("a", 4, 8), 8, "\"a\" occurs twice");
  expect_damaged(two("b", 5, 8), 8, "begins at offset 5 of the data, expected 4: a hole");
  expect_damaged(two("b", 3, 8), 8, "begins at offset 3 of the data, expected 4: an overlap");
  expect_damaged(two("b", 0, 4), 4, "begins at offset 0 of the data, expected 4: an overlap");
  expect_damaged(two("b", 2, 2), 4, ": an overlap");
  expect_damaged(two("b", 4, 7), 8, "describes 7 bytes of data, but the file has 8");
  expect_damaged(two("b", 4, 9), 8, "describes 9 bytes of data, but the file has 8");
}

// As the format's own library reads it.
TEST_F(SafetensorsFormatTest, ReadsWhatOtherWritersTakeTheLibertyOf) {
  const std::string one = R"("dtype":"U8","shape":[],"data_offsets":[0,1])";
  const auto expect = [&](const std::string& json, const std::string& name) {
    const CheckpointReader reader = open(raw_file(json, 1));
    EXPECT_EQ(reader.read(name), Tensor::scalar<uint8_t>(1)) << json;
    EXPECT_EQ(reader.tensors().size(), 1) << json;
    EXPECT_EQ(reader.tensors().begin()->first, name) << json;
    reader.verify();
  };
  expect("{\"__metadata__\":null,\"a\":{" + one + "}}", "a");
  for (const std::string value : {"1", "-1", "1.5", "null", "true", "\"x\"", "[]", "{}",
                                  "[[1],{\"x\":[2]}]", "{\"shape\":[9]}"}) {
    expect("{\"a\":{" + one + ",\"note\":" + value + "}}", "a");
    expect("{\"a\":{\"note\":" + value + "," + one + "}}", "a");
  }
  expect(" \n\t{\"a\":{" + one + "}}", "a");
  expect("{\"\":{" + one + "}}", "");
  expect("{\"__metadata__\":{\"crochet.x\":\"y\"},\"a\":{" + one + "}}", "a");
  EXPECT_EQ(CheckpointReader("m", files_).metadata().at("crochet.x"), "y");
}

TEST_F(SafetensorsFormatTest, ListsTensorsOfUnknownTypesAndNames) {
  const CheckpointReader reader =
      open(raw_file(R"({"a":{"dtype":"F7","shape":[8],"data_offsets":[0,7]},)"
                    R"("\u0000":{"dtype":"U8","shape":[],"data_offsets":[7,8]},)"
                    R"("b":{"dtype":"U8","shape":[],"data_offsets":[8,9]}})",
                    9));
  EXPECT_EQ(reader.unreadable().at("a"),
            (UnreadableValue{.why = "has the type \"F7\", which crochet does not know"}));
  EXPECT_EQ(reader.unreadable().at(std::string(1, '\0')).why,
            "has a name that begins with a zero byte");
  EXPECT_THROW(reader.read("a"), UnimplementedError);
  EXPECT_EQ(reader.tensors().size(), 1);
  EXPECT_EQ(reader.read("b"), Tensor::scalar<uint8_t>(1));
  reader.verify();
}

// Python's save_model() stores one name of a tensor that has several.
TEST_F(SafetensorsFormatTest, TheMetadataNamesTiedTensors) {
  const CheckpointReader reader =
      open(raw_file(R"({"__metadata__":{"format":"w","head":"w","n":"none","v":"v"},)"
                    R"("v":{"dtype":"U8","shape":[],"data_offsets":[0,1]},)"
                    R"("w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                    3));
  EXPECT_EQ(reader.read("head"), reader.read("w"));
  EXPECT_EQ(reader.tensors().size(), 3);
  EXPECT_FALSE(reader.contains("format"));
  reader.verify();
}

// A file that claims to be ours is checked strictly.
TEST_F(SafetensorsFormatTest, InvalidNotesAreDataLoss) {
  const auto file = [&](std::map<std::string, std::string, std::less<>> metadata,
                        const Shape& shape = {16}) {
    const auto bytes = static_cast<uint64_t>(shape.num_elements());
    metadata.emplace("crochet.crc32c", "deadbeef");
    metadata.emplace("crochet.header_crc32c", "00000000");
    std::string header =
        internal::encode({.tensors = {{.name = "a",
                                       .type = internal::find_safetensors_type("U8"),
                                       .shape = shape,
                                       .begin = 0,
                                       .end = bytes}},
                          .metadata = metadata},
                         "m");
    if (metadata.at("crochet.header_crc32c") == "00000000")
      internal::put_checksum(header, "crochet.header_crc32c");
    return header + std::string(bytes, '\x01');
  };
  const auto expect = [&](const std::string& key, const std::string& value, const Shape& shape,
                          const std::string& message) {
    EXPECT_THAT(
        [&] {
          open(file({{key, value}}, shape));
        },
        ThrowsMessage<DataLossError>(HasSubstr(message)))
        << key << " " << value;
  };
  EXPECT_NO_THROW(open(file({})));
  EXPECT_THROW(open(file({})).read("a"), DataLossError);  // deadbeef.
  EXPECT_NO_THROW(open(file({{"crochet.dtype.a", "complex128 [1]"}}, {1, 16})));
  expect("crochet.header_crc32c", "12345678", {16}, "a program that rewrites such a file");
  expect("crochet.header_crc32c", "1234567", {16}, "is not 8 hex digits");
  for (const std::string crcs :
       {"", "deadbee", "DEADBEEF", "deadbeef deadbeef", "deadbeef ", "+eadbeef"})
    expect("crochet.crc32c", crcs, {16}, "is not a list of checksums of 1 tensors");
  for (const std::string text :
       {"", "complex128", "complex128 [2]", "complex128 [1,1]", "float32 [4]", "nothing [1]",
        "variant [1]", "complex128 [1", "complex128 [-1]", "complex128 [1,]x", "string [1]",
        "complex128 [99999999999999999999]"})
    expect("crochet.dtype.a", text, {1, 16}, "the metadata has");
  for (const std::string text : {"", "[32]", "[32] 0,16", "[32] x w", "32 0,16 w", "[-1] 0,16 w"})
    expect("crochet.slice.a", text, {16}, "the metadata has");
  expect("crochet.dtype.b", "complex128 [1]", {1, 16}, "there is no such tensor");
  expect("crochet.slice.b", "[32] 0,16 w", {16}, "there is no such tensor");
  // A slice is checked when it is read.
  EXPECT_THROW(open(file({{"crochet.slice.a", "[32] 0,8 w"}})).read_slice("w", parse_slice("0,8")),
               DataLossError);
  EXPECT_THROW(open(file({{"crochet.slice.a", "[32] 30,16 w"}})).read("w"), DataLossError);
  // Strings: the 16 bytes are two lengths, which are far too large.
  const CheckpointReader strings = open(file({{"crochet.dtype.a", "string [2]"}}));
  EXPECT_THAT([&] { strings.read("a"); },
              ThrowsMessage<DataLossError>(HasSubstr("a string has 72340172838076673 bytes")));
  EXPECT_THROW(strings.verify(), DataLossError);
  EXPECT_THROW(open(file({{"crochet.dtype.a", "string [4611686018427387904]"}})).read("a"),
               DataLossError);
  EXPECT_THROW(open(file({{"crochet.dtype.a", "string [0]"}})).read("a"), DataLossError);
}

TEST_F(SafetensorsFormatTest, ChecksumsAreBothOrNone) {
  for (const std::string key : {"crochet.crc32c", "crochet.dtype.a", "crochet.slice."})
    expect_damaged("{\"__metadata__\":{\"" + key + "\":\"00000000\"}}", 0,
                   "the metadata has \"crochet.*\" but no \"crochet.header_crc32c\"");
  std::string header = raw_file(R"({"__metadata__":{"crochet.header_crc32c":"00000000"}})", 0);
  internal::put_checksum(header, "crochet.header_crc32c");
  EXPECT_THAT([&] { open(header); },
              ThrowsMessage<DataLossError>(HasSubstr("but no \"crochet.crc32c\"")));
}

class SafetensorsShardsTest : public SafetensorsFormatTest {
 protected:
  SafetensorsShardsTest() {
    put("m-00001-of-00002.safetensors", "a");
    put("m-00002-of-00002.safetensors", "b");
  }
  void put(const std::string& name, const std::string& tensor) {
    internal::put_file(
        files_, name,
        raw_file("{\"" + tensor + "\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1));
  }
  CheckpointReader open_index(const std::string& json) {
    internal::put_file(files_, "m.safetensors.index.json", json);
    return CheckpointReader("m", files_);
  }
  static std::string map_to(const std::string& a, const std::string& b) {
    return "\"weight_map\":{\"a\":\"" + a + "\",\"b\":\"" + b + "\"}";
  }

  const std::string good_ = map_to("m-00001-of-00002.safetensors", "m-00002-of-00002.safetensors");
};

// As written by Hugging Face's tools.
TEST_F(SafetensorsShardsTest, ReadsAnIndexOfOtherWriters) {
  const CheckpointReader reader = open_index(
      "{\n  \"metadata\": {\n    \"total_size\": 2, \"total_parameters\": 2.0, \"x\": null\n  },\n "
      " " +
      good_ + "\n}\n");
  EXPECT_EQ(reader.tensors().size(), 2u);
  EXPECT_EQ(reader.read("b"), Tensor::scalar<uint8_t>(1));
  EXPECT_FALSE(reader.has_checksums());
  EXPECT_NO_THROW(open_index("{" + good_ + "}"));
}

TEST_F(SafetensorsShardsTest, AMalformedIndexIsDataLoss) {
  const auto expect = [&](const std::string& json, const std::string& message) {
    EXPECT_THAT([&] { open_index(json); }, ThrowsMessage<DataLossError>(HasSubstr(message)))
        << json.substr(0, 200);
  };
  expect("{", "byte 2");
  expect("{}", "found JSON without a \"weight_map\": \"{}\"");
  expect("{\"weight_map\":1}", "without a \"weight_map\"");
  expect("{\"weight_map\":[\"a\"]}", "without a \"weight_map\"");
  expect("{\"metadata\":[" + std::string(1'000'000, '['), "nested deeper");
  expect("{\"metadata\":{\"crochet.index_crc32c\":\"00000000\"}," + good_ + "}", "crc32c of");
  expect("{\"metadatb\":{\"crochet.index_crc32c\":\"00000000\"}," + good_ + "}", "crc32c of");
}

TEST_F(SafetensorsShardsTest, IgnoresWhatItDoesNotKnow) {
  for (const std::string more :
       {"\"metadata\":null", "\"metadata\":{\"parts\":{\"weight_map\":{\"a\":\"x\"}}}",
        "\"format\":\"pt\"", "\"version\":1", "\"list\":[\"a\",{\"weight_map\":{}}]",
        "\"quantization\":{\"a\":\"x\",\"bits\":4}"}) {
    EXPECT_EQ(open_index("{" + more + "," + good_ + "}").tensors().size(), 2) << more;
    EXPECT_EQ(open_index("{" + good_ + "," + more + "}").tensors().size(), 2) << more;
  }
}

// What is there is read, and what is missing is listed.
TEST_F(SafetensorsShardsTest, AnIndexNeedNotDescribeItsFiles) {
  const auto expect = [&](const std::string& map, const std::string& name, Code code,
                          const std::string& why) {
    const CheckpointReader reader = open_index("{\"weight_map\":{" + map + "}}");
    ASSERT_TRUE(reader.unreadable().contains(name)) << map;
    EXPECT_EQ(reader.unreadable().at(name).code, code);
    EXPECT_THAT(reader.unreadable().at(name).why, HasSubstr(why));
    EXPECT_EQ(reader.read("a"), Tensor::scalar<uint8_t>(1)) << map;
    try {
      reader.read(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
    }
    if (code != Code::kUnimplemented) {
      EXPECT_THROW(reader.verify(), Error);
    }
  };
  const std::string a = "\"a\":\"m-00001-of-00002.safetensors\"";
  expect(a + ",\"d\":\"m-00002-of-00002.safetensors\"", "d", Code::kNotFound,
         "is not in m-00002-of-00002.safetensors, where the index has it");
  expect(a + ",\"d\":\"gone\"", "d", Code::kNotFound, "is in gone, which is missing");
  for (const std::string name : {"", ".", "..", "../m", "/m", "a/b/c", "a//b", "a/..", "a\\u0000b"})
    expect(a + ",\"d\":\"" + name + "\"", "d", Code::kUnimplemented, "beside the index");
  expect(a + ",\"d\":1", "d", Code::kUnimplemented, "beside the index");
  internal::put_file(files_, "broken", "12345678");
  expect(a + ",\"d\":\"broken\"", "d", Code::kDataLoss, "is in a file that cannot be read: broken");
  internal::put_file(files_, "pointer", "version https://git-lfs.github.com/spec/v1\n");
  expect(a + ",\"d\":\"pointer\"", "d", Code::kUnimplemented, "found a pointer of Git LFS");
}

// As for Python's tools, which read whole files: the map only says which ones.
TEST_F(SafetensorsShardsTest, ReadsTensorsThatTheMapDoesNotHaveOrHasElsewhere) {
  const std::string swapped =
      map_to("m-00002-of-00002.safetensors", "m-00001-of-00002.safetensors");
  EXPECT_EQ(open_index("{" + swapped + "}").tensors().size(), 2);
  EXPECT_TRUE(open_index("{" + swapped + "}").unreadable().empty());
  const CheckpointReader only_b =
      open_index("{\"weight_map\":{\"b\":\"m-00001-of-00002.safetensors\"}}");
  EXPECT_TRUE(only_b.contains("a"));
  EXPECT_FALSE(only_b.contains("b"));
  files_.create_directories("text");
  put("text/m.safetensors", "c");
  EXPECT_TRUE(open_index("{\"weight_map\":{\"c\":\"text/m.safetensors\"}}").contains("c"));
}

TEST_F(SafetensorsShardsTest, TheMapDecidesBetweenFiles) {
  const auto put_value = [&](const std::string& file, char value) {
    std::string bytes =
        raw_file("{\"a\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1);
    bytes.back() = value;
    internal::put_file(files_, file, bytes);
  };
  put_value("m-00001-of-00002.safetensors", '\7');
  put_value("m-00002-of-00002.safetensors", '\x8');
  const auto value_of = [&](const std::string& more) {
    return open_index(
        "{\"weight_map\":{\"x\":\"m-00001-of-00002.safetensors\","
        "\"y\":\"m-00002-of-00002.safetensors\"" +
        more + "}}");
  };
  EXPECT_EQ(value_of(",\"a\":\"m-00001-of-00002.safetensors\"").read("a"),
            Tensor::scalar<uint8_t>(7));
  EXPECT_EQ(value_of(",\"a\":\"m-00002-of-00002.safetensors\"").read("a"),
            Tensor::scalar<uint8_t>(8));
  EXPECT_THAT([&] { value_of("").read("a"); },
              ThrowsMessage<UnimplementedError>(HasSubstr("the index does not decide")));
}

}  // namespace
}  // namespace crochet
