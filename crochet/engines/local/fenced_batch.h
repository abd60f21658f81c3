// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "crochet/engines/local/announced_copies.h"
#include "crochet/engines/local/parallel_copier.h"
#include "crochet/engines/local/write_fence.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::local {

class FenceState;

// An array to be copied, and what is kept until then.
struct FencedArray {
  ParallelCopier::Copy copy;
  Tensor holder;                      // Of the memory of the copy.
  std::shared_ptr<const void> owner;  // Of the memory of the array; may be null.
};

// The arrays of one snapshot that one fence guards, and which parts of them are copied.
//
// The threads of a ParallelCopier copy them in order; writers copy, by FenceState, what they need.
// Functions that mention the mutex are called by FenceState, which holds its own.
class FencedBatch final : public ParallelCopier::Work {
 public:
  // The bytes [begin, end) of an array.
  struct Piece {
    const ParallelCopier::Copy& copy;  // Stays until the piece is ended.
    size_t begin = 0;
    size_t end = 0;
  };

  // Requires: no array is empty, and there is at least one.
  FencedBatch(std::shared_ptr<WriteFence> fence, FenceState& state,
              std::vector<FencedArray> arrays);

  bool make_piece() override;
  size_t num_arrays() const { return arrays_.size(); }
  const std::shared_ptr<AnnouncedCopies>& copies() const { return copies_; }

  // With the mutex:
  // An array that overlaps these bytes and is not copied.
  std::optional<size_t> find_pending(const std::byte* begin, const std::byte* end) const;
  // The first array of which not everything is claimed; num_arrays() if there is none.
  size_t first_unclaimed();
  bool has_unclaimed(size_t array) const;
  bool is_copied(size_t array) const { return progress_[array].is_copied; }
  // Requires: has_unclaimed().
  Piece claim(size_t array);
  // Ends a piece that was claimed. True if the array is copied now.
  bool end_piece(size_t array, std::exception_ptr error);
  // What the array no longer needs once it is copied, to be released without the mutex.
  FencedArray take(size_t array) { return std::move(arrays_[array]); }
  // Called once for each array that was taken, after its release. True for the last one.
  bool note_released() { return --num_held_ == 0; }

  // Without the mutex, once everything is released:
  void announce() { copies_->announce(error_); }

 private:
  struct Progress {
    size_t claimed = 0;  // Bytes.
    int num_copying = 0;
    bool is_copied = false;
  };
  // The memory of an array. `reach` is the largest end of this range and those before it.
  struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    uintptr_t reach = 0;
    size_t array = 0;
  };

  const std::shared_ptr<WriteFence> fence_;
  FenceState& state_;                              // Of the fence.
  const std::shared_ptr<AnnouncedCopies> copies_;  // What snapshots hold, for any time.
  std::vector<FencedArray> arrays_;
  std::vector<Progress> progress_;  // By array.
  std::vector<Range> ranges_;       // By their begin.
  size_t first_unclaimed_ = 0;      // All arrays before it are claimed.
  size_t num_held_;                 // Arrays that are not released.
  std::exception_ptr error_;        // The first.
};

}  // namespace crochet::inline v0::local
