// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace crochet {

// The sizes of a tensor's dimensions; a scalar has none. In the shape of a
// placeholder or of a variable that may grow, kUnknownDimension stands for "any size".
class Shape {
 public:
  static constexpr int64_t kUnknownDimension = -1;

  Shape() = default;
  // Throws: InvalidArgumentError for a negative size other than kUnknownDimension,
  // or if the product of the known sizes overflows int64.
  Shape(std::initializer_list<int64_t> dimensions) : Shape(std::vector<int64_t>(dimensions)) {}
  explicit Shape(std::vector<int64_t> dimensions);

  int rank() const { return static_cast<int>(dimensions_.size()); }
  int64_t operator[](int i) const { return dimensions_[static_cast<size_t>(i)]; }
  std::span<const int64_t> dimensions() const { return dimensions_; }

  bool is_fully_known() const;
  // Requires: is_fully_known().
  int64_t num_elements() const;
  // True if the known sizes of both agree.
  bool is_compatible_with(const Shape& other) const;

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<int64_t> dimensions_;
};

// "[64,128]", "[]" for a scalar, "[?,64]" for an unknown size.
std::string to_string(const Shape& shape);

}  // namespace crochet

template <>
struct fmt::formatter<crochet::Shape> : fmt::formatter<std::string> {
  auto format(const crochet::Shape& shape, fmt::format_context& context) const {
    return fmt::formatter<std::string>::format(crochet::to_string(shape), context);
  }
};
