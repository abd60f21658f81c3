// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/file/stored_slices.h"

#include <algorithm>
#include <span>
#include <utility>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/layout/slice_key.h"
#include "crochet/tensor/fmt.h"

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

bool overlap(const TensorSlice& a, const TensorSlice& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].start >= b[i].start + b[i].length || b[i].start >= a[i].start + a[i].length)
      return false;
  return true;
}

// Looks for two slices that overlap. Sorted by one dimension, slices form groups with gaps between
// them; two slices of different groups do not overlap. Groups that one dimension cannot divide are
// divided by the next ones. A group that no dimension divides is compared pair by pair.
class OverlapCheck {
 public:
  OverlapCheck(std::vector<StoredSlice>& slices, std::string_view name)
      : name_(name), work_left_(kMinWork + kWorkPerExtent * slices.size() * rank_of(slices)) {
    pending_.push_back({slices, 0, 0});
  }

  void run() {
    while (!pending_.empty()) {
      const Group group = pending_.back();
      pending_.pop_back();
      if (group.num_undivided == rank_of(group.slices))
        compare_pairs(group.slices);
      else
        divide(group);
    }
  }

 private:
  struct Group {
    std::span<StoredSlice> slices;
    size_t dimension;      // The dimension to divide it by.
    size_t num_undivided;  // The number of earlier dimensions that did not divide it.
  };

  // The limit of slices examined and pairs of slices compared: about 50 ms. A grid needs 2 for each
  // dimension of a slice. An index can have many tensors in slices, so the limit must be small in
  // relation to its bytes: 4,500 slices that nothing divides take a quarter of a megabyte.
  static constexpr size_t kMinWork = 10'000'000;
  static constexpr size_t kWorkPerExtent = 10;

  static size_t rank_of(std::span<const StoredSlice> slices) { return slices.front().where.size(); }

  void divide(const Group& group) {
    const auto [slices, dimension, num_undivided] = group;
    const auto extent = [dimension = dimension](const StoredSlice& slice) {
      return slice.where[dimension];
    };
    count_work(slices.size());
    std::ranges::sort(slices, {}, [&](const StoredSlice& slice) { return extent(slice).start; });
    size_t begin = 0;
    int64_t end = 0;
    for (size_t i = 0; i <= slices.size(); ++i) {
      if (i == slices.size() || (i > 0 && extent(slices[i]).start >= end)) {
        const auto part = slices.subspan(begin, i - begin);
        const bool is_divided = part.size() < slices.size();
        if (part.size() > 1)
          pending_.push_back(
              {part, (dimension + 1) % rank_of(part), is_divided ? 0 : num_undivided + 1});
        begin = i;
      }
      if (i < slices.size())
        end = std::max(end, extent(slices[i]).start + extent(slices[i]).length);
    }
  }

  void compare_pairs(std::span<const StoredSlice> slices) {
    for (size_t i = 0; i < slices.size(); ++i) {
      count_work(i);
      for (size_t k = 0; k < i; ++k)
        if (overlap(slices[i].where, slices[k].where))
          throw DataLossError(fmt::format("the slices {} and {} of \"{}\" overlap",
                                          to_string(slices[k].where), to_string(slices[i].where),
                                          name_));
    }
  }

  void count_work(size_t amount) {
    throw_if_signalled("reading the slices of a tensor");
    if (amount > work_left_)
      throw DataLossError(
          fmt::format("\"{}\" is stored in slices that are too entangled to compare", name_));
    work_left_ -= amount;
  }

  const std::string_view name_;
  size_t work_left_;
  std::vector<Group> pending_;
};

bool is_before(const TensorSlice& a, const TensorSlice& b) {
  return std::ranges::lexicographical_compare(a, b, {}, &SliceExtent::start, &SliceExtent::start);
}

}  // namespace

std::vector<StoredSlice> all_slices(const StoredTensors& tensors, std::string_view name,
                                    const StoredTensor& entry) {
  if (entry.slices.empty()) return {{whole_slice(entry.shape), &entry}};
  std::vector<StoredSlice> all;
  all.reserve(entry.slices.size());
  for (const TensorSlice& slice : entry.slices) {
    TensorSlice where = resolved_or_lost(slice, entry, name);
    const StoredTensor& stored = entry_of_slice(tensors, name, entry, slice, shape_of(where));
    all.push_back({std::move(where), &stored});
  }
  OverlapCheck(all, name).run();
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
