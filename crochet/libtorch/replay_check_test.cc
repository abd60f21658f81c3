// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps of LibTorch that are made again.
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/hooks/guards/replay_check_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"

namespace crochet {
namespace {

class ReplayedModulesTest : public testing::Test {
 protected:
  struct Flip {
    int64_t step = 0;
    size_t place = 0;
  };

  // Trains 8 steps; returns all weights and buffers.
  std::vector<torch::Tensor> train(Flip flip, bool is_checked) {
    torch::manual_seed(1);
    torch::nn::Sequential net(torch::nn::Linear(6, 8), torch::nn::BatchNorm1d(8),
                              torch::nn::Dropout(0.5), torch::nn::Linear(8, 1));
    torch::optim::Adam adam(net->parameters());
    hook_ = std::make_shared<ReplayCheckHook>(
        ReplayCheckHookOptions{.every_n_steps = 4, .num_steps = 2});
    HookList hooks = {StopAtStepHook({.last_step = 8})};
    if (is_checked) hooks.emplace_back(hook_);
    Loop loop({.hooks = std::move(hooks)});
    libtorch::track_all(loop, {.model = *net, .optimizer = adam});
    loop.run([&](Step& step) {
      adam.zero_grad();
      net->forward(torch::randn({16, 6})).square().mean().backward();
      adam.step();
      if (step.number() != std::exchange(flip.step, step.number() == flip.step ? 0 : flip.step))
        return;
      const auto parameters = net->parameters();
      const torch::Tensor& weight = parameters[flip.place % parameters.size()];
      libtorch::before_raw_write(weight);
      auto* const bytes = static_cast<uint8_t*>(weight.data_ptr());
      bytes[flip.place / 7 % weight.nbytes()] ^= static_cast<uint8_t>(1 << flip.place / 1000 % 8);
    });
    std::vector<torch::Tensor> values;
    for (const torch::Tensor& each : net->parameters()) values.push_back(each.detach().clone());
    for (const torch::Tensor& each : net->buffers()) values.push_back(each.clone());
    return values;
  }
  static bool are_equal(const std::vector<torch::Tensor>& a, const std::vector<torch::Tensor>& b) {
    for (size_t i = 0; i < a.size(); ++i)
      if (!torch::equal(a[i], b[i])) return false;
    return a.size() == b.size();
  }

  LogCapture log_;
  std::shared_ptr<ReplayCheckHook> hook_;
};

TEST_F(ReplayedModulesTest, AreAsIfTheyWereTrainedOnce) {
  const auto expected = train({}, false);
  EXPECT_TRUE(are_equal(train({}, true), expected));
  EXPECT_EQ(hook_->num_checks(), 2);
  EXPECT_EQ(hook_->num_corrections(), 0);
}

// 100 of 100.
TEST_F(ReplayedModulesTest, EachBitOfAWeightThatFlipsIsFound) {
  const auto expected = train({}, false);
  std::mt19937 random(3);
  for (int i = 0; i < 100; ++i) {
    const Flip flip{.step = 4 * (1 + static_cast<int64_t>(random() % 2)), .place = random()};
    EXPECT_TRUE(are_equal(train(flip, true), expected)) << i;
    EXPECT_EQ(hook_->num_corrections(), 1) << i;
  }
}

}  // namespace
}  // namespace crochet
