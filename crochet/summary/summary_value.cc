// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/proto_fields.h"
#include "crochet/summary/event.h"

namespace crochet::inline v0 {
namespace {

using namespace internal;

// Field numbers of TensorFlow's summary.proto.
enum class SummaryField { kValue = 1 };
enum class ValueField {
  kTag = 1,
  kSimpleValue = 2,
  kHistogram = 5,
  kTensor = 8,
  kMetadata = 9,
};
enum class MetadataField { kPluginData = 1 };
enum class PluginDataField { kPluginName = 1 };
// Of histogram.proto.
enum class HistogramField {
  kMin = 1,
  kMax = 2,
  kNum = 3,
  kSum = 4,
  kSumSquares = 5,
  kBucketLimit = 6,
  kBucket = 7,
};
// Of tensor.proto and tensor_shape.proto.
enum class TensorField { kDType = 1, kShape = 2, kStringValue = 8 };
enum class ShapeField { kDimension = 2 };
enum class DimensionField { kSize = 1 };

// Ensures that doubles beyond float's range become infinities when narrowed.
static_assert(std::numeric_limits<float>::is_iec559);

constexpr const char* kTextPlugin = "text";

auto doubles_at(HistogramField field, std::vector<double>& to) {
  return field_at(field, kBytes, [&to](auto& message) {
    const auto numbers = message.get_packed_double();
    to = {numbers.begin(), numbers.end()};
  });
}

std::string encode_histogram(const Histogram& histogram) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  add_double_unless_zero(message, HistogramField::kMin, histogram.min);
  add_double_unless_zero(message, HistogramField::kMax, histogram.max);
  add_double_unless_zero(message, HistogramField::kNum, histogram.num);
  add_double_unless_zero(message, HistogramField::kSum, histogram.sum);
  add_double_unless_zero(message, HistogramField::kSumSquares, histogram.sum_squares);
  message.add_packed_double(number(HistogramField::kBucketLimit), histogram.bucket_limit.begin(),
                            histogram.bucket_limit.end());
  message.add_packed_double(number(HistogramField::kBucket), histogram.bucket.begin(),
                            histogram.bucket.end());
  return bytes;
}

Histogram read_histogram(const protozero::pbf_reader& message) {
  Histogram histogram;
  read_fields(message, double_at(HistogramField::kMin, histogram.min),
              double_at(HistogramField::kMax, histogram.max),
              double_at(HistogramField::kNum, histogram.num),
              double_at(HistogramField::kSum, histogram.sum),
              double_at(HistogramField::kSumSquares, histogram.sum_squares),
              doubles_at(HistogramField::kBucketLimit, histogram.bucket_limit),
              doubles_at(HistogramField::kBucket, histogram.bucket));
  return histogram;
}

std::string encode_shape(const Shape& shape) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  for (int i = 0; i < shape.rank(); ++i) {
    std::string dimension;
    protozero::pbf_writer size(dimension);
    add_int_unless_zero(size, DimensionField::kSize, shape[i]);
    message.add_message(number(ShapeField::kDimension), dimension);
  }
  return bytes;
}

std::vector<int64_t> read_shape(const protozero::pbf_reader& message) {
  std::vector<int64_t> sizes;
  read_fields(message, message_at(ShapeField::kDimension, [&](const auto& dimension) {
                read_fields(dimension, number_at(DimensionField::kSize, sizes.emplace_back()));
              }));
  return sizes;
}

// Requires: a tensor of strings.
std::string encode_text(const Tensor& text) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_enum(number(TensorField::kDType), static_cast<int32_t>(text.dtype()));
  message.add_message(number(TensorField::kShape), encode_shape(text.shape()));
  for (const std::string& string : text.strings())
    message.add_bytes(number(TensorField::kStringValue), string);
  return bytes;
}

// Unset for a message that is not a tensor of strings.
Tensor read_text(const protozero::pbf_reader& message) {
  int32_t dtype = 0;
  std::vector<int64_t> sizes;
  std::vector<std::string> strings;
  read_fields(
      message, number_at(TensorField::kDType, dtype),
      message_at(TensorField::kShape, [&](const auto& shape) { sizes = read_shape(shape); }),
      field_at(TensorField::kStringValue, kBytes,
               [&](auto& string) { strings.push_back(string.get_string()); }));
  if (dtype != static_cast<int32_t>(DType::kString)) return {};
  try {
    return Tensor::from(std::move(strings), Shape(sizes));
  } catch (const InvalidArgumentError&) {  // Another number of strings, or not a shape.
    return {};
  }
}

std::string encode_text_metadata() {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  protozero::pbf_writer plugin_data(message, number(MetadataField::kPluginData));
  plugin_data.add_string(number(PluginDataField::kPluginName), kTextPlugin);
  return bytes;
}

std::string encode_value(const SummaryValue& value) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  add_text_unless_empty(message, ValueField::kTag, value.tag);
  if (value.histogram) {
    message.add_message(number(ValueField::kHistogram), encode_histogram(*value.histogram));
  } else if (value.text.is_set()) {
    message.add_message(number(ValueField::kTensor), encode_text(value.text));
    message.add_message(number(ValueField::kMetadata), encode_text_metadata());
  } else {
    message.add_float(number(ValueField::kSimpleValue), static_cast<float>(value.simple_value));
  }
  return bytes;
}

std::string read_plugin_name(const protozero::pbf_reader& message) {
  std::string name;
  read_fields(message, message_at(MetadataField::kPluginData, [&](const auto& data) {
                read_fields(data, text_at(PluginDataField::kPluginName, name));
              }));
  return name;
}

std::optional<SummaryValue> read_value(const protozero::pbf_reader& message) {
  SummaryValue value;
  bool is_point = false;
  std::string plugin;
  read_fields(
      message, text_at(ValueField::kTag, value.tag),
      field_at(ValueField::kSimpleValue, kFixed32,
               [&](auto& point) {
                 value.simple_value = point.get_float();
                 is_point = true;
               }),
      message_at(ValueField::kHistogram,
                 [&](const auto& field) { value.histogram = read_histogram(field); }),
      message_at(ValueField::kTensor, [&](const auto& field) { value.text = read_text(field); }),
      message_at(ValueField::kMetadata,
                 [&](const auto& field) { plugin = read_plugin_name(field); }));
  // TensorFlow's writer writes the name of the plugin only with the first value of a tag.
  if (!plugin.empty() && plugin != kTextPlugin) value.text = {};
  const bool is_known = is_point || value.histogram || value.text.is_set();
  return is_known ? std::optional(std::move(value)) : std::nullopt;
}

std::vector<SummaryValue> read_summary(const protozero::pbf_reader& message) {
  std::vector<SummaryValue> values;
  read_fields(message, message_at(SummaryField::kValue, [&](const auto& field) {
                if (auto value = read_value(field)) values.push_back(*std::move(value));
              }));
  return values;
}

}  // namespace

std::string encode_summary(std::span<const SummaryValue> values) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  for (const SummaryValue& value : values)
    message.add_message(number(SummaryField::kValue), encode_value(value));
  return bytes;
}

std::vector<SummaryValue> decode_summary(std::string_view bytes) {
  try {
    return read_summary(protozero::pbf_reader(bytes.data(), bytes.size()));
  } catch (const protozero::exception& error) {
    throw DataLossError(
        fmt::format("summary of {} bytes: not a protobuf message: {}", bytes.size(), error.what()));
  }
}

}  // namespace crochet::inline v0
