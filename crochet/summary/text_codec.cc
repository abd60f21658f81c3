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

// True if a tensor of these sizes has exactly `count` elements. The sizes are not trusted.
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

}  // namespace crochet::inline v0::internal
