// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/copies/borrowed_array.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <vector>

#include "crochet/copies/internal/copy_past_cache.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {
namespace {

// Matrices are transposed in square tiles, so that both sides stay in the first-level
// cache: 32 x 32 elements of 16 bytes fill 16 KiB.
constexpr int64_t kTile = 32;

bool must_be_transposed(const ArrayView& array) {
  return array.order == MemoryOrder::kColumnMajor && array.shape.rank() == 2 &&
         array.shape[0] > 1 && array.shape[1] > 1;
}

// The columns [begin, end) of a row-major matrix become rows:
// to[c * rows + r] = from[r * columns + c], elements of kSize bytes.
struct Transposition {
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t begin = 0;
  int64_t end = 0;
};

template <size_t kSize>
void transpose_elements(const std::byte* from, std::byte* to, const Transposition& part) {
  for (int64_t column = part.begin; column < part.end; column += kTile)
    for (int64_t row = 0; row < part.rows; row += kTile)
      for (int64_t r = row; r < std::min(row + kTile, part.rows); ++r)
        for (int64_t c = column; c < std::min(column + kTile, part.end); ++c)
          std::memcpy(to + static_cast<size_t>(c * part.rows + r) * kSize,
                      from + static_cast<size_t>(r * part.columns + c) * kSize, kSize);
}

void transpose(const std::byte* from, std::byte* to, const Transposition& part,
               size_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return transpose_elements<1>(from, to, part);
    case 2:
      return transpose_elements<2>(from, to, part);
    case 4:
      return transpose_elements<4>(from, to, part);
    case 8:
      return transpose_elements<8>(from, to, part);
    case 16:
      return transpose_elements<16>(from, to, part);
    default:
      assert(false && "an element has 1, 2, 4, 8 or 16 bytes");
  }
}

}  // namespace

Shape possible_shape(const BorrowedArray& array, const ArrayView& view) {
  if (!array.resize) return view.shape;
  if (array.sizes) return *array.sizes;
  return Shape(
      std::vector<int64_t>(static_cast<size_t>(view.shape.rank()), Shape::kUnknownDimension));
}

size_t part_unit(const ArrayView& array) {
  return must_be_transposed(array) ? static_cast<size_t>(array.shape[1]) * element_size(array.dtype)
                                   : 1;
}

void copy_out(const ArrayView& array, std::byte* destination, size_t begin, size_t end) {
  assert(begin <= end && end <= array.num_bytes());
  if (begin == end) return;
  if (!must_be_transposed(array))
    return internal::copy_past_cache(destination + begin, array.data + begin, end - begin);
  const size_t row_bytes = part_unit(array);
  assert(begin % row_bytes == 0 && end % row_bytes == 0);
  transpose(array.data, destination,
            {.rows = array.shape[1],
             .columns = array.shape[0],
             .begin = static_cast<int64_t>(begin / row_bytes),
             .end = static_cast<int64_t>(end / row_bytes)},
            element_size(array.dtype));
}

void copy_out(const ArrayView& array, std::span<std::byte> destination) {
  assert(destination.size() == array.num_bytes());
  copy_out(array, destination.data(), 0, destination.size());
}

void fill_array(const ArrayView& array,
                const std::function<void(std::span<std::byte> elements)>& fill) {
  const bool is_transposed = must_be_transposed(array);
  if (!is_transposed && array.dtype != DType::kBool) return fill({array.data, array.num_bytes()});
  Tensor row_major(array.dtype, array.shape);
  const std::span<std::byte> bytes = row_major.writable_bytes();
  fill(bytes);
  if (array.dtype == DType::kBool) static_cast<void>(row_major.flat<bool>());
  if (is_transposed) {
    transpose(
        bytes.data(), array.data,
        {.rows = array.shape[0], .columns = array.shape[1], .begin = 0, .end = array.shape[1]},
        element_size(array.dtype));
  } else {
    std::ranges::copy(bytes, array.data);
  }
}

}  // namespace crochet::inline v0
