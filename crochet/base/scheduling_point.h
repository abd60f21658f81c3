// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace crochet::internal {

// A race needs one thread to be slow at the wrong moment. The moments that matter are marked with
// scheduling_point(), and a test may install a function that is called at each of them: it may
// yield, or do what another thread would have done. Without one, a point costs one load.
//
// The function is called on any thread, also while mutexes are held, and must not throw.
using SchedulingHook = void (*)() noexcept;

inline std::atomic<SchedulingHook> scheduling_hook = nullptr;

inline void scheduling_point() noexcept {
  if (const SchedulingHook hook = scheduling_hook.load(std::memory_order_relaxed)) hook();
}

}  // namespace crochet::internal
