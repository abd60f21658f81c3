// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "crochet/base/thread.h"
#include "crochet/engines/local/borrowed_array.h"
#include "crochet/session/snapshot.h"

namespace crochet::local {

// Copies arrays in pieces, by several threads: now, with the calling thread among them, or in the
// background while the caller does something else. The threads are started at the first copy that
// is worth it, and kept. Where the system gives none, callers that wait for copies make them.
//
// Of one process: a session that is used in a forked child has another one there.
//
// Thread-safe.
class ParallelCopier {
 public:
  // One array, row-major, to memory of its size. Neither changes until the copy is made.
  struct Copy {
    ArrayView from;
    std::byte* to = nullptr;
  };

  // How many threads copy, the calling one among them; 0: one a core, at most 4. Copies in the
  // background take at least one besides the caller.
  explicit ParallelCopier(int num_threads = 0);
  // Makes the copies that are left, then ends.
  ~ParallelCopier();
  ParallelCopier(const ParallelCopier&) = delete;
  ParallelCopier& operator=(const ParallelCopier&) = delete;

  // Returns once they are made. Allocates nothing but the threads, at first.
  void copy(std::span<const Copy> copies);
  // Returns at once; null if there is nothing to copy. `holders` are kept until the copies are
  // made.
  std::shared_ptr<PendingCopies> copy_in_background(std::vector<Copy> copies,
                                                    std::vector<Tensor> holders);
  // Returns once no copy is left that was begun in the background: from here on arrays may change.
  // The calling thread helps.
  void drain();

 private:
  class Batch;
  class BackgroundBatch;
  struct Piece;

  // Those that are not there yet. False if there are none at all.
  bool start_threads();
  // Makes one piece of the batch. Requires: `lock` is held, and the batch has unclaimed pieces.
  void make_piece(Batch& batch, std::unique_lock<std::mutex>& lock);
  void unlink(Batch& batch);
  void work();

  const int num_helpers_;  // Threads besides the caller.

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  Batch* first_ = nullptr;  // With pieces that nobody has claimed, linked; those of callers
                            // that wait come first.
  int num_background_ = 0;  // Batches in the background that are not done.
  bool ending_ = false;
  std::vector<Thread> threads_;
};

}  // namespace crochet::local
