// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/summary/event.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<SummaryValue> example_values() {
  return {
      {.tag = "loss", .simple_value = 0.25F},
      {.tag = "weights", .histogram = make_histogram(Tensor::from<float>({-1, 0, 0.5, 1e30F}))},
      {.tag = "empty", .histogram = Histogram{}},
      {.tag = "odd",
       .histogram = Histogram{.min = -0.0,
                              .max = std::numeric_limits<double>::infinity(),
                              .bucket_limit = {0},
                              .bucket = {0}}},
      {.tag = "note", .text = Tensor::scalar(std::string("größe\n\xff"))},
      {.tag = "table", .text = Tensor::from({"a", "", "c", "d", "e", "f"}, Shape{2, 3})},
      {.tag = "no rows", .text = Tensor::from(std::vector<std::string>(), Shape{0, 3})},
  };
}

// The bytes of a field with content of known length.
std::string field(char tag, const std::string& content) {
  return tag + std::string(1, static_cast<char>(content.size())) + content;
}
constexpr char kValue = 0x0a;
constexpr char kTensor = 0x42;
constexpr char kMetadata = 0x4a;

// A value without a tag that has a tensor of strings, and the name of a plugin.
std::string text_value(const std::string& tensor, const std::string& plugin) {
  return field(kValue, field(kTensor, tensor) + field(kMetadata, field(0x0a, field(0x0a, plugin))));
}

TEST(SummaryValueTest, DecodesWhatItEncoded) {
  EXPECT_EQ(decode_summary(encode_summary(example_values())), example_values());
  for (const SummaryValue& value : example_values())
    EXPECT_THAT(decode_summary(encode_summary(std::span(&value, 1))), ElementsAre(value));
}

TEST(SummaryValueTest, ConcatenatedSummariesAreOne) {
  std::string bytes;
  for (const SummaryValue& value : example_values()) bytes += encode_summary(std::span(&value, 1));
  EXPECT_EQ(decode_summary(bytes), example_values());
}

TEST(SummaryValueTest, ATensorOfAnotherPluginIsNotAText) {
  const std::string one_string("\x08\x07\x12\x00\x42\x01x", 7);
  EXPECT_THAT(decode_summary(text_value(one_string, "text")),
              ElementsAre(SummaryValue{.text = Tensor::scalar(std::string("x"))}));
  EXPECT_THAT(decode_summary(text_value(one_string, "mesh")), IsEmpty());
}

TEST(SummaryValueTest, SkipsATextWithAWrongShape) {
  const std::string sizes[] = {
      std::string("\x02", 1),                                       // Two, for one string.
      std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10),  // -1.
      std::string("\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 9),       // The largest int64.
      std::string("\x00", 1),
  };
  for (const std::string& size : sizes) {
    const std::string dimension = field(0x12, "\x08" + size);
    const std::string shape = field(0x12, dimension + dimension);
    const std::string tensor = std::string("\x08\x07", 2) + shape + std::string("\x42\x01x", 3);
    EXPECT_THAT(decode_summary(text_value(tensor, "text")), IsEmpty());
  }
}

TEST(SummaryValueTest, ATruncatedMessageIsDataLossOrShorter) {
  const std::string good = encode_summary(example_values());
  for (size_t size = 0; size < good.size(); ++size) {
    try {
      EXPECT_LT(decode_summary(good.substr(0, size)).size(), example_values().size()) << size;
    } catch (const DataLossError& error) {
      EXPECT_THAT(error.what(), HasSubstr("not a protobuf message")) << size << " bytes";
    }
  }
}

TEST(SummaryValueTest, AFlippedBitIsDataLossOrSomeSummary) {
  const std::string good = encode_summary(example_values());
  for (size_t i = 0; i < 8 * good.size(); ++i) {
    std::string bad = good;
    bad[i / 8] = static_cast<char>(bad[i / 8] ^ (1 << i % 8));
    try {
      const std::string once = encode_summary(decode_summary(bad));
      EXPECT_EQ(encode_summary(decode_summary(once)), once) << "bit " << i;
    } catch (const DataLossError& error) {
      EXPECT_THAT(error.what(), HasSubstr("not a protobuf message")) << "bit " << i;
    }
  }
}

}  // namespace
}  // namespace crochet
