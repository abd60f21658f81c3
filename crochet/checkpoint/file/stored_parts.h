// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/layout/stored_tensor.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::internal {

// Bytes of a bundle, and the part of a tensor that they are.
struct StoredPart {
  TensorSlice where;          // Resolved.
  const StoredTensor* entry;  // Of the index.
};

// All parts that a tensor is stored in, ordered by where they are; one that is stored whole is its
// only part. Takes time n log n for the grids of n slices that partitioners make, and a bounded one
// for any others.
// Throws: DataLossError for parts that are missing, overlap, are not as the entry says or lie so
// entangled that they cannot be told apart in that time; CancelledError if a signal is pending.
std::vector<StoredPart> all_slices(const StoredTensors& tensors, std::string_view name,
                                   const StoredTensor& entry);

// What to read for a slice of a tensor: the parts that hold its elements, each element in
// one of them.
// Requires: `all` is what all_slices() returned for the tensor `name`; `target` is resolved.
// Throws: InvalidArgumentError if the parts that are stored do not make up the slice.
std::vector<StoredPart> slices_within(const std::vector<StoredPart>& all, std::string_view name,
                                      const TensorSlice& target);

}  // namespace crochet::internal
