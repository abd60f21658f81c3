// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "crochet/engines/local/fenced_batch.h"

namespace crochet::inline v0::local {

class WriteFence;

// What a fence guards in one process: batches of arrays, each from one snapshot, that are not
// copied yet.
//
// Thread-safe.
class FenceState {
 public:
  explicit FenceState(WriteFence& fence);

  bool has_pending() const noexcept { return num_pending_.load(std::memory_order_acquire) > 0; }
  // See WriteFence.
  void before_write(const std::byte* begin, const std::byte* end) noexcept;

  // Adds the batch, after raising the fence. Throws: what raise() throws; then nothing is added.
  void start(const std::shared_ptr<FencedBatch>& batch);
  // Copies a piece of the batch. False if all pieces are copied or being copied.
  bool copy_piece_of(FencedBatch& batch) noexcept;
  // Returns once all arrays are copied; the calling thread helps.
  void drain() noexcept;

  enum class LoweredBy { kAnyThread, kSnapshotThread };
  // Lowers the fence if nothing is pending and this thread may do it. True if it is lowered now.
  bool settle(LoweredBy who) noexcept;

 private:
  enum class Phase { kLowered, kRaising, kRaised, kLowering };
  using Lock = std::unique_lock<std::mutex>;
  using Place = std::pair<std::shared_ptr<FencedBatch>, size_t>;  // An array of a batch.

  // Raises the fence, unless it is raised. Throws: what raise() throws.
  void raise(Lock& lock);
  // The first array that overlaps these bytes and is not copied; with a null batch if none does.
  Place find_pending(const std::byte* begin, const std::byte* end) const;
  std::shared_ptr<FencedBatch> find_unclaimed() const;
  // Copies a piece of this array, and notifies those that wait for the array or its batch.
  void copy_piece(FencedBatch& batch, size_t array, Lock& lock) noexcept;

  WriteFence& fence_;  // Owns this.

  std::mutex mutex_;                     // Guards what follows.
  std::condition_variable changed_;      // An array is copied, a batch added, or the phase changed.
  std::atomic<size_t> num_pending_ = 0;  // Arrays, also of batches that are about to be added.
  std::vector<std::shared_ptr<FencedBatch>> batches_;
  Phase phase_;
  std::thread::id snapshot_thread_;  // Took the latest snapshot.
};

}  // namespace crochet::inline v0::local
