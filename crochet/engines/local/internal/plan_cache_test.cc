// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/internal/plan_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::local::internal {
namespace {

TEST(PlanCacheTest, MakesAPlanOnceForEachKindOfRun) {
  Graph graph;
  const Output x = graph.placeholder<float>("x", {});
  const Output y = graph.op("y", {x}, [](float a) { return a; })[0];
  PlanCache cache;
  const Feeds feeds = {{x, Tensor::scalar(1.0f)}};
  const auto first = cache.find(graph, {&y, 1}, feeds);
  const auto other = cache.find(graph, {&x, 1}, feeds);
  EXPECT_NE(first, other);
  EXPECT_EQ(cache.find(graph, {&y, 1}, feeds), first);
  EXPECT_EQ(cache.find(graph, {&y, 1}, {{x, Tensor::scalar(2.0f)}}), first);
  EXPECT_EQ(cache.find(graph, {&x, 1}, feeds), other);
  EXPECT_THROW(cache.find(graph, {&y, 1}, {}), InvalidArgumentError);
}

TEST(PlanCacheTest, DropsTheLeastRecentlyUsedPlan) {
  Graph graph;
  std::vector<Output> outputs;
  for (size_t i = 0; i <= PlanCache::kMaxPlans; ++i)
    outputs.push_back(graph.op(fmt::format("op{}", i), [] { return 1; })[0]);
  PlanCache cache;
  std::vector<std::shared_ptr<const Plan>> plans;
  for (size_t i = 0; i < PlanCache::kMaxPlans; ++i)
    plans.push_back(cache.find(graph, {&outputs[i], 1}, {}));
  EXPECT_EQ(cache.find(graph, {&outputs[0], 1}, {}), plans[0]);
  cache.find(graph, {&outputs.back(), 1}, {});
  EXPECT_EQ(cache.find(graph, {&outputs[0], 1}, {}), plans[0]);
  EXPECT_NE(cache.find(graph, {&outputs[1], 1}, {}), plans[1]);
}

}  // namespace
}  // namespace crochet::local::internal
