// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/base/internal/process_bound.h"
#include "crochet/base/internal/thread.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/session/session.h"

namespace crochet::inline v0::internal {

// Copies arrays in pieces, by several threads: now, including the calling thread, or in the
// background while the caller does something else. The threads are started at the first copy that
// is worth it, and kept. If none can be started, callers that wait for copies make them.
//
// Belongs to one process: a session that is used in a forked child has another one there.
//
// Thread-safe.
class CROCHET_EXPORT ParallelCopier {
 public:
  // One array, row-major, to memory of its size. Requires: neither changes until the copy is made.
  struct Copy {
    ArrayView from;
    std::byte* to = nullptr;
  };

  // Copies of which others decide what is made when.
  class Work {
   public:
    virtual ~Work() = default;
    // Makes a piece of them. False if there is none to begin. Called by several threads.
    virtual bool make_piece() = 0;
  };

  // `num_threads` threads copy, including the calling one; 0: one per core, at most 4. Copies in
  // the background use at least one thread other than the caller.
  explicit ParallelCopier(int num_threads = 0);
  // Makes the remaining copies first, those of work too.
  ~ParallelCopier();
  ParallelCopier(const ParallelCopier&) = delete;
  ParallelCopier& operator=(const ParallelCopier&) = delete;

  // Returns once the copies are made. Allocates nothing except, at first, the threads and the list.
  void copy(std::span<const Copy> copies);
  // Returns at once; null if there is nothing to copy. `holders` are kept until the copies are
  // made.
  std::shared_ptr<PendingCopies> copy_in_background(std::vector<Copy> copies,
                                                    std::vector<Tensor> holders);
  // Returns once the copies of copy_in_background() are made: after that, arrays may change.
  // The calling thread helps.
  void drain();
  // Returns at once; the threads make the pieces of `work`, while they have no other copies to
  // make. If none can be started, the calling thread makes them.
  void do_in_background(std::shared_ptr<Work> work);

 private:
  class Batch;
  class BackgroundBatch;
  struct Piece;

  // Starts the threads that are not running yet. False if none is running.
  bool start_threads();
  // Makes one piece of the batch. Requires: `lock` is held, and the batch has unclaimed pieces.
  void make_piece(Batch& batch, std::unique_lock<std::mutex>& lock);
  void work();
  // Makes a piece of the first work. Requires: `lock` is held, and there is work.
  void make_piece_of_work(std::unique_lock<std::mutex>& lock);

  const int num_helpers_;  // Threads other than the caller.

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  // Those with unclaimed pieces; those of waiting callers come first.
  std::vector<Batch*> batches_;
  std::vector<std::shared_ptr<Work>> works_;  // In which not all pieces are begun.
  // Batches in the background that are not done. Changed under the mutex.
  std::atomic<int> num_background_ = 0;
  bool ending_ = false;
  std::vector<Thread> threads_;
};

// For several owners, and for batches that use it as long as an owner exists.
using SharedCopier = std::shared_ptr<PerProcess<ParallelCopier>>;
CROCHET_EXPORT SharedCopier make_shared_copier(int num_threads);

}  // namespace crochet::inline v0::internal
