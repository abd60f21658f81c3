// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/summary/summary_value.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/base/proto_fields.h"
#include "crochet/summary/summary_codecs.h"

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

// Ensures that doubles beyond float's range become infinities when narrowed.
static_assert(std::numeric_limits<float>::is_iec559);

constexpr std::string_view kTextPlugin = "text";

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
                 [&](const auto& field) { value.histogram = decode_histogram(field); }),
      message_at(ValueField::kTensor, [&](const auto& field) { value.text = decode_text(field); }),
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
