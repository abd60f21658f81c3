// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "crochet/base/export.h"
#include "crochet/monitor/coordinator.h"

namespace crochet::inline v0 {

struct LooperThreadOptions {
  std::string name = "LooperThread";
  // The time from one call to the next; unset or 0: back to back.
  std::optional<double> timer_interval_secs = {};
  // Called on the thread before the first call and, unless a call threw, after the last.
  std::function<void()> start_loop = {};
  std::function<void()> stop_loop = {};
  // Clock::real() if null. Not owned; must outlive the thread.
  Clock* clock = nullptr;
};

// Starts a thread, registered with the coordinator, that calls `target` until a stop is
// requested: at once, and then at fixed boundaries, so that the time taken by calls does not add
// up. Overdue calls are made back to back; none is skipped. An error ends the thread and stops
// the others.
//
//   auto looper = start_looper_thread(coordinator, {.timer_interval_secs = 60},
//                                     [&] { write_report(); });
//
// Requires: what `target` uses outlives the coordinator.
// Throws: InvalidArgumentError for an empty target or a negative interval.
CROCHET_EXPORT std::shared_ptr<CoordinatedThread> start_looper_thread(Coordinator& coordinator,
                                                                      LooperThreadOptions options,
                                                                      std::function<void()> target);

}  // namespace crochet::inline v0
