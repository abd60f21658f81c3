// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "crochet/engines/local/internal/plan.h"

namespace crochet::inline v0::local::internal {

// The plans of recent kinds of runs. Finding a cached one allocates nothing.
//
// Thread-safe.
class PlanCache {
 public:
  // Hooks that fetch values periodically, each with its own period, cause as many kinds of runs
  // as there are sets of hooks.
  static constexpr size_t kMaxPlans = 64;

  // Throws: as Plan's constructor does.
  std::shared_ptr<const Plan> find(const Graph& graph, std::span<const Output> fetches,
                                   const Feeds& feeds);

 private:
  std::mutex mutex_;                                // Guards what follows.
  std::vector<std::shared_ptr<const Plan>> plans_;  // Most recently used first.
};

}  // namespace crochet::inline v0::local::internal
