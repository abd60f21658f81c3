// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/summary_value.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/summary/proto_fields.h"

namespace crochet {
namespace {

using namespace internal;

// Field numbers of TensorFlow's summary.proto, histogram.proto, tensor.proto and
// tensor_shape.proto.
enum class SummaryField { kValue = 1 };
enum class ValueField {
  kTag = 1,
  kSimpleValue = 2,
  kHistogram = 5,
  kTensor = 8,
  kMetadata = 9,
};
enum class HistogramField {
  kMin = 1,
  kMax = 2,
  kNum = 3,
  kSum = 4,
  kSumSquares = 5,
  kBucketLimit = 6,
  kBucket = 7,
};
enum class TensorField { kDType = 1, kShape = 2, kStringValue = 8 };
enum class ShapeField { kDimension = 2 };
enum class DimensionField { kSize = 1 };
enum class MetadataField { kPluginData = 1 };
enum class PluginDataField { kPluginName = 1 };

// So that doubles beyond float's range become infinities when narrowed.
static_assert(std::numeric_limits<float>::is_iec559);

constexpr std::string_view kTextPlugin = "text";

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

std::string encode_shape(const Shape& shape) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  for (int i = 0; i < shape.rank(); ++i) {
    std::string dimension;
    if (shape[i] != 0)
      protozero::pbf_writer(dimension).add_int64(number(DimensionField::kSize), shape[i]);
    message.add_message(number(ShapeField::kDimension), dimension);
  }
  return bytes;
}

std::string encode_text(const Tensor& text) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_enum(number(TensorField::kDType), static_cast<int32_t>(text.dtype()));
  message.add_message(number(TensorField::kShape), encode_shape(text.shape()));
  for (const std::string& string : text.strings())
    message.add_bytes(number(TensorField::kStringValue), string);
  return bytes;
}

std::string encode_metadata(std::string_view plugin_name) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  protozero::pbf_writer plugin_data(message, number(MetadataField::kPluginData));
  plugin_data.add_string(number(PluginDataField::kPluginName), plugin_name.data(),
                         plugin_name.size());
  return bytes;
}

std::string encode_value(const SummaryValue& value) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  if (!value.tag.empty()) message.add_string(number(ValueField::kTag), value.tag);
  if (value.histogram) {
    message.add_message(number(ValueField::kHistogram), encode_histogram(*value.histogram));
  } else if (value.text.is_set()) {
    message.add_message(number(ValueField::kTensor), encode_text(value.text));
    message.add_message(number(ValueField::kMetadata), encode_metadata(kTextPlugin));
  } else {
    message.add_float(number(ValueField::kSimpleValue), static_cast<float>(value.simple_value));
  }
  return bytes;
}

std::vector<double> read_doubles(protozero::pbf_reader& message) {
  const auto numbers = message.get_packed_double();
  return {numbers.begin(), numbers.end()};
}

Histogram read_histogram(protozero::pbf_reader message) {
  Histogram histogram;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case wire(HistogramField::kMin, kFixed64):
        histogram.min = message.get_double();
        break;
      case wire(HistogramField::kMax, kFixed64):
        histogram.max = message.get_double();
        break;
      case wire(HistogramField::kNum, kFixed64):
        histogram.num = message.get_double();
        break;
      case wire(HistogramField::kSum, kFixed64):
        histogram.sum = message.get_double();
        break;
      case wire(HistogramField::kSumSquares, kFixed64):
        histogram.sum_squares = message.get_double();
        break;
      case wire(HistogramField::kBucketLimit, kBytes):
        histogram.bucket_limit = read_doubles(message);
        break;
      case wire(HistogramField::kBucket, kBytes):
        histogram.bucket = read_doubles(message);
        break;
      default:
        message.skip();
    }
  }
  return histogram;
}

