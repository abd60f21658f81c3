// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/format/internal/stored_tensors.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// Stored bytes, and the part of a tensor that they contain.
struct StoredSlice {
  TensorSlice where;          // Resolved.
  const StoredTensor* entry;  // Owned by the index.
};

// All parts that a tensor is stored in, ordered by their location; a tensor that is stored whole is
// its only part. Takes n log n time for grids of n slices, as created by partitioners, and bounded
// time for any others.
// Throws: DataLossError for parts that are missing, overlap, contradict the entry or are too
// entangled to be compared in that time; CancelledError if a signal is pending.
std::vector<StoredSlice> all_slices(const StoredTensors& tensors, std::string_view name,
                                    const StoredTensor& entry);

// The parts to read for a slice of a tensor: each element of the slice is in one of them.
// Requires: `all` is what all_slices() returned for the tensor `name`; `target` is resolved.
// Throws: InvalidArgumentError if the stored parts do not cover the slice.
std::vector<StoredSlice> slices_within(const std::vector<StoredSlice>& all, std::string_view name,
                                       const TensorSlice& target);

}  // namespace crochet::inline v0::internal
