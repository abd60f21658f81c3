// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "crochet/summary/summary_codecs.h"

namespace crochet::inline v0::internal {
namespace {

// Field numbers of TensorFlow's tensor.proto and tensor_shape.proto.
enum class TensorField { kDType = 1, kShape = 2, kStringValue = 8 };
enum class ShapeField { kDimension = 2 };
enum class DimensionField { kSize = 1 };

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

std::vector<int64_t> read_shape(const protozero::pbf_reader& message) {
  std::vector<int64_t> sizes;
  read_fields(message, message_at(ShapeField::kDimension, [&](const auto& dimension) {
                read_fields(dimension, number_at(DimensionField::kSize, sizes.emplace_back()));
              }));
  return sizes;
}

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

}  // namespace

std::string encode_text(const Tensor& text) {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  message.add_enum(number(TensorField::kDType), static_cast<int32_t>(text.dtype()));
  message.add_message(number(TensorField::kShape), encode_shape(text.shape()));
  for (const std::string& string : text.strings())
    message.add_bytes(number(TensorField::kStringValue), string);
  return bytes;
}

Tensor decode_text(protozero::pbf_reader message) {
  int32_t dtype = 0;
  std::vector<int64_t> sizes;
  std::vector<std::string> strings;
  read_fields(
      message, number_at(TensorField::kDType, dtype),
      message_at(TensorField::kShape, [&](const auto& shape) { sizes = read_shape(shape); }),
      field_at(TensorField::kStringValue, kBytes,
               [&](auto& string) { strings.push_back(string.get_string()); }));
  if (dtype != static_cast<int32_t>(DType::kString) || !has_elements(sizes, strings.size()))
    return {};
  return Tensor::from(std::move(strings), Shape(sizes));
}

}  // namespace crochet::inline v0::internal
