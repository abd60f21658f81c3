// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

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
  void record_unannounced_write() noexcept { is_reliable_ = false; }
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

class WriteBarrier;

// The order of a matrix's elements in memory. Checkpoints are always
// row-major.
enum class MemoryOrder { kRowMajor, kColumnMajor };

// Elements in the user's memory. Arrays that are not matrices are row-major.
struct CROCHET_EXPORT ArrayView {
  DType dtype = DType::kInvalid;
  Shape shape = {};
  std::byte* data = nullptr;
  MemoryOrder order = MemoryOrder::kRowMajor;

  size_t num_bytes() const {
    return static_cast<size_t>(shape.num_elements()) * element_size(dtype);
  }
};

// An array that is saved and restored in place and never owned.
struct BorrowedArray {
  // Returns where the array is now. Called at each save and restore, so the array may move.
  std::function<ArrayView()> view;
  // Changes the shape of the array, before a restore. Empty if its shape is fixed.
  std::function<void(const Shape& shape)> resize = {};
  // The shapes that resize() takes, with kUnknownDimension for any size; unset for all of the
  // array's rank.
  std::optional<Shape> sizes = {};
  // If set, snapshots copy the array in the background, guarded by it. Requires: before the
  // array is written, its bytes are announced by before_write(); and its memory stays until it is
  // copied, though it may be replaced: `owner` keeps it, or the program.
  std::shared_ptr<WriteBarrier> barrier = {};
  // Returns an object that keeps the memory of the latest view(). Empty if nothing needs to. Called
  // after view() by snapshots that copy the array in the background; the object is released soon
  // after the copy is made, on any thread.
  std::function<std::shared_ptr<const void>()> owner = {};
  // Returns an object whose address identifies the memory of the latest view(): as long as it
  // exists, no other memory has it, though it need not keep the memory. With a barrier, it lets
  // snapshots tell that nothing was written to the array since the snapshot before. Empty if they
  // need not.
  std::function<std::shared_ptr<const void>()> identity = {};
};

// The shapes that the array, of which `view` is the view now, may have: with kUnknownDimension for
// the sizes that may change.
CROCHET_EXPORT Shape possible_shape(const BorrowedArray& array, const ArrayView& view);

// Copies the array, row-major, to `destination` of num_bytes() bytes.
CROCHET_EXPORT void copy_out(const ArrayView& array, std::span<std::byte> destination);
// The same for the bytes [begin, end) of the destination; `destination` is its start.
// Requires: both are multiples of part_unit().
CROCHET_EXPORT void copy_out(const ArrayView& array, std::byte* destination, size_t begin,
                             size_t end);
// The unit of parts in bytes: a row of a matrix that is transposed, otherwise 1. Not 0.
CROCHET_EXPORT size_t part_unit(const ArrayView& array);
// The inverse: gives the array the elements that `fill` writes, row-major, to memory of num_bytes()
// bytes, which is the array's own if possible. Throws: as `fill`; InvalidArgumentError for a bool
// that is neither 0 nor 1, which never reaches the array: reading it would be undefined.
CROCHET_EXPORT void fill_array(const ArrayView& array,
                               const std::function<void(std::span<std::byte> elements)>& fill);

}  // namespace crochet::inline v0
