// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/stored_slices.h"

#include <algorithm>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/checkpoint/format/internal/slice_key.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/internal/slice_cover.h"

namespace crochet::inline v0::internal {
namespace {

TensorSlice resolved_or_lost(const TensorSlice& slice, const StoredTensor& entry,
                             std::string_view name) {
  try {
    return resolved(slice, entry.shape);
  } catch (const InvalidArgumentError& error) {
    throw DataLossError(fmt::format("\"{}\" {} is stored in slices with an invalid one: {}", name,
                                    entry.shape, error.what()));
  }
}

const StoredTensor& entry_of_slice(const StoredTensors& tensors, std::string_view name,
                                   const StoredTensor& whole, const TensorSlice& slice,
                                   const Shape& shape) {
  const auto found = tensors.find(slice_key(name, slice));
  if (found == tensors.end())
    throw DataLossError(
        fmt::format("the slice {} of \"{}\" is not in the index", to_string(slice), name));
  const StoredTensor& entry = found->second;
  if (entry.dtype != whole.dtype || entry.shape != shape || !entry.slices.empty())
    throw DataLossError(fmt::format("the slice {} of \"{}\" is {} {}, expected {} {}",
                                    to_string(slice), name, entry.dtype, entry.shape, whole.dtype,
                                    shape));
  return entry;
}

void check_overlaps(const std::vector<TensorSlice>& slices, std::string_view name) {
  const SliceCover cover = cover_of(slices);
  if (cover.is_entangled)
    throw DataLossError(
        fmt::format("\"{}\" is stored in slices that are too entangled to compare", name));
  if (cover.overlap)
    throw DataLossError(fmt::format("the slices {} and {} of \"{}\" overlap",
                                    to_string(slices[cover.overlap->first]),
                                    to_string(slices[cover.overlap->second]), name));
}

bool is_before(const TensorSlice& a, const TensorSlice& b) {
  return std::ranges::lexicographical_compare(a, b, {}, &SliceExtent::start, &SliceExtent::start);
}

}  // namespace

std::vector<StoredSlice> all_slices(const StoredTensors& tensors, std::string_view name,
                                    const StoredTensor& entry) {
  if (entry.slices.empty()) return {{whole_slice(entry.shape), &entry}};
  std::vector<TensorSlice> places;
  std::vector<StoredSlice> all;
  all.reserve(entry.slices.size());
  for (const TensorSlice& slice : entry.slices) {
    const TensorSlice& where = places.emplace_back(resolved_or_lost(slice, entry, name));
    all.push_back({where, &entry_of_slice(tensors, name, entry, slice, shape_of(where))});
  }
  check_overlaps(places, name);
  std::ranges::sort(all, is_before, &StoredSlice::where);
  return all;
}

std::vector<StoredSlice> slices_within(const std::vector<StoredSlice>& all, std::string_view name,
                                       const TensorSlice& target) {
  // Often the target is a stored slice. This also handles an empty tensor, which has no elements in
  // common with itself, but a checksum.
  const auto same = std::ranges::lower_bound(all, target, is_before, &StoredSlice::where);
  if (same != all.end() && same->where == target) return {*same};
  std::vector<StoredSlice> needed;
  int64_t num_found = 0;
  for (const StoredSlice& stored : all) {
    if (!overlap(stored.where, target)) continue;
    num_found += shape_of(*intersection(stored.where, target)).num_elements();
    needed.push_back(stored);
  }
  const int64_t num_wanted = shape_of(target).num_elements();
  if (num_found != num_wanted)
    throw InvalidArgumentError(fmt::format(
        "\"{}\" does not have sufficient slices for {}: {} of its {} elements are stored", name,
        to_string(target), num_found, num_wanted));
  return needed;
}

}  // namespace crochet::inline v0::internal
