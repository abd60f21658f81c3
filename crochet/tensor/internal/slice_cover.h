// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// The functions below require resolved slices of the same tensor.

// True if the slices have elements in common.
CROCHET_EXPORT bool overlap(const TensorSlice& a, const TensorSlice& b);

// What several slices have of a tensor. They cover it if they have all of its elements and none
// twice.
struct SliceCover {
  int64_t num_elements = 0;  // The sum over the slices.
  // The indices of two slices that overlap, the smaller index first; unset if no two do.
  std::optional<std::pair<size_t, size_t>> overlap = {};
  // True if the comparison was ended, because it takes too long: none was found until then.
  bool is_entangled = false;
};
// Takes n log n time for grids of n slices, as created by partitioners, and bounded time for any
// others. Throws: CancelledError if a signal is pending.
CROCHET_EXPORT SliceCover cover_of(std::span<const TensorSlice> slices);

}  // namespace crochet::inline v0::internal
