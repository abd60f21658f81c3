// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps of a TensorFlow graph that are made again.
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "crochet/crochet.h"
#include "crochet/engines/tensorflow/builder/graph_builder.h"
#include "crochet/hooks/guards/replay_check_hook.h"
#include "crochet/testing/log_capture.h"

namespace crochet::tensorflow {
namespace {

// Changes a bit of the variable "w" after a step, once: as if the step had computed it wrong.
class FlipHook final : public SessionRunHook {
 public:
  FlipHook(int64_t step, size_t bit) : step_(step), bit_(bit) {}

  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override {
    context.request_global_step();
    return std::nullopt;
  }
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    if (context.global_step() + 1 != step_) return;
    Tensor w = context.session().read_variable("w");
    const auto bytes = w.mutable_bytes();
    bytes[bit_ / 8 % bytes.size()] ^= std::byte(1 << bit_ % 8);
    context.session().assign_variable("w", w);
  }

 private:
  const int64_t step_;
  const size_t bit_;
};

// Trains 12 steps with a batch that is fed to each; returns the weights.
Tensor train_checked(HookList hooks) {
  Graph graph;
  GraphBuilder build(graph);
  const auto x = build.placeholder<float>("x", {16, 8});
  const auto w = build.variable("w", Tensor::zeros<float>({8, 1}));
  const auto xw = build.op("MatMul", "xw", {x, w});
  const auto one = build.constant("one", Tensor::scalar(1.0f));
  const auto error = build.op("SquaredDifference", "error", {xw, one});
  const auto axes = build.constant("axes", std::vector{0, 1});
  const auto loss = build.op("Mean", "loss", {error, axes});
  const auto apply = build.gradient_descent("apply", loss, {.learning_rate = 0.1});
  get_or_create_global_step(graph);
  const auto train_op = increment_global_step(graph, 1, {apply});
  hooks.emplace_back(StopAtStepHook({.last_step = 12}));
  std::mt19937 random(5);
  Tensor result;
  train({.graph = graph, .hooks = std::move(hooks)}, [&](MonitoredSession& session) {
    while (!session.should_stop()) {
      Tensor batch(DType::kFloat, {16, 8});
      for (float& each : batch.mutable_flat<float>())
        each = static_cast<float>(random() % 100) / 50;
      session.run(train_op, {{graph.output("x"), batch}});
    }
    session.run_step_fn(
        [&](StepContext& context) { result = context.session().read_variable("w"); });
  });
  return result;
}

TEST(ReplayCheckTest, StepsOfAGraphAreMadeAgain) {
  const LogCapture log;
  const Tensor expected = train_checked({});
  const auto hook = std::make_shared<ReplayCheckHook>(ReplayCheckHookOptions{.every_n_steps = 4});
  EXPECT_EQ(train_checked({hook}), expected);
  EXPECT_EQ(hook->num_checks(), 3);
  EXPECT_EQ(hook->num_corrections(), 0);
}

// 100 of 100.
TEST(ReplayCheckTest, EachBitOfAVariableThatFlipsIsFound) {
  const LogCapture log;
  const Tensor expected = train_checked({});
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    const auto hook = std::make_shared<ReplayCheckHook>(ReplayCheckHookOptions{.every_n_steps = 4});
    const int64_t step = 4 * (1 + static_cast<int64_t>(random() % 3));
    EXPECT_EQ(train_checked({FlipHook(step, random() % 256), hook}), expected) << i;
    EXPECT_EQ(hook->num_corrections(), 1) << i;
  }
}

}  // namespace
}  // namespace crochet::tensorflow
