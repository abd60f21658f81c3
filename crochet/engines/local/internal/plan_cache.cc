// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/plan_cache.h"

#include <algorithm>

namespace crochet::inline v0::local::internal {

std::shared_ptr<const Plan> PlanCache::find(const Graph& graph, std::span<const Output> fetches,
                                            const Feeds& feeds) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(plans_, [&](const auto& plan) { return plan->matches(fetches, feeds); });
  if (found != plans_.end()) {
    std::rotate(plans_.begin(), found, found + 1);
    return plans_.front();
  }
  std::vector<Output> fed;
  for (const auto& [output, value] : feeds) fed.push_back(output);
  const auto plan = std::make_shared<const Plan>(graph, fetches, fed);
  if (plans_.size() == kMaxPlans) plans_.pop_back();
  plans_.insert(plans_.begin(), plan);
  return plan;
}

}  // namespace crochet::inline v0::local::internal
