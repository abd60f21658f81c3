// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/shape.h"

#include <algorithm>
#include <cassert>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "crochet/base/error.h"

namespace crochet::inline v0 {

Shape::Shape(std::span<const int64_t> dimensions) {
  int64_t product = 1;
  for (const int64_t size : dimensions) {
    if (size < kUnknownDimension)
      throw InvalidArgumentError(
          fmt::format("shape [{}]: a dimension of size {}", fmt::join(dimensions, ","), size));
    // Sizes of 0 are skipped, so that a later huge size is still detected.
    if (size > 0 && __builtin_mul_overflow(product, size, &product))
      throw InvalidArgumentError(
          fmt::format("shape [{}]: more elements than 2^63", fmt::join(dimensions, ",")));
  }
  assign(dimensions);
}

void Shape::assign(std::span<const int64_t> dimensions) {
  if (dimensions.size() > kInlineRank) many_ = std::make_unique<int64_t[]>(dimensions.size());
  rank_ = dimensions.size();
  std::ranges::copy(dimensions, rank_ <= kInlineRank ? few_.data() : many_.get());
}

bool Shape::is_fully_known() const {
  return std::ranges::find(dimensions(), kUnknownDimension) == dimensions().end();
}

int64_t Shape::num_elements() const {
  assert(is_fully_known());
  int64_t product = 1;
  for (const int64_t size : dimensions()) product *= size;
  return product;
}

bool Shape::is_compatible_with(const Shape& other) const {
  return std::ranges::equal(dimensions(), other.dimensions(), [](int64_t a, int64_t b) {
    return a == b || a == kUnknownDimension || b == kUnknownDimension;
  });
}

bool operator==(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.dimensions(), b.dimensions());
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const int64_t size : shape.dimensions()) {
    if (text.size() > 1) text += ',';
    text += size == Shape::kUnknownDimension ? "?" : std::to_string(size);
  }
  return text + "]";
}

}  // namespace crochet::inline v0
