// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "crochet/checkpoint/bundle_index.h"
#include "crochet/checkpoint/tensor_slice.h"

namespace crochet::internal {

// Bytes of a bundle, and the part of a tensor that they are.
struct StoredSlice {
  TensorSlice where;         // Resolved.
  const BundleEntry* entry;  // Of the index.
};

// All parts that a tensor is stored in; one that is stored whole is its only part.
// Throws: DataLossError for parts that are missing, overlap or are not as the entry says.
std::vector<StoredSlice> all_slices(const BundleIndex& index, std::string_view name,
                                    const BundleEntry& entry);

// What to read for a slice of a tensor: the parts that hold its elements, each element in
// one of them. A tensor that is stored whole is its only part.
// Requires: `target` is resolved, `entry` is the index's entry of the whole tensor.
// Throws: InvalidArgumentError if the parts that are stored do not make up the slice;
// DataLossError for parts that are missing, overlap or are not as the entry says.
std::vector<StoredSlice> stored_slices(const BundleIndex& index, std::string_view name,
                                       const BundleEntry& entry, const TensorSlice& target);

}  // namespace crochet::internal
