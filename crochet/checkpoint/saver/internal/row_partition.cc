// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/internal/row_partition.h"

#include <algorithm>
#include <utility>

#include "crochet/session/parted_saveable.h"

namespace crochet::inline v0::internal {
namespace {

SliceExtent balanced(int64_t total, int rank, int size) {
  const int64_t each = total / size;
  const int64_t more = total % size;  // Ranks that have one more.
  return {.start = rank * each + std::min<int64_t>(rank, more), .length = each + (rank < more)};
}

// Those before the rank, and its own. Unset if they are not `total` in all.
std::optional<SliceExtent> as_stored(const std::vector<int64_t>& counts, int64_t total, int rank) {
  SliceExtent rows = {.start = 0, .length = 0};
  int64_t left = total;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0 || counts[i] > left) return std::nullopt;
    if (std::cmp_equal(i, rank)) rows = {.start = total - left, .length = counts[i]};
    left -= counts[i];
  }
  return left == 0 ? std::optional(rows) : std::nullopt;
}

}  // namespace

RowPartition::RowPartition(std::optional<std::vector<int64_t>> stored, int rank, int size)
    : stored_(std::move(stored)), rank_(rank), size_(size) {}

SliceExtent RowPartition::rows_of(int64_t total) const {
  if (stored_ && std::cmp_equal(stored_->size(), size_))
    if (const auto rows = as_stored(*stored_, total, rank_)) return *rows;
  return balanced(total, rank_, size_);
}

bool has_row_counts(std::string_view name) {
  return name.ends_with(kRowsName) &&
         (name.size() == kRowsName.size() || name[name.size() - kRowsName.size() - 1] == '/');
}

std::optional<std::vector<int64_t>> read_row_counts(const CheckpointReader& reader,
                                                    const std::string& name) {
  const Tensor counts = reader.read(name);
  if (counts.dtype() != DType::kInt64 || counts.shape().rank() != 1) return std::nullopt;
  const auto numbers = counts.flat<int64_t>();
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

}  // namespace crochet::inline v0::internal
