// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A repeated run allocates nothing, whatever its operations.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crochet/engines/local/graph.h"
#include "crochet/session/session.h"
#include "crochet/testing/allocation_counter.h"

namespace crochet::local {
namespace {

using In = std::span<const float>;
using Out = std::span<float>;

class AllocationsTest : public testing::Test {
 protected:
  // Expects that runs allocate nothing after the first few.
  void expect_none(std::vector<Output> fetches, const Feeds& feeds = {}) {
    const auto session = graph_.new_session("");
    std::vector<Tensor> results(fetches.size());
    const auto run = [&] { session->run_into(fetches, feeds, results, {}, nullptr); };
    for (int i = 0; i < 3; ++i) run();
    const AllocationCounter allocations;
    for (int i = 0; i < 10; ++i) run();
    EXPECT_EQ(allocations.count(), 0);
  }

  Graph graph_;
};

TEST_F(AllocationsTest, NoneForAChainOfNumbers) {
  Output last = graph_.op("op0", [] { return int64_t{0}; })[0];
  for (int i = 1; i < 100; ++i)
    last = graph_.op(fmt::format("op{}", i), {last}, [](int64_t x) { return x + 1; })[0];
  expect_none({last, graph_.name("last", last), last});
}

TEST_F(AllocationsTest, NoneForAStepWithFeedsAndVariableChanges) {
  const Output x = graph_.placeholder<float>("x", {-1, 3});
  const OwnedVariable w = graph_.variable("w", Tensor::zeros<float>({30}));
  const OwnedVariable m = graph_.variable("m", Tensor::zeros<float>({30}));
  const auto sums = graph_.op("sums", {x, w}, [](In a, In b) {
    return std::tuple{a[0] + b[0], std::optional<double>(), static_cast<int64_t>(a.size())};
  });
  const auto apply = graph_.op("apply", {sums[0], replace(w), update(m)},
                               [](float sum, In old, Out next, Out moments) {
                                 for (size_t i = 0; i < old.size(); ++i) next[i] = old[i] - sum;
                                 moments[0] += sum;
                               });
  const auto train = graph_.group("train", {apply, graph_.increment_global_step()});
  expect_none({train, graph_.global_step(), sums[2], x}, {{x, Tensor::zeros<float>({10, 3})}});
}

TEST_F(AllocationsTest, NoneForAlternatingKindsOfRuns) {
  const auto a = graph_.op("a", [] { return 1.0f; });
  const auto b = graph_.op("b", {a}, [](float x) { return x; });
  const std::vector<Output> kinds = {a, a[0], b, b[0]};
  const auto session = graph_.new_session("");
  Tensor result;
  const auto run_all = [&] {
    for (const Output& kind : kinds) session->run_into({&kind, 1}, {}, {&result, 1}, {}, nullptr);
  };
  run_all();
  const AllocationCounter allocations;
  for (int i = 0; i < 10; ++i) run_all();
  EXPECT_EQ(allocations.count(), 0);
}

// The value is held by a snapshot that comes and goes, as in saves.
TEST_F(AllocationsTest, NoneForChangesWhileASaveHoldsTheValue) {
  const OwnedVariable w = graph_.variable("w", Tensor::zeros<float>({1000}));
  const OwnedVariable m = graph_.variable("m", Tensor::zeros<float>({1000}));
  const auto change =
      graph_.op("change", {replace(w), update(m)}, [](In old, Out next, Out moments) {
        next[0] = old[0] + 1;
        moments[0] += 1;
      });
  const auto session = graph_.new_session("");
  const Output fetch = change;
  Tensor result;
  const auto run = [&] { session->run_into({&fetch, 1}, {}, {&result, 1}, {}, nullptr); };
  const std::vector<Variable> variables = graph_.variables();
  int64_t most = 0;
  for (int save = 0; save < 10; ++save) {
    const Snapshot held = session->snapshot(variables);
    const AllocationCounter allocations;
    for (int i = 0; i < 5; ++i) run();
    if (save >= 2) most = std::max(most, allocations.count());
  }
  EXPECT_EQ(most, 0);
}

// Checks the counter: a callable that allocates is detected.
TEST_F(AllocationsTest, DetectsThoseOfCallables) {
  const Output value = graph_.op("v", [] { return std::vector<float>(100); })[0];
  const auto session = graph_.new_session("");
  Tensor result;
  session->run_into({&value, 1}, {}, {&result, 1}, {}, nullptr);
  const AllocationCounter allocations;
  session->run_into({&value, 1}, {}, {&result, 1}, {}, nullptr);
  EXPECT_GT(allocations.count(), 0);
}

}  // namespace
}  // namespace crochet::local
