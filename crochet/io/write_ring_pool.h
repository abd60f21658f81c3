// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>

#include "crochet/io/write_ring.h"

namespace crochet {

// Keeps one ring for the next file; those that more files at once need are made, and go, with
// them.
//
// Thread-safe, without a lock: a process may be forked at any moment.
class WriteRingPool {
 public:
  ~WriteRingPool() { delete idle_.load(std::memory_order_acquire); }

  // Null if there is none that this process can use.
  std::unique_ptr<WriteRing> take() {
    std::unique_ptr<WriteRing> ring(idle_.exchange(nullptr, std::memory_order_acq_rel));
    if (ring && !ring->is_mine()) ring.reset();
    return ring;
  }

  void give_back(std::unique_ptr<WriteRing> ring) {
    if (!ring || ring->is_broken() || ring->num_in_flight() > 0 || !ring->is_mine()) return;
    delete idle_.exchange(ring.release(), std::memory_order_acq_rel);
  }

 private:
  std::atomic<WriteRing*> idle_{nullptr};  // Owned.
};

}  // namespace crochet
