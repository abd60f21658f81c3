// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

// The sizes of a tensor's dimensions; a scalar has none. In the shape of a
// placeholder or of a variable that may grow, kUnknownDimension means "any size".
//
// Up to kInlineRank sizes are stored in the object: tensors of usual ranks are passed on
// without an allocation.
class CROCHET_EXPORT Shape {
 public:
  static constexpr int64_t kUnknownDimension = -1;
  static constexpr size_t kInlineRank = 4;

  Shape() = default;
  // Throws: InvalidArgumentError for a negative size other than kUnknownDimension,
  // or if the product of the known sizes overflows int64.
  Shape(std::initializer_list<int64_t> dimensions)
      : Shape(std::span<const int64_t>(dimensions.begin(), dimensions.size())) {}
  explicit Shape(const std::vector<int64_t>& dimensions)
      : Shape(std::span<const int64_t>(dimensions)) {}
  explicit Shape(std::span<const int64_t> dimensions);

  Shape(const Shape& other) : rank_(other.rank_), few_(other.few_) {
    if (rank_ > kInlineRank) assign(other.dimensions());
  }
  Shape(Shape&& other) noexcept
      : rank_(std::exchange(other.rank_, 0)), few_(other.few_), many_(std::move(other.many_)) {}
  Shape& operator=(const Shape& other) { return *this = Shape(other); }
  Shape& operator=(Shape&& other) noexcept {
    rank_ = std::exchange(other.rank_, 0);
    few_ = other.few_;
    many_ = std::move(other.many_);
    return *this;
  }
  ~Shape() = default;

  int rank() const { return static_cast<int>(rank_); }
  int64_t operator[](int i) const { return dimensions()[static_cast<size_t>(i)]; }
  std::span<const int64_t> dimensions() const {
    return {rank_ <= kInlineRank ? few_.data() : many_.get(), rank_};
  }

  bool is_fully_known() const;
  // Requires: is_fully_known().
  int64_t num_elements() const;
  // True if the known sizes of both agree.
  bool is_compatible_with(const Shape& other) const;

  friend CROCHET_EXPORT bool operator==(const Shape& a, const Shape& b);

 private:
  void assign(std::span<const int64_t> dimensions);

  size_t rank_ = 0;
  std::array<int64_t, kInlineRank> few_ = {};
  std::unique_ptr<int64_t[]> many_;  // All sizes, if there are more than kInlineRank.
};

// "[64,128]", "[]" for a scalar, "[?,64]" for an unknown size.
CROCHET_EXPORT std::string to_string(const Shape& shape);

}  // namespace crochet::inline v0
