// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace crochet::inline v0::internal {

// Elements of a tensor in its storage, by numbers of elements.
struct TorchView {
  int64_t offset = 0;  // From 0.
  std::vector<int64_t> sizes = {};
  std::vector<int64_t> strides = {};  // Of as many dimensions, from 0.
};

// True if the elements are next to each other in the order of the tensor: strides of dimensions
// with one element do not matter. Requires: the number of elements fits int64.
bool is_row_major(const TorchView& view);

// The end of the last element; unset if it is beyond int64. Requires: there is an element.
std::optional<uint64_t> end_of(const TorchView& view);

// The elements in row-major order: runs of equal length of elements next to each other.
class ViewRuns {
 public:
  // Requires: there is an element; the end of the last one fits int64; both outlive this.
  ViewRuns(std::span<const int64_t> sizes, std::span<const int64_t> strides);

  // The number of elements in each run.
  int64_t run_length() const { return run_length_; }
  // Where the current run begins, from the view's first element.
  int64_t offset() const { return offset_; }
  void next();

 private:
  const std::span<const int64_t> sizes_;
  const std::span<const int64_t> strides_;
  int64_t run_length_ = 1;
  std::vector<int64_t> indices_;  // Of the dimensions that are not within a run.
  int64_t offset_ = 0;
};

}  // namespace crochet::inline v0::internal
