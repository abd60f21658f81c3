// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "crochet/io/write_ring.h"

namespace crochet {

// Keeps rings for the next files: one for each of the files, two at most, that a save has open at
// once. Those that more files need are made, and go, with them.
//
// Thread-safe, without a lock: a process may be forked at any moment.
class WriteRingPool {
 public:
  ~WriteRingPool() {
    for (auto& idle : idle_) delete idle.load(std::memory_order_acquire);
  }

  // Null if there is none that this process can use.
  std::unique_ptr<WriteRing> take() {
    for (auto& idle : idle_) {
      std::unique_ptr<WriteRing> ring(idle.exchange(nullptr, std::memory_order_acq_rel));
      if (ring && ring->is_mine()) return ring;
    }
    return nullptr;
  }

  void give_back(std::unique_ptr<WriteRing> ring) {
    if (!ring || ring->is_broken() || ring->num_in_flight() > 0 || !ring->is_mine()) return;
    for (auto& idle : idle_) {
      WriteRing* none = nullptr;
      if (!idle.compare_exchange_strong(none, ring.get(), std::memory_order_acq_rel)) continue;
      ring.release();
      return;
    }
  }

 private:
  std::array<std::atomic<WriteRing*>, 2> idle_{};  // Owned.
};

}  // namespace crochet
