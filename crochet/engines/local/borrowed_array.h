// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

namespace crochet::local {

// How the elements of a matrix follow one another in memory. Checkpoints are
// row-major whatever the memory is.
enum class MemoryOrder { kRowMajor, kColumnMajor };

// Elements in the user's memory. Arrays that are no matrix are row-major.
struct ArrayView {
  DType dtype = DType::kInvalid;
  Shape shape = {};
  std::byte* data = nullptr;
  MemoryOrder order = MemoryOrder::kRowMajor;

  size_t num_bytes() const {
    return static_cast<size_t>(shape.num_elements()) * element_size(dtype);
  }
};

// An array that is saved and restored where it lies and never owned.
struct BorrowedArray {
  // Where the array is now; asked at each save and restore, so it may move.
  std::function<ArrayView()> view;
  // Gives the array another shape, before a restore. Empty if its shape is fixed.
  std::function<void(const Shape& shape)> resize = {};
};

// Copies the array, row-major, to `destination` of num_bytes() bytes.
void copy_out(const ArrayView& array, std::span<std::byte> destination);
// The same for a part: the bytes [begin, end) of the destination, which is given as a whole.
// Requires: both are multiples of part_unit().
void copy_out(const ArrayView& array, std::byte* destination, size_t begin, size_t end);
// What parts consist of, in bytes: rows of a matrix that is turned, bytes of anything else. Not 0.
size_t part_unit(const ArrayView& array);
// The inverse.
void copy_in(std::span<const std::byte> source, const ArrayView& array);

}  // namespace crochet::local
