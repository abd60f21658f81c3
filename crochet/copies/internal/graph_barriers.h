// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/copies/internal/copy_on_write_batch.h"
#include "crochet/copies/internal/guard.h"
#include "crochet/copies/internal/parallel_copier.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

// The arrays of a snapshot that barriers guard, by their barriers.
using GuardedArrays = std::map<std::shared_ptr<WriteBarrier>, std::vector<GuardedArray>>;

// True if snapshots copy the array, which `view` is now, guarded by its barrier. Small arrays are
// copied at once.
bool is_guarded(const BorrowedArray& array, const ArrayView& view);
// The array as it is now, to be copied to `to`, which is memory of `holder`.
GuardedArray guarded_array(const BorrowedArray& array, const ArrayView& view, std::byte* to,
                           Tensor holder);

// The barriers and other guards that snapshots of one graph have used.
//
// Thread-safe.
class CROCHET_EXPORT GraphBarriers {
 public:
  GraphBarriers() = default;
  // As close().
  ~GraphBarriers();
  GraphBarriers(const GraphBarriers&) = delete;
  GraphBarriers& operator=(const GraphBarriers&) = delete;

  // A snapshot begins, for which guard() may be called several times.
  void begin_snapshot();
  // Raises the barriers of the arrays. Threads of `copier` copy what is written to before the
  // result, which a snapshot holds, is destroyed. Throws: what WriteBarrier::raise() throws.
  std::vector<std::shared_ptr<PendingCopies>> guard(GuardedArrays arrays,
                                                    const SharedCopier& copier);
  // Keeps the guard, and settles it from now on. To be called whenever it has begun to watch.
  void add(std::shared_ptr<PerProcess<Guard>> guard);
  // Ends the watching of guards that guard nothing, if this thread took the latest snapshot. Costs
  // a load if none watches.
  void settle() {
    if (any_watches_.load(std::memory_order_relaxed)) settle_watching();
  }
  // Returns once all arrays are copied: after that, arrays may change. The calling thread helps.
  void drain();
  // The same; then ends the watching.
  void close();

 private:
  void settle_watching();
  // Calls `visit` with each guard, without the mutex. Allocates nothing: the end of a graph cannot
  // fail.
  template <typename Visit>
  void for_each(const Visit& visit);

  std::atomic<bool> any_watches_ = false;  // Perhaps: set after a guard begins to.

  std::mutex mutex_;  // Guards what follows.
  std::vector<std::shared_ptr<PerProcess<Guard>>> guards_;
};

}  // namespace crochet::inline v0::internal
