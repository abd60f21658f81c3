// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/internal/plugin_summaries.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <protozero/pbf_writer.hpp>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal::plugins {
namespace {

// Field numbers, by message.
enum class SummaryField { kValue = 1 };
enum class ValueField { kTag = 1, kImage = 4, kTensor = 8, kMetadata = 9 };
enum class MetadataField { kPluginData = 1, kDisplayName = 2 };
enum class PluginDataField { kPluginName = 1, kContent = 2 };
enum class ImageField { kHeight = 1, kWidth = 2, kColorspace = 3, kEncoded = 4 };
enum class TensorField { kDType = 1, kShape = 2, kContent = 4, kStringValue = 8 };
enum class ShapeField { kDimension = 2 };
enum class DimensionField { kSize = 1 };
enum class HparamsData { kStart = 3, kEnd = 4 };
enum class StartInfo { kHparams = 1, kStartTime = 5 };
enum class EndInfo { kStatus = 1, kEndTime = 2 };
enum class MapEntry { kKey = 1, kValue = 2 };
// Of google.protobuf.Value.
enum class AnyValue { kNumber = 2, kString = 3, kBool = 4 };
enum class PrCurveData { kNumThresholds = 2 };
enum class LayoutField { kCategory = 2 };
enum class CategoryField { kTitle = 1, kChart = 2, kClosed = 3 };
enum class ChartField { kTitle = 1, kMultiline = 2 };
enum class MultilineField { kTag = 1 };

template <typename Field>
constexpr protozero::pbf_tag_type tag_of(Field field) {
  return static_cast<protozero::pbf_tag_type>(field);
}

// The bytes of a message that `write` fills.
template <typename Write>
std::string message(const Write& write) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  write(writer);
  return bytes;
}

std::string metadata(std::string_view plugin, std::string_view content,
                     std::string_view display_name = {}) {
  const std::string data = message([&](auto& to) {
    to.add_string(tag_of(PluginDataField::kPluginName), plugin.data(), plugin.size());
    if (!content.empty())
      to.add_bytes(tag_of(PluginDataField::kContent), content.data(), content.size());
  });
  return message([&](auto& to) {
    to.add_message(tag_of(MetadataField::kPluginData), data);
    if (!display_name.empty())
      to.add_string(tag_of(MetadataField::kDisplayName), display_name.data(), display_name.size());
  });
}

std::string shape_of(std::initializer_list<int64_t> sizes) {
  return message([&](auto& to) {
    for (const int64_t size : sizes)
      to.add_message(tag_of(ShapeField::kDimension), message([&](auto& dimension) {
                       dimension.add_int64(tag_of(DimensionField::kSize), size);
                     }));
  });
}

// A Summary of one value.
template <typename Write>
std::string summary(std::string_view tag, const Write& write) {
  return message([&](auto& to) {
    to.add_message(tag_of(SummaryField::kValue), message([&](auto& value) {
                     value.add_string(tag_of(ValueField::kTag), tag.data(), tag.size());
                     write(value);
                   }));
  });
}

std::string tensor_of_floats(std::initializer_list<int64_t> sizes, std::string_view content) {
  return message([&](auto& to) {
    to.add_enum(tag_of(TensorField::kDType), static_cast<int32_t>(DType::kFloat));
    to.add_message(tag_of(TensorField::kShape), shape_of(sizes));
    if (!content.empty())
      to.add_bytes(tag_of(TensorField::kContent), content.data(), content.size());
  });
}

// Hparams are in the metadata: the value is there because every value has one.
std::string hparams(const char* tag, HparamsData field, const std::string& info) {
  const std::string content = message([&](auto& to) { to.add_message(tag_of(field), info); });
  return summary(tag, [&](auto& value) {
    value.add_message(tag_of(ValueField::kTensor), tensor_of_floats({}, {}));
    value.add_message(tag_of(ValueField::kMetadata), metadata("hparams", content));
  });
}

std::string any_value(const HyperparameterValue& given) {
  return message([&](auto& to) {
    if (const auto* const text = std::get_if<std::string>(&given))
      to.add_string(tag_of(AnyValue::kString), *text);
    else if (const auto* const flag = std::get_if<bool>(&given))
      to.add_bool(tag_of(AnyValue::kBool), *flag);
    else if (const auto* const integer = std::get_if<int64_t>(&given))
      to.add_double(tag_of(AnyValue::kNumber), static_cast<double>(*integer));
    else
      to.add_double(tag_of(AnyValue::kNumber), std::get<double>(given));
  });
}

