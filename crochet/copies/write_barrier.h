// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>

#include "crochet/base/export.h"
#include "crochet/base/internal/process_bound.h"

namespace crochet::inline v0 {

struct ArrayView;
namespace internal {
class BarrierState;
class CopyOnWriteBatch;
class GraphBarriers;
class Guard;
}  // namespace internal

// Lets snapshots use arrays while the next step runs, for arrays of which each write is announced
// before it happens.
//
// A save reads an array with a barrier (BorrowedArray::barrier) in place, whatever the parts of the
// loop are: what is written to only after the save is never copied. before_write() returns once the
// array that is about to be written has been copied, and lets threads copy the other arrays, too.
// So a step waits only for arrays that it writes before these threads reach them. After a save that
// did not end before the writes, the next one is copied from its beginning on.
//
// A program with one function that all writes pass, such as an observer of a library's operators,
// derives from this class, and announces writes between raise() and lower():
//
//   class Observer final : public WriteBarrier {
//     void raise() override {
//       handle_ = add_callback([this](const Write& write) { before_write(write.begin, write.end);
//       });
//     }
//     void lower() noexcept override { remove_callback(handle_); }
//   };
//
// Arrays of a few KiB cost less to copy than to guard, so they are copied at once.
//
// One barrier may serve any number of arrays, graphs and sessions. A graph whose snapshots have
// used it keeps it. In a forked child, a barrier does not guard the copies of its parent.
class CROCHET_EXPORT WriteBarrier {
 public:
  WriteBarrier();
  // On any thread, after lower().
  virtual ~WriteBarrier();
  WriteBarrier(const WriteBarrier&) = delete;
  WriteBarrier& operator=(const WriteBarrier&) = delete;

  // Announces that the bytes [begin, end) are about to be written. Returns once the pending arrays
  // that overlap them are copied; the calling thread helps to copy these, and no others. Costs a
  // few loads if no snapshot is pending. A copy that fails makes the save fail, not this call.
  //
  // Thread-safe. Requires: not called by raise(), lower() or copy() with bytes of a pending array.
  void before_write(const void* begin, const void* end) noexcept;
  // True while a snapshot may need arrays as they are. Thread-safe.
  bool has_pending() const noexcept;

  // A save has found a write that was not announced. From now on snapshots do not rely on the
  // barrier: they copy its arrays between the steps. Thread-safe.
  void note_unannounced_write() noexcept { is_reliable_ = false; }
  bool is_reliable() const noexcept { return is_reliable_; }

 protected:
  // raise() is called before snapshots need arrays, lower() once they are copied or saved. If
  // arrays have an identity, and a quarter of their bytes or more is not written to, lower() is
  // called only once that changes, so that the next save knows what it need not write. The calls
  // alternate, and none overlaps another. Both are called by a thread that uses a session,
  // never by one that copies in the background: raise() when a snapshot is taken; lower() at the
  // beginning of a later run on the thread that took the latest snapshot, or by the thread that
  // closes a session or destroys the graph. If raise() throws, taking the snapshot fails with that
  // error.
  virtual void raise() {}
  virtual void lower() noexcept {}

  // Copies the bytes [begin, end) of `array`, row-major, to the same bytes of the copy, which
  // begins at `to`, or reads them. By default copy_out(). Called on any thread, and by
  // several at once. If it throws, the save fails with that error.
  virtual void copy(const ArrayView& array, std::byte* to, size_t begin, size_t end);

 private:
  friend class internal::CopyOnWriteBatch;
  friend class internal::BarrierState;
  friend class internal::GraphBarriers;

  internal::BarrierState& state() const;

  std::atomic<bool> is_raised_ = false;  // In forked children, too.
  std::atomic<bool> is_reliable_ = true;
  mutable internal::PerProcess<internal::Guard> state_;  // A BarrierState.
};

}  // namespace crochet::inline v0
