// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/torch/internal/torch_view.h"

namespace crochet::inline v0::internal {

bool is_row_major(const TorchView& view) {
  int64_t expected = 1;
  for (size_t i = view.sizes.size(); i-- > 0;) {
    if (view.sizes[i] != 1 && view.strides[i] != expected) return false;
    expected *= view.sizes[i];
  }
  return true;
}

std::optional<uint64_t> end_of(const TorchView& view) {
  int64_t last = view.offset;
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    int64_t distance = 0;
    if (__builtin_mul_overflow(view.sizes[i] - 1, view.strides[i], &distance) ||
        __builtin_add_overflow(last, distance, &last))
      return std::nullopt;
  }
  return static_cast<uint64_t>(last) + 1;
}

ViewRuns::ViewRuns(std::span<const int64_t> sizes, std::span<const int64_t> strides)
    : sizes_(sizes), strides_(strides) {
  size_t num_outer = sizes.size();
  while (num_outer > 0 && (sizes[num_outer - 1] == 1 || strides[num_outer - 1] == run_length_))
    run_length_ *= sizes[--num_outer];
  indices_.assign(num_outer, 0);
}

void ViewRuns::next() {
  for (size_t i = indices_.size(); i-- > 0;) {
    if (indices_[i] + 1 < sizes_[i]) {
      ++indices_[i];
      offset_ += strides_[i];
      return;
    }
    offset_ -= indices_[i] * strides_[i];
    indices_[i] = 0;
  }
}

}  // namespace crochet::inline v0::internal
