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
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "crochet/engines/local/fenced_batch.h"

namespace crochet::inline v0::local {

class WriteFence;

// What a fence guards in one process: batches of arrays, each from one snapshot, that nothing has
// written to since, or that are not copied yet.
//
// Arrays are copied when something is about to write to one of their batch. If that was so at the
// last save, copying begins with the snapshot, so that steps wait less: the disk is too slow, or
// the time between snapshot and writes too short, for doing without copies.
//
// Thread-safe.
class FenceState {
 public:
  explicit FenceState(WriteFence& fence);

  bool has_pending() const noexcept { return num_batches_.load(std::memory_order_acquire) > 0; }
  // See WriteFence.
  void before_write(const std::byte* begin, const std::byte* end) noexcept;

  // A snapshot begins, which may have several batches.
  void begin_snapshot();
  // Adds the batch, after raising the fence. Throws: what raise() throws; then nothing is added.
  void start(const std::shared_ptr<FencedBatch>& batch);
  // Returns once the array, or all of the batch, is copied. The calling thread helps.
  void copy(FencedBatch& batch, size_t array) noexcept;
  void copy(FencedBatch& batch) noexcept;
  // Reads bytes of an array, from its copy if there is one. Throws: the error that stopped it.
  void read(FencedBatch& batch, size_t array, size_t begin, std::span<std::byte> into,
            const Tensor& copy);
  // True if the array is copied, and no copy of the batch has failed.
  bool is_copied(const FencedBatch& batch, size_t array);
  // The snapshot has ended: what is not being copied will not be.
  void release(FencedBatch& batch) noexcept;
  // Copies a piece of the batch. False if all pieces are copied or being copied.
  bool copy_piece_of(FencedBatch& batch) noexcept;
  // Returns once all arrays are copied, which may change then without being announced, until the
  // next batch begins; the calling thread helps.
  void drain() noexcept;

  // True if settle() may lower the fence; otherwise it does nothing.
  bool may_settle();
  enum class LoweredBy { kAnyThread, kSnapshotThread };
  // Lowers the fence if it has no batches, most of their arrays are written, and this thread may do
  // it. True if it is lowered now.
  bool settle(LoweredBy who) noexcept;

 private:
  enum class Phase { kLowered, kRaising, kRaised, kLowering };
  using Lock = std::unique_lock<std::mutex>;
  using Place = std::pair<std::shared_ptr<FencedBatch>, size_t>;  // An array of a batch.

  // Raises the fence, unless it is raised. Throws: what raise() throws.
  void raise(Lock& lock);
  // The first array that overlaps these bytes and is not copied; with a null batch if none does.
  Place find_pending(const std::byte* begin, const std::byte* end) const;
  // A batch that overlaps these bytes and is written to for the first time.
  std::shared_ptr<FencedBatch> find_unwritten(const std::byte* begin, const std::byte* end) const;
  // Notes the first writes to batches, and lets threads copy these.
  void note_write(const std::byte* begin, const std::byte* end, Lock& lock) noexcept;
  // Copies a piece of this array, and notifies those that wait for the array or its batch.
  void copy_piece(FencedBatch& batch, size_t array, Lock& lock) noexcept;
  void copy_pieces(FencedBatch& batch, size_t array, Lock& lock) noexcept;
  void copy_all(FencedBatch& batch, Lock& lock) noexcept;
  // Calls WriteFence::copy() without the mutex; returns what it throws.
  std::exception_ptr copy_bytes(const ArrayView& from, std::byte* to, size_t begin, size_t end,
                                Lock& lock) noexcept;
  // Releases what an array needed that is copied or abandoned.
  void end_array(FencedBatch& batch, size_t array, Lock& lock) noexcept;
  // Forgets the batch if it has nothing to guard and no write to wait for.
  void settle_batch(FencedBatch& batch) noexcept;

  WriteFence& fence_;  // Owns this.

  std::mutex mutex_;                     // Guards what follows.
  std::condition_variable changed_;      // An array is copied, a batch ended, or the phase changed.
  std::atomic<size_t> num_batches_ = 0;  // Also counts those that are about to be added.
  std::vector<std::shared_ptr<FencedBatch>> batches_;
  UnwrittenArrays unwritten_;  // Empty unless the fence is raised.
  std::atomic<bool> any_unwritten_ = false;
  bool copies_early_ = false;  // From the snapshot on.
  uint64_t num_written_ = 0;   // Batches that were written to.
  Phase phase_;
  std::thread::id snapshot_thread_;  // Took the latest snapshot.
};

}  // namespace crochet::inline v0::local