int64_t read_dimension(protozero::pbf_reader message) {
  int64_t size = 0;
  while (message.next()) {
    if (message.tag_and_type() == wire(DimensionField::kSize, kVarint)) {
      size = message.get_int64();
    } else {
      message.skip();
    }
  }
  return size;
}

std::vector<int64_t> read_shape(protozero::pbf_reader message) {
  std::vector<int64_t> sizes;
  while (message.next()) {
    if (message.tag_and_type() == wire(ShapeField::kDimension, kBytes)) {
      sizes.push_back(read_dimension(message.get_message()));
    } else {
      message.skip();
    }
  }
  return sizes;
}

// True if a tensor of these sizes has exactly `count` elements. Sizes are not trusted.
bool has_elements(const std::vector<int64_t>& sizes, size_t count) {
  int64_t product = 1;
  bool is_empty = false;
  for (const int64_t size : sizes) {
    is_empty |= size == 0;
    if (size < 0 || __builtin_mul_overflow(product, std::max<int64_t>(size, 1), &product))
      return false;
  }
  return count == (is_empty ? 0 : static_cast<size_t>(product));
}

// Unset for what is no tensor of strings.
Tensor read_text(protozero::pbf_reader message) {
  int32_t dtype = 0;
  std::vector<int64_t> sizes;
  std::vector<std::string> strings;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case wire(TensorField::kDType, kVarint):
        dtype = message.get_enum();
        break;
      case wire(TensorField::kShape, kBytes):
        sizes = read_shape(message.get_message());
        break;
      case wire(TensorField::kStringValue, kBytes):
        strings.push_back(message.get_string());
        break;
      default:
        message.skip();
    }
  }
  if (dtype != static_cast<int32_t>(DType::kString) || !has_elements(sizes, strings.size()))
    return {};
  return Tensor::from(std::move(strings), Shape(sizes));
}

std::string read_plugin_name(protozero::pbf_reader message) {
  std::string name;
  while (message.next()) {
    if (message.tag_and_type() != wire(MetadataField::kPluginData, kBytes)) {
      message.skip();
      continue;
    }
    protozero::pbf_reader plugin_data = message.get_message();
    while (plugin_data.next()) {
      if (plugin_data.tag_and_type() == wire(PluginDataField::kPluginName, kBytes)) {
        name = plugin_data.get_string();
      } else {
        plugin_data.skip();
      }
    }
  }
  return name;
}

std::optional<SummaryValue> read_value(protozero::pbf_reader message) {
  SummaryValue value;
  bool is_point = false;
  std::string plugin;
  while (message.next()) {
    switch (message.tag_and_type()) {
      case wire(ValueField::kTag, kBytes):
        value.tag = message.get_string();
        break;
      case wire(ValueField::kSimpleValue, kFixed32):
        value.simple_value = message.get_float();
        is_point = true;
        break;
      case wire(ValueField::kHistogram, kBytes):
        value.histogram = read_histogram(message.get_message());
        break;
      case wire(ValueField::kTensor, kBytes):
        value.text = read_text(message.get_message());
        break;
      case wire(ValueField::kMetadata, kBytes):
        plugin = read_plugin_name(message.get_message());
        break;
      default:
        message.skip();
    }
  }
  // TensorFlow's writer gives the name of the plugin only with the first value of a tag.
  if (!plugin.empty() && plugin != kTextPlugin) value.text = {};
  const bool is_known = is_point || value.histogram || value.text.is_set();
  return is_known ? std::optional(std::move(value)) : std::nullopt;
}

std::vector<SummaryValue> read_summary(protozero::pbf_reader message) {
  std::vector<SummaryValue> values;
  while (message.next()) {
    if (message.tag_and_type() != wire(SummaryField::kValue, kBytes)) {
      message.skip();
    } else if (auto value = read_value(message.get_message())) {
      values.push_back(*std::move(value));
    }
  }
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
    throw DataLossError("summary of {} bytes: not a protobuf message: {}", bytes.size(),
                        error.what());
  }
}

}  // namespace crochet
