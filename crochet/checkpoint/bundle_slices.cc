// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle_slices.h"

#include <utility>

#include "crochet/base/error.h"

namespace crochet::internal {
namespace {

TensorSlice resolved_or_lost(const TensorSlice& slice, const BundleEntry& entry,
                             std::string_view name) {
  try {
    return resolved(slice, entry.shape);
  } catch (const InvalidArgumentError& error) {
    throw DataLossError("\"{}\" {} is stored in slices, one is {}", name, entry.shape,
                        error.what());
  }
}

const BundleEntry& entry_of_slice(const BundleIndex& index, std::string_view name,
                                  const BundleEntry& whole, const TensorSlice& slice,
                                  const Shape& shape) {
  const auto found = index.entries.find(slice_key(name, slice));
  if (found == index.entries.end())
    throw DataLossError("the slice {} of \"{}\" is not in the index", to_string(slice), name);
  const BundleEntry& entry = found->second;
  if (entry.dtype != whole.dtype || entry.shape != shape || !entry.slices.empty())
    throw DataLossError("the slice {} of \"{}\" is {} {}, expected {} {}", to_string(slice), name,
                        entry.dtype, entry.shape, whole.dtype, shape);
  return entry;
}

}  // namespace

std::vector<StoredSlice> all_slices(const BundleIndex& index, std::string_view name,
                                    const BundleEntry& entry) {
  if (entry.slices.empty()) return {{whole_slice(entry.shape), &entry}};
  std::vector<StoredSlice> all;
  for (const TensorSlice& slice : entry.slices) {
    TensorSlice where = resolved_or_lost(slice, entry, name);
    for (const StoredSlice& other : all)
      if (intersection(where, other.where))
        throw DataLossError("the slices {} and {} of \"{}\" overlap", to_string(other.where),
                            to_string(where), name);
    const BundleEntry& stored = entry_of_slice(index, name, entry, slice, shape_of(where));
    all.push_back({std::move(where), &stored});
  }
  return all;
}

std::vector<StoredSlice> stored_slices(const BundleIndex& index, std::string_view name,
                                       const BundleEntry& entry, const TensorSlice& target) {
  std::vector<StoredSlice> needed;
  int64_t num_found = 0;
  for (StoredSlice& stored : all_slices(index, name, entry)) {
    const auto common = intersection(stored.where, target);
    if (common) num_found += shape_of(*common).num_elements();
    // An empty tensor has nothing in common with itself, and a checksum all the same.
    if (common || stored.where == target) needed.push_back(std::move(stored));
  }
  const int64_t num_wanted = shape_of(target).num_elements();
  if (num_found != num_wanted)
    throw InvalidArgumentError(
        "\"{}\" does not have sufficient slices for {}: {} of its {} elements are stored", name,
        to_string(target), num_found, num_wanted);
  return needed;
}

}  // namespace crochet::internal