std::string map_entry(const Hyperparameter& hyperparameter) {
  return message([&](auto& to) {
    to.add_string(tag_of(MapEntry::kKey), hyperparameter.name);
    to.add_message(tag_of(MapEntry::kValue), any_value(hyperparameter.value));
  });
}

// A PNG consists of chunks: length, name, data, and a CRC of name and data; numbers are big endian.
void add_number(std::string& bytes, uint64_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(number >> shift & 0xff);
}

void add_chunk(std::string& png, std::string_view name, std::string_view data) {
  add_number(png, data.size());
  const size_t begin = png.size();
  png += name;
  png += data;
  const auto* const start = reinterpret_cast<const Bytef*>(png.data() + begin);
  add_number(png, crc32_z(0, start, png.size() - begin));
}

void check_pixels(const Tensor& pixels) {
  const Shape& shape = pixels.shape();
  const bool is_image = pixels.dtype() == DType::kUint8 && shape.rank() == 3 && shape[0] > 0 &&
                        shape[1] > 0 && (shape[2] == 1 || shape[2] == 3 || shape[2] == 4);
  constexpr int64_t kMaxPixels = 1 << 28;
  if (!is_image || pixels.num_elements() > kMaxPixels)
    throw InvalidArgumentError(
        fmt::format("an image is {}, expected uint8 [height,width,channels] with 1, 3 or 4 "
                    "channels and at most {} elements",
                    pixels.is_set() ? describe(pixels) : "unset", kMaxPixels));
}

// The number of channels to the type of color in a PNG.
char color_type(int64_t channels) { return channels == 1 ? 0 : channels == 3 ? 2 : 6; }

double number_at(const Tensor& tensor, int64_t index) {
  if (tensor.dtype() == DType::kFloat) return tensor.flat<float>()[static_cast<size_t>(index)];
  if (tensor.dtype() == DType::kDouble) return tensor.flat<double>()[static_cast<size_t>(index)];
  throw InvalidArgumentError(fmt::format(
      "the predictions of a PR curve are {}, expected float32 or float64", describe(tensor)));
}

}  // namespace

std::string encode_hyperparameters(std::span<const Hyperparameter> hyperparameters,
                                   double start_time) {
  return hparams("_hparams_/session_start_info", HparamsData::kStart, message([&](auto& to) {
                   for (const Hyperparameter& each : hyperparameters)
                     to.add_message(tag_of(StartInfo::kHparams), map_entry(each));
                   to.add_double(tag_of(StartInfo::kStartTime), start_time);
                 }));
}

std::string encode_hyperparameter_end(HyperparameterStatus status, double end_time) {
  return hparams("_hparams_/session_end_info", HparamsData::kEnd, message([&](auto& to) {
                   to.add_enum(tag_of(EndInfo::kStatus), static_cast<int32_t>(status));
                   to.add_double(tag_of(EndInfo::kEndTime), end_time);
                 }));
}

std::string encode_png(const Tensor& pixels) {
  check_pixels(pixels);
  const int64_t height = pixels.shape()[0];
  const int64_t channels = pixels.shape()[2];
  const auto row_bytes = static_cast<size_t>(pixels.shape()[1] * channels);
  std::string header;
  add_number(header, static_cast<uint64_t>(pixels.shape()[1]));
  add_number(header, static_cast<uint64_t>(height));
  header += {8, color_type(channels), 0, 0, 0};  // 8 bits; deflate, without filters and interlace.
  // Each row begins with the number of its filter: none.
  std::string rows;
  const auto* from = reinterpret_cast<const char*>(pixels.bytes().data());
  for (int64_t row = 0; row < height; ++row, from += row_bytes) {
    rows += '\0';
    rows.append(from, row_bytes);
  }
  uLongf size = compressBound(rows.size());
  std::string packed(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(packed.data()), &size,
               reinterpret_cast<const Bytef*>(rows.data()), rows.size()) != Z_OK)
    throw ResourceExhaustedError("there is not enough memory to compress an image");
  packed.resize(size);
  std::string png = "\x89PNG\r\n\x1a\n";
  add_chunk(png, "IHDR", header);
  add_chunk(png, "IDAT", packed);
  add_chunk(png, "IEND", "");
  return png;
}

std::string encode_image(std::string_view tag, const Tensor& pixels) {
  const std::string png = encode_png(pixels);
  return summary(tag, [&](auto& value) {
    value.add_message(
        tag_of(ValueField::kImage), message([&](auto& image) {
          image.add_int32(tag_of(ImageField::kHeight), static_cast<int32_t>(pixels.shape()[0]));
          image.add_int32(tag_of(ImageField::kWidth), static_cast<int32_t>(pixels.shape()[1]));
          image.add_int32(tag_of(ImageField::kColorspace), static_cast<int32_t>(pixels.shape()[2]));
          image.add_bytes(tag_of(ImageField::kEncoded), png);
        }));
  });
}

