// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "crochet/copies/borrowed_array.h"
#include "crochet/copies/internal/parallel_copier.h"
#include "crochet/copies/internal/unwritten_arrays.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// An array to be copied, and what is kept until then.
struct GuardedArray {
  ParallelCopier::Copy copy;
  Tensor holder;                      // Of the memory of the copy.
  std::shared_ptr<const void> owner;  // Of the memory of the array; may be null.
  // See BorrowedArray; may be null.
  std::shared_ptr<const void> identity = {};
};

// The arrays of one snapshot that one barrier guards, and which parts of them are copied.
//
// The snapshot reads them in place as long as nothing writes to them, so that an array that is
// written to only after the snapshot's end is never copied. Writers copy what they are about to
// write; the threads of a ParallelCopier copy the others in order, from the first write on, or from
// the beginning.
//
// An array is pending, is copied piece by piece by any number of threads while others may read it,
// and then is copied; or it is abandoned, and counts as copied. What it needed is released then,
// without the mutex, since releasing may need what a writer holds, such as a lock.
//
// Thread-safe.
class CopyOnWriteBatch final : public ParallelCopier::Work {
 public:
  // `copier` is used as long as it exists. Requires: no array is empty, and there is at least one.
  CopyOnWriteBatch(std::shared_ptr<WriteBarrier> barrier, std::vector<GuardedArray> arrays,
                   SharedCopier::weak_type copier);

  // Gives the arrays with an identity their versions. Before anything else uses the batch.
  void set_versions(UnwrittenArrays& unwritten);

  WriteBarrier& barrier() const { return *barrier_; }
  // The arrays whose parts cannot be read one by one.
  const std::vector<size_t>& transposed() const { return transposed_; }
  // The array that is copied to the memory of this tensor, if there is one.
  std::optional<size_t> array_of(const Tensor& copy) const;
  // See PendingCopies.
  uint64_t version_of(size_t array) const { return versions_[array]; }

  // True once everything is copied or abandoned, and released.
  bool is_done() const { return num_held_.load(std::memory_order_acquire) == 0; }
  // The error that stopped a copy, or null. Requires: is_done(); then it does not change, and is
  // known in a forked child as well.
  const std::exception_ptr& error() const { return error_; }
  // True if the array is copied, and no copy of the batch has failed.
  bool is_copied(size_t array) const;
  // True if an array overlaps these bytes, copied or not.
  bool overlaps(const std::byte* begin, const std::byte* end) const;
  // An array that overlaps these bytes and is not copied.
  std::optional<size_t> find_pending(const std::byte* begin, const std::byte* end) const;

  // Return once the array, or everything, is copied. The calling thread helps.
  void copy(size_t array) noexcept;
  void copy_all() noexcept;
  // Lets threads copy everything.
  static void copy_in_background(const std::shared_ptr<CopyOnWriteBatch>& batch);
  // Copies a piece of the first array that has one which no thread has begun.
  bool make_piece() override;
  // Reads bytes of an array, from its copy if there is one. Throws: the error that stopped it.
  void read(size_t array, size_t begin, std::span<std::byte> into, const Tensor& copy);
  // What is not being copied will not be.
  void abandon() noexcept;

 private:
  struct Progress {
    size_t claimed = 0;  // Bytes.
    int num_using = 0;   // Pieces being copied or read.
    bool is_copied = false;
  };
  // The bytes [begin, end) of an array, which stays as it is until end_use().
  struct Piece {
    size_t array = 0;
    size_t begin = 0;
    size_t end = 0;
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

  // Requires: the mutex is held.
  bool has_unclaimed(size_t array) const;
  Piece claim_piece_of(size_t array);

  // The next piece of this array, or of any, for the caller to copy; unset if there is none.
  std::optional<Piece> claim(size_t array);
  std::optional<Piece> claim_any();
  // Until end_use(), the array does not count as copied. False if all of it is claimed, so that a
  // writer waits for one reading at most.
  bool begin_reading(size_t array);
  void copy_piece(const Piece& piece) noexcept;
  // Calls WriteBarrier::copy(); returns what it throws.
  std::exception_ptr copy_bytes(const Piece& piece, std::byte* to) noexcept;
  void end_use(size_t array, const std::exception_ptr& error) noexcept;
  // Releases what an array needed that is copied or abandoned. Called once for each.
  void release(size_t array) noexcept;
  void wait_for(size_t array) noexcept;
  void throw_error() const;

  const std::shared_ptr<WriteBarrier> barrier_;
  const SharedCopier::weak_type copier_;
  std::vector<uint64_t> versions_;  // By array; 0 if unknown.
  std::vector<Range> ranges_;       // By their begin.
  std::unordered_map<const std::byte*, size_t> arrays_by_copy_;
  std::vector<size_t> transposed_;

  mutable std::mutex mutex_;         // Guards what follows.
  std::condition_variable changed_;  // An array is copied, or the last one released.
  std::vector<GuardedArray> arrays_;
  std::vector<Progress> progress_;  // By array.
  size_t first_unclaimed_ = 0;      // All arrays before it are claimed.
  std::atomic<size_t> num_held_;    // Arrays that are not released. Changed under the mutex.
  std::exception_ptr error_;        // The first.
};

}  // namespace crochet::inline v0::internal
