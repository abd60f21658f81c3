// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/tensor/tensor_slice.h"

namespace crochet::inline v0::internal {

// Which rows of arrays that ranks have together are those of a rank, after a restore: as many ranks
// as there were have theirs again; of another number each has a contiguous part, in the order of
// the ranks, whose sizes differ by one at most.
class RowPartition {
 public:
  // `stored` says how many rows each rank had when the checkpoint was saved; unset if it is not
  // known. Requires: 0 <= rank < size.
  RowPartition(std::optional<std::vector<int64_t>> stored, int rank, int size);

  // The rows of the rank in an array of this many.
  SliceExtent rows_of(int64_t total) const;

 private:
  const std::optional<std::vector<int64_t>> stored_;
  const int rank_;
  const int size_;
};

// True for the name of an entry that says how many rows each rank had: see RowsState.
bool has_row_counts(std::string_view name);

// Reads such an entry. Unset if it is not a vector of numbers of rows.
std::optional<std::vector<int64_t>> read_row_counts(const CheckpointReader& reader,
                                                    const std::string& name);

}  // namespace crochet::inline v0::internal
