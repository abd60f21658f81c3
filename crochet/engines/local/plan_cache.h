// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "crochet/engines/local/plan.h"

namespace crochet::local {

// The plans of the kinds of runs there were lately. Finding one that is there allocates nothing.
//
// Thread-safe.
class PlanCache {
 public:
  // Hooks that ask for something every so often, each at its own pace, make as many kinds of runs
  // as there are sets of hooks.
  static constexpr size_t kMaxPlans = 64;

  // Throws: as the plan's constructor.
  std::shared_ptr<const Plan> find(const Graph& graph, std::span<const Output> fetches,
                                   const Feeds& feeds);

 private:
  std::mutex mutex_;                                // Guards what follows.
  std::vector<std::shared_ptr<const Plan>> plans_;  // The last used one first.
};

}  // namespace crochet::local
