// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "crochet/engines/local/parallel_copier.h"
#include "crochet/engines/local/unwritten_arrays.h"
#include "crochet/engines/local/write_fence.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::local {

class FenceState;

// An array to be copied, and what is kept until then.
struct FencedArray {
  ParallelCopier::Copy copy;
  Tensor holder;                      // Of the memory of the copy.
  std::shared_ptr<const void> owner;  // Of the memory of the array; may be null.
  // See BorrowedArray; may be null.
  std::shared_ptr<const void> identity = {};
};

// Which arrays are copied: those of a batch that is written to before its snapshot has ended, which
// reads the others in place; or all, at once, as memory that only WriteFence::copy() can read.
enum class FencedCopies { kOfWritten, kOfAll };

// The arrays of one snapshot that one fence guards, and which parts of them are copied.
//
// The snapshot reads them in place as long as nothing writes to them, so that an array that is
// written to only after the snapshot's end is never copied. Writers copy, by FenceState, what they
// need; the threads of a ParallelCopier copy the others in order, from the first write on, or from
// the beginning.
//
// Functions that mention the mutex are called by FenceState, which holds its own.
class FencedBatch final : public ParallelCopier::Work {
 public:
  // The bytes [begin, end) of an array.
  struct Piece {
    const ParallelCopier::Copy& copy;  // Stays until the piece is ended.
    size_t begin = 0;
    size_t end = 0;
  };

  // `copier` is used as long as it exists. Requires: no array is empty, and there is at least one.
  FencedBatch(std::shared_ptr<WriteFence> fence, FenceState& state, std::vector<FencedArray> arrays,
              SharedCopier::weak_type copier, FencedCopies copies);

  bool make_piece() override;
  size_t num_arrays() const { return arrays_.size(); }
  FenceState& state() const { return state_; }
  FencedCopies copies() const { return copies_; }
  // True once everything is copied or abandoned, and released. Then error() does not change.
  bool is_done() const { return num_held_.load(std::memory_order_acquire) == 0; }
  // The arrays whose parts cannot be read one by one.
  const std::vector<size_t>& transposed() const { return transposed_; }
  // The array that is copied to the memory of this tensor, if there is one.
  std::optional<size_t> array_of(const Tensor& copy) const;
  // See PendingCopies.
  uint64_t version_of(size_t array) const { return versions_[array]; }
  // See WriteFence. Without the mutex.
  void note_unannounced_write() noexcept;
  // Lets threads copy everything. Without the mutex.
  static void copy_in_background(const std::shared_ptr<FencedBatch>& batch);

  // With the mutex:
  bool is_copied_early = false;     // From the snapshot on.
  bool is_written = false;          // Something was about to write to one of the arrays.
  bool is_released = false;         // The snapshot has ended.
  uint64_t num_written_before = 0;  // Batches that were written to before this one began.

  // Gives the arrays with an identity their versions. Before the batch begins.
  void set_versions(UnwrittenArrays& unwritten);
  // True if an array overlaps these bytes, copied or not.
  bool overlaps(const std::byte* begin, const std::byte* end) const;
  // An array that overlaps these bytes and is not copied.
  std::optional<size_t> find_pending(const std::byte* begin, const std::byte* end) const;
  // The first array of which not everything is claimed; num_arrays() if there is none.
  size_t first_unclaimed();
  bool has_unclaimed(size_t array) const;
  bool is_copied(size_t array) const { return progress_[array].is_copied; }
  // The error that stopped a copy, or null.
  const std::exception_ptr& error() const { return error_; }
  // Until end_use(), the array does not count as copied. Requires: has_unclaimed(), so that a
  // writer waits for one reading at most.
  Piece claim(size_t array);
  const ParallelCopier::Copy& begin_reading(size_t array);
  // True if the array is copied now.
  bool end_use(size_t array);
  void note_error(const std::exception_ptr& error) {
    if (!error_) error_ = error;
  }
  // Ends an array that nobody needs to be copied. True if it may be taken now.
  bool abandon(size_t array);
  // What the array no longer needs once it is copied or abandoned, to be released without the
  // mutex.
  FencedArray take(size_t array) { return std::move(arrays_[array]); }
  // Called once for each array that was taken, after its release. True for the last one.
  bool note_released() { return --num_held_ == 0; }

 private:
  struct Progress {
    size_t claimed = 0;  // Bytes.
    int num_using = 0;   // Pieces being copied or read.
    bool is_copied = false;
  };
  // The memory of an array. `reach` is the largest end of this range and those before it.
  struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    uintptr_t reach = 0;
    size_t array = 0;
  };

  template <typename Accept>
  std::optional<size_t> find(const std::byte* begin, const std::byte* end,
                             const Accept& accept) const;

  const std::shared_ptr<WriteFence> fence_;
  FenceState& state_;  // Of the fence.
  const SharedCopier::weak_type copier_;
  const FencedCopies copies_;
  std::vector<FencedArray> arrays_;
  std::vector<Progress> progress_;  // By array.
  std::vector<uint64_t> versions_;  // By array; 0 if unknown. Constant once the batch has begun.
  std::vector<Range> ranges_;       // By their begin.
  std::unordered_map<const std::byte*, size_t> arrays_by_copy_;
  std::vector<size_t> transposed_;
  size_t first_unclaimed_ = 0;    // All arrays before it are claimed.
  std::atomic<size_t> num_held_;  // Arrays that are not released.
  std::exception_ptr error_;      // The first.
};

}  // namespace crochet::inline v0::local