std::string encode_pr_curve(std::string_view tag, const Tensor& labels, const Tensor& predictions,
                            int num_thresholds) {
  if (num_thresholds < 2)
    throw InvalidArgumentError(
        fmt::format("a PR curve has {} thresholds, expected 2 or more", num_thresholds));
  if (labels.dtype() != DType::kBool || !predictions.is_set() ||
      labels.num_elements() != predictions.num_elements())
    throw InvalidArgumentError(fmt::format(
        "a PR curve has labels {} and predictions {}, expected bool and as many numbers",
        labels.is_set() ? describe(labels) : "unset",
        predictions.is_set() ? describe(predictions) : "unset"));
  const auto n = static_cast<size_t>(num_thresholds);
  // By bucket, then of all buckets from that one on.
  std::vector<double> true_positives(n);
  std::vector<double> false_positives(n);
  const auto is_positive = labels.flat<bool>();
  for (int64_t i = 0; i < labels.num_elements(); ++i) {
    const double prediction = number_at(predictions, i);
    if (!(prediction >= 0 && prediction <= 1))
      throw InvalidArgumentError(
          fmt::format("a prediction of a PR curve is {}, expected 0 to 1", prediction));
    const auto bucket = static_cast<size_t>(std::floor(prediction * static_cast<double>(n - 1)));
    ++(is_positive[static_cast<size_t>(i)] ? true_positives : false_positives)[bucket];
  }
  for (size_t i = n - 1; i-- > 0;) {
    true_positives[i] += true_positives[i + 1];
    false_positives[i] += false_positives[i + 1];
  }
  // As TensorBoard: so that 0 of 0 is 0.
  constexpr double kLeastCount = 1e-7;
  std::vector<float> rows(6 * n);
  for (size_t i = 0; i < n; ++i) {
    const double positives = true_positives[i] + false_positives[i];
    const std::array<double, 6> column = {
        true_positives[i],
        false_positives[i],
        false_positives[0] - false_positives[i],
        true_positives[0] - true_positives[i],
        true_positives[i] / std::max(kLeastCount, positives),
        true_positives[i] / std::max(kLeastCount, true_positives[0])};
    for (size_t row = 0; row < column.size(); ++row)
      rows[row * n + i] = static_cast<float>(column[row]);
  }
  const std::string_view content(reinterpret_cast<const char*>(rows.data()),
                                 rows.size() * sizeof(float));
  const std::string data = message([&](auto& to) {
    to.add_uint32(tag_of(PrCurveData::kNumThresholds), static_cast<uint32_t>(num_thresholds));
  });
  return summary(fmt::format("{}/pr_curves", tag), [&](auto& value) {
    value.add_message(tag_of(ValueField::kTensor), tensor_of_floats({6, num_thresholds}, content));
    value.add_message(tag_of(ValueField::kMetadata), metadata("pr_curves", data, tag));
  });
}

std::string encode_layout(std::span<const LayoutCategory> layout) {
  const auto chart_message = [](const LayoutChart& chart) {
    return message([&](auto& to) {
      to.add_string(tag_of(ChartField::kTitle), chart.title);
      to.add_message(tag_of(ChartField::kMultiline), message([&](auto& lines) {
                       for (const std::string& tag : chart.tags)
                         lines.add_string(tag_of(MultilineField::kTag), tag);
                     }));
    });
  };
  const std::string bytes = message([&](auto& to) {
    for (const LayoutCategory& category : layout)
      to.add_message(tag_of(LayoutField::kCategory), message([&](auto& each) {
                       each.add_string(tag_of(CategoryField::kTitle), category.title);
                       for (const LayoutChart& chart : category.charts)
                         each.add_message(tag_of(CategoryField::kChart), chart_message(chart));
                     }));
  });
  return summary("custom_scalars__config__", [&](auto& value) {
    value.add_message(tag_of(ValueField::kTensor), message([&](auto& tensor) {
                        tensor.add_enum(tag_of(TensorField::kDType),
                                        static_cast<int32_t>(DType::kString));
                        tensor.add_message(tag_of(TensorField::kShape), shape_of({}));
                        tensor.add_bytes(tag_of(TensorField::kStringValue), bytes);
                      }));
    value.add_message(tag_of(ValueField::kMetadata), metadata("custom_scalars", {}));
  });
}

}  // namespace crochet::inline v0::internal::plugins
