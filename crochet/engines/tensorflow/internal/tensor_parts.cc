// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/internal/tensor_parts.h"

#include <cstring>

#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::tensorflow::internal {
namespace {

using crochet::internal::whole_slice;

TensorSlice box_at(std::span<const int64_t> offset, const Shape& shape) {
  TensorSlice box = whole_slice(shape);
  for (size_t i = 0; i < box.size(); ++i) box[i].start = offset[i];
  return box;
}

void copy_common(const Tensor& from, const TensorSlice& from_slice, Tensor& to,
                 const TensorSlice& to_slice) {
  const size_t size = element_size(from.dtype());
  const std::byte* const source = from.bytes().data();
  std::byte* const destination = to.writable_bytes().data();
  crochet::internal::for_each_common_row(
      from_slice, to_slice, [&](const crochet::internal::CommonRow& row) {
        std::memcpy(destination + static_cast<size_t>(row.offset_in_to) * size,
                    source + static_cast<size_t>(row.offset_in_from) * size,
                    static_cast<size_t>(row.length) * size);
      });
}

}  // namespace

Tensor cut_part(const Tensor& whole, std::span<const int64_t> offset, const Shape& shape) {
  Tensor part(whole.dtype(), shape);
  copy_common(whole, whole_slice(whole.shape()), part, box_at(offset, shape));
  return part;
}

void place_part(Tensor& whole, const Tensor& part, std::span<const int64_t> offset) {
  copy_common(part, box_at(offset, part.shape()), whole, whole_slice(whole.shape()));
}

}  // namespace crochet::inline v0::tensorflow::internal
