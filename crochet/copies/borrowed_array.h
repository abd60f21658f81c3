// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "crochet/base/export.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0 {

class WriteBarrier;

// The order of a matrix's elements in memory. Checkpoints are always
// row-major.
enum class MemoryOrder { kRowMajor, kColumnMajor };

// Elements in the user's memory. Arrays that are not matrices are row-major.
struct CROCHET_EXPORT ArrayView {
  DType dtype = DType::kInvalid;
  Shape shape = {};
  std::byte* data = nullptr;
  MemoryOrder order = MemoryOrder::kRowMajor;

  size_t num_bytes() const {
    return static_cast<size_t>(shape.num_elements()) * element_size(dtype);
  }
};

// An array that is saved and restored in place and never owned.
struct BorrowedArray {
  // Returns where the array is now. Called at each save and restore, so the array may move.
  std::function<ArrayView()> view;
  // Changes the shape of the array, before a restore. Empty if its shape is fixed.
  std::function<void(const Shape& shape)> resize = {};
  // The shapes that resize() takes, with kUnknownDimension for any size; unset for all of the
  // array's rank.
  std::optional<Shape> sizes = {};
  // If set, snapshots copy the array in the background, guarded by it. Requires: before the
  // array is written, its bytes are announced by before_write(); and its memory stays until it is
  // copied, though it may be replaced: `owner` keeps it, or the program.
  std::shared_ptr<WriteBarrier> barrier = {};
  // Returns an object that keeps the memory of the latest view(). Empty if nothing needs to. Called
  // after view() by snapshots that copy the array in the background; the object is released soon
  // after the copy is made, on any thread.
  std::function<std::shared_ptr<const void>()> owner = {};
  // Returns an object whose address identifies the memory of the latest view(): as long as it
  // exists, no other memory has it, though it need not keep the memory. With a barrier, it lets
  // snapshots tell that nothing was written to the array since the snapshot before. Empty if they
  // need not.
  std::function<std::shared_ptr<const void>()> identity = {};
};

// The shapes that the array, of which `view` is the view now, may have: with kUnknownDimension for
// the sizes that may change.
CROCHET_EXPORT Shape possible_shape(const BorrowedArray& array, const ArrayView& view);

// Copies the array, row-major, to `destination` of num_bytes() bytes.
CROCHET_EXPORT void copy_out(const ArrayView& array, std::span<std::byte> destination);
// The same for the bytes [begin, end) of the destination; `destination` is its start.
// Requires: both are multiples of part_unit().
CROCHET_EXPORT void copy_out(const ArrayView& array, std::byte* destination, size_t begin,
                             size_t end);
// The unit of parts in bytes: a row of a matrix that is transposed, otherwise 1. Not 0.
CROCHET_EXPORT size_t part_unit(const ArrayView& array);
// The inverse: gives the array the elements that `fill` writes, row-major, to memory of num_bytes()
// bytes, which is the array's own if possible. Throws: as `fill`; InvalidArgumentError for a bool
// that is neither 0 nor 1, which never reaches the array: reading it would be undefined.
CROCHET_EXPORT void fill_array(const ArrayView& array,
                               const std::function<void(std::span<std::byte> elements)>& fill);

}  // namespace crochet::inline v0
