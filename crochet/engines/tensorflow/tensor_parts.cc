// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/tensor_parts.h"

#include <cstring>

namespace crochet::inline v0::tensorflow::internal {
namespace {

// Calls `copy_row(in whole, in part, elements)` for each row of the box.
template <typename CopyRow>
void for_each_row(const Shape& whole, const Shape& box, std::span<const int64_t> offset,
                  CopyRow copy_row) {
  const int rank = box.rank();
  const int64_t row = rank == 0 ? 1 : box[rank - 1];
  if (box.num_elements() == 0) return;
  const int64_t num_rows = box.num_elements() / row;
  for (int64_t index = 0; index < num_rows; ++index) {
    int64_t rest = index;
    int64_t position = rank == 0 ? 0 : offset[static_cast<size_t>(rank - 1)];
    int64_t stride = rank == 0 ? 1 : whole[rank - 1];
    for (int i = rank - 2; i >= 0; --i) {
      position += (offset[static_cast<size_t>(i)] + rest % box[i]) * stride;
      stride *= whole[i];
      rest /= box[i];
    }
    copy_row(static_cast<size_t>(position), static_cast<size_t>(index * row),
             static_cast<size_t>(row));
  }
}

}  // namespace

Tensor cut_part(const Tensor& whole, std::span<const int64_t> offset, const Shape& shape) {
  Tensor part(whole.dtype(), shape);
  const size_t size = element_size(whole.dtype());
  const std::byte* const from = whole.bytes().data();
  std::byte* const to = part.mutable_bytes().data();
  for_each_row(whole.shape(), shape, offset, [&](size_t in_whole, size_t in_part, size_t length) {
    std::memcpy(to + in_part * size, from + in_whole * size, length * size);
  });
  return part;
}

void place_part(Tensor& whole, const Tensor& part, std::span<const int64_t> offset) {
  const size_t size = element_size(whole.dtype());
  const std::byte* const from = part.bytes().data();
  std::byte* const to = whole.mutable_bytes().data();
  for_each_row(whole.shape(), part.shape(), offset,
               [&](size_t in_whole, size_t in_part, size_t length) {
                 std::memcpy(to + in_whole * size, from + in_part * size, length * size);
               });
}

}  // namespace crochet::inline v0::tensorflow::internal
