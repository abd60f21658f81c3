// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/internal/slice_cover.h"

#include <algorithm>
#include <vector>

#include "crochet/base/pending_signal.h"

namespace crochet::inline v0::internal {
namespace {

// Looks for two slices that overlap. Sorted by one dimension, slices form groups with gaps between
// them; two slices of different groups do not overlap. Groups that one dimension cannot divide are
// divided by the next ones. A group that no dimension divides is compared pair by pair.
class OverlapSearch {
 public:
  // `numbers` are the slices to compare, of which there is one or more. None is empty.
  OverlapSearch(std::span<const TensorSlice> slices, std::vector<size_t> numbers)
      : slices_(slices),
        numbers_(std::move(numbers)),
        rank_(slices[numbers_.front()].size()),
        work_left_(kMinWork + kWorkPerExtent * numbers_.size() * rank_) {}

  void run(SliceCover& cover) {
    pending_.push_back({numbers_, 0, 0});
    while (!pending_.empty() && !cover.overlap && !cover.is_entangled) {
      const Group group = pending_.back();
      pending_.pop_back();
      if (group.num_undivided == rank_)
        cover.overlap = compare_pairs(group.numbers);
      else
        divide(group);
      cover.is_entangled = is_entangled_;
    }
  }

 private:
  struct Group {
    std::span<size_t> numbers;
    size_t dimension;      // The dimension to divide it by.
    size_t num_undivided;  // The number of earlier dimensions that did not divide it.
  };

  // The limit of slices examined and pairs of slices compared: about 50 ms. A grid needs 2 for each
  // dimension of a slice. An index can have many tensors in slices, so the limit must be small in
  // relation to its bytes: 4,500 slices that nothing divides take a quarter of a megabyte.
  static constexpr size_t kMinWork = 10'000'000;
  static constexpr size_t kWorkPerExtent = 10;

  void divide(const Group& group) {
    const auto [numbers, dimension, num_undivided] = group;
    if (!count_work(numbers.size())) return;
    const auto extent = [this, dimension = dimension](size_t number) {
      return slices_[number][dimension];
    };
    std::ranges::sort(numbers, {}, [&](size_t number) { return extent(number).start; });
    size_t begin = 0;
    int64_t end = 0;
    for (size_t i = 0; i <= numbers.size(); ++i) {
      if (i == numbers.size() || (i > 0 && extent(numbers[i]).start >= end)) {
        const auto part = numbers.subspan(begin, i - begin);
        const bool is_divided = part.size() < numbers.size();
        if (part.size() > 1)
          pending_.push_back({part, (dimension + 1) % rank_, is_divided ? 0 : num_undivided + 1});
        begin = i;
      }
      if (i < numbers.size())
        end = std::max(end, extent(numbers[i]).start + extent(numbers[i]).length);
    }
  }

  std::optional<std::pair<size_t, size_t>> compare_pairs(std::span<const size_t> numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!count_work(i)) return std::nullopt;
      for (size_t k = 0; k < i; ++k)
        if (overlap(slices_[numbers[i]], slices_[numbers[k]]))
          return std::minmax(numbers[i], numbers[k]);
    }
    return std::nullopt;
  }

  // False if it is too much.
  bool count_work(size_t amount) {
    throw_if_signalled("reading the slices of a tensor");
    is_entangled_ = amount > work_left_;
    if (!is_entangled_) work_left_ -= amount;
    return !is_entangled_;
  }

  const std::span<const TensorSlice> slices_;
  std::vector<size_t> numbers_;
  const size_t rank_;
  size_t work_left_;
  bool is_entangled_ = false;
  std::vector<Group> pending_;
};

}  // namespace

bool overlap(const TensorSlice& a, const TensorSlice& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (std::max(a[i].start, b[i].start) >=
        std::min(a[i].start + a[i].length, b[i].start + b[i].length))
      return false;
  return true;
}

SliceCover cover_of(std::span<const TensorSlice> slices) {
  SliceCover cover;
  std::vector<size_t> numbers;
  for (size_t i = 0; i < slices.size(); ++i) {
    const int64_t num_elements = shape_of(slices[i]).num_elements();
    cover.num_elements += num_elements;
    if (num_elements > 0) numbers.push_back(i);
  }
  if (numbers.size() > 1) OverlapSearch(slices, std::move(numbers)).run(cover);
  return cover;
}

}  // namespace crochet::inline v0::internal
