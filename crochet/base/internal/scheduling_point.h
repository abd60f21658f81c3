// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace crochet::inline v0::internal {

// Marks a moment at which a slow thread could lose a race. A test may install a function that is
// called at each of these points: it may yield, or do what another thread would have done. Without
// one, a point costs one load.
//
// The function is called on any thread, even while mutexes are held, and must not throw.
using SchedulingHook = void (*)() noexcept;

inline std::atomic<SchedulingHook> scheduling_hook = nullptr;

inline void scheduling_point() noexcept {
  if (const SchedulingHook hook = scheduling_hook.load(std::memory_order_relaxed)) hook();
}

}  // namespace crochet::inline v0::internal
