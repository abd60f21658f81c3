// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "crochet/copies/internal/copy_on_write_batch.h"
#include "crochet/copies/internal/guard.h"
#include "crochet/copies/internal/unwritten_arrays.h"

namespace crochet::inline v0 {
class WriteBarrier;
}  // namespace crochet::inline v0

namespace crochet::inline v0::internal {

// What a barrier guards in one process: batches of arrays, each from one snapshot, that nothing has
// written to since, or that are not copied yet.
//
// Arrays are copied when something is about to write to one of their batch. If that was so at the
// last save, copying begins with the snapshot, so that steps wait less: the disk is too slow, or
// the time between snapshot and writes too short, for doing without copies. To know that, a batch
// is pending until something is written to it or its snapshot has ended, though it may be copied.
//
// The barrier is lowered, being raised, raised, or being lowered. It is raised by the first batch;
// callbacks run without the mutex.
//
// Locks: this one, then a batch's. Copies are made without either.
//
// Thread-safe.
class BarrierState final : public Guard {
 public:
  explicit BarrierState(WriteBarrier& barrier);

  bool has_pending() noexcept;
  // See WriteBarrier.
  void before_write(const std::byte* begin, const std::byte* end) noexcept;

  void begin_snapshot() override;
  // Adds the batch, after raising the barrier. Throws: what raise() throws; then nothing is added.
  void start(const std::shared_ptr<CopyOnWriteBatch>& batch);
  // Returns once all of the batch is copied. The calling thread helps.
  void copy_all(CopyOnWriteBatch& batch) noexcept;
  // The snapshot has ended: what is not being copied will not be.
  void end(CopyOnWriteBatch& batch) noexcept;

  // Copies everything.
  void drain() noexcept override;
  bool may_settle() noexcept override;
  // Lowers the barrier, unless most of the arrays are not written.
  bool settle(EndedBy who) noexcept override;

 private:
  enum class Phase { kLowered, kRaising, kRaised, kLowering };
  using Lock = std::unique_lock<std::mutex>;
  struct Guarded {
    bool is_pending() const { return !batch->is_done() || !(is_written || has_ended); }

    std::shared_ptr<CopyOnWriteBatch> batch;
    bool is_copied_early = false;     // From the snapshot on.
    bool is_written = false;          // Or whether anything is does not matter any more.
    bool has_ended = false;           // The snapshot has.
    uint64_t num_written_before = 0;  // Batches that were written to before this one began.
  };

  // Raises the barrier, unless it is raised. Throws: what raise() throws.
  void raise(Lock& lock);
  // Notes the first write to a batch that overlaps these bytes, and lets threads copy it. False if
  // there is none.
  bool record_first_write(const std::byte* begin, const std::byte* end) noexcept;
  // A batch of which an array overlaps these bytes and is not copied, or null.
  std::shared_ptr<CopyOnWriteBatch> find_pending(const std::byte* begin, const std::byte* end);
  // That of the batch; null if it was not added.
  Guarded* find(const CopyOnWriteBatch& batch) noexcept;
  // Batches may have become done. Requires: the mutex is held.
  void update() noexcept;

  WriteBarrier& barrier_;  // Owns this.

  std::mutex mutex_;                 // Guards what follows.
  std::condition_variable changed_;  // The phase.
  std::vector<Guarded> guarded_;     // Those that are not done, or whose snapshot has not ended.
  std::atomic<size_t> num_pending_ = 0;  // Of guarded_. Perhaps too high: see update().
  UnwrittenArrays unwritten_;            // Empty unless the barrier is raised.
  std::atomic<bool> any_unwritten_ = false;
  bool copies_early_ = false;  // From the snapshot on.
  uint64_t num_written_ = 0;   // Batches that were written to.
  Phase phase_;
  std::thread::id snapshot_thread_;  // Took the latest snapshot.
};

}  // namespace crochet::inline v0::internal
