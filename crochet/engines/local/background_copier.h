// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "crochet/engines/local/borrowed_array.h"
#include "crochet/session/snapshot.h"

namespace crochet::local {

// Copies borrowed arrays for snapshots while training computes, on a thread of
// its own that is started at the first copy.
//
// Thread-safe.
class BackgroundCopier {
 public:
  struct Copy {
    ArrayView from;  // Not changed until the copy is made: see drain().
    Tensor to;       // Of the same size; written although it is shared.
  };

  BackgroundCopier() = default;
  // Makes the copies that are left, then ends.
  ~BackgroundCopier();

  std::shared_ptr<PendingCopies> submit(std::vector<Copy> copies);
  // Returns once every submitted copy is made: from here on arrays may change.
  void drain();

 private:
  class Batch;
  void work();

  std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Batch>> batches_;  // The first is being copied.
  bool ending_ = false;
  std::thread worker_;
};

}  // namespace crochet::local
