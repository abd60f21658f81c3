// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0 {

// A range in one dimension of a partitioned tensor; kWholeDimension is all of it.
struct SliceExtent {
  static constexpr int64_t kWholeDimension = -1;
  int64_t start = 0;
  int64_t length = kWholeDimension;

  friend bool operator==(const SliceExtent&, const SliceExtent&) = default;
};

// A rectangular part of a tensor, with one extent per dimension.
using TensorSlice = std::vector<SliceExtent>;

// The location of a variable that is one part of a partitioned variable.
struct SaveSliceInfo {
  Shape full_shape = {};
  TensorSlice slice = {};
};

// TensorFlow's text: "start,length" for each dimension, or "-" for all of it, joined
// by ":". For a matrix, "0,2:-" is the first two rows. "" is the slice of a scalar.
// Throws: InvalidArgumentError for other text, a negative start and a length below 1.
CROCHET_EXPORT TensorSlice parse_slice(std::string_view text);
CROCHET_EXPORT std::string to_string(const TensorSlice& slice);

}  // namespace crochet::inline v0

namespace crochet::inline v0::internal {

// The slice of a tensor of this shape, with each "all of it" replaced by the dimension's range.
// Throws: InvalidArgumentError for another number of dimensions, or if it reaches outside.
CROCHET_EXPORT TensorSlice resolved(const TensorSlice& slice, const Shape& shape);
// The whole of a tensor.
CROCHET_EXPORT TensorSlice whole_slice(const Shape& shape);

// The functions below require resolved slices of the same tensor.

CROCHET_EXPORT Shape shape_of(const TensorSlice& slice);
// The elements in both slices; unset if there are none.
CROCHET_EXPORT std::optional<TensorSlice> intersection(const TensorSlice& a, const TensorSlice& b);

// Elements of a row-major tensor that are contiguous in two slices of it.
struct CommonRow {
  int64_t offset_in_from = 0;
  int64_t offset_in_to = 0;
  int64_t length = 0;
};
// Calls `copy` for each row to copy so that the elements common to both slices get from slice
// `from` to slice `to`.
CROCHET_EXPORT void for_each_common_row(const TensorSlice& from, const TensorSlice& to,
                                        const std::function<void(const CommonRow&)>& copy);

}  // namespace crochet::inline v0::internal
