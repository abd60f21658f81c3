// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0::internal {

// Elements with a size and a stride, in elements, for each index.
struct Strided {
  DType dtype;
  void* data;
  std::vector<int64_t> sizes = {};
  std::vector<int64_t> strides = {};

  // Whether they are one piece of memory in the order of the last index, or of the first.
  bool is_dense(bool is_last_fastest) const {
    int64_t stride = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const size_t r = is_last_fastest ? sizes.size() - 1 - i : i;
      if (sizes[r] != 1 && strides[r] != stride) return false;
      stride *= sizes[r];
    }
    return true;
  }
};

// Where the first index is the fastest, a matrix is (row, column), and an array of more dimensions
// is as it lies in memory, with the dimensions in the opposite order.
// Throws: InvalidArgumentError for elements that are not one piece of memory in the order of the
// last index or of the first; `what` is "an mdspan".
inline ArrayView view_of_strided(Strided elements, const std::string& what) {
  MemoryOrder order = MemoryOrder::kRowMajor;
  std::vector<int64_t>& sizes = elements.sizes;
  if (Shape(sizes).num_elements() > 0 && !elements.is_dense(/*is_last_fastest=*/true)) {
    if (!elements.is_dense(/*is_last_fastest=*/false))
      throw InvalidArgumentError(
          what +
          " is tracked whose elements are not one piece of memory, in the order of the last "
          "index or of the first; track a copy of them");
    if (sizes.size() == 2)
      order = MemoryOrder::kColumnMajor;
    else
      sizes = {sizes.rbegin(), sizes.rend()};
  }
  return {.dtype = elements.dtype,
          .shape = Shape(std::move(sizes)),
          .data = static_cast<std::byte*>(elements.data),
          .order = order};
}

}  // namespace crochet::inline v0::internal
