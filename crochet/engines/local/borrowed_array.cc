// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/borrowed_array.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace crochet::local {
namespace {

// Matrices are transposed in square tiles, so that both sides stay in the first
// cache level: 32 x 32 elements of 16 bytes fill 16 KiB.
constexpr int64_t kTile = 32;

bool must_be_transposed(const ArrayView& array) {
  return array.order == MemoryOrder::kColumnMajor && array.shape.rank() == 2 &&
         array.shape[0] > 1 && array.shape[1] > 1;
}

// to[c * rows + r] = from[r * columns + c], elements of kSize bytes.
template <size_t kSize>
void transpose_elements(const std::byte* from, std::byte* to, int64_t rows, int64_t columns) {
  for (int64_t row = 0; row < rows; row += kTile)
    for (int64_t column = 0; column < columns; column += kTile)
      for (int64_t r = row; r < std::min(row + kTile, rows); ++r)
        for (int64_t c = column; c < std::min(column + kTile, columns); ++c)
          std::memcpy(to + static_cast<size_t>(c * rows + r) * kSize,
                      from + static_cast<size_t>(r * columns + c) * kSize, kSize);
}

// Turns a row-major matrix of rows x columns into a row-major one of columns x rows.
void transpose(const std::byte* from, std::byte* to, int64_t rows, int64_t columns, size_t size) {
  switch (size) {
    case 1:
      return transpose_elements<1>(from, to, rows, columns);
    case 2:
      return transpose_elements<2>(from, to, rows, columns);
    case 4:
      return transpose_elements<4>(from, to, rows, columns);
    case 8:
      return transpose_elements<8>(from, to, rows, columns);
    case 16:
      return transpose_elements<16>(from, to, rows, columns);
    default:
      assert(false && "an element has 1, 2, 4, 8 or 16 bytes");
  }
}

}  // namespace

void copy_out(const ArrayView& array, std::span<std::byte> destination) {
  assert(destination.size() == array.num_bytes());
  if (must_be_transposed(array)) {
    transpose(array.data, destination.data(), array.shape[1], array.shape[0],
              element_size(array.dtype));
  } else if (!destination.empty()) {
    std::memcpy(destination.data(), array.data, destination.size());
  }
}

void copy_in(std::span<const std::byte> source, const ArrayView& array) {
  assert(source.size() == array.num_bytes());
  if (must_be_transposed(array)) {
    transpose(source.data(), array.data, array.shape[0], array.shape[1], element_size(array.dtype));
  } else if (!source.empty()) {
    std::memcpy(array.data, source.data(), source.size());
  }
}

}  // namespace crochet::local
