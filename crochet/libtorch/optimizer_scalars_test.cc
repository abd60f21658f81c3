// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/base/error.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "crochet/summary/internal/metric_lines.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::Key;

class OptimizerScalarsTest : public testing::Test {
 protected:
  using Curves = std::map<int64_t, std::map<std::string, double>>;

  // The curves of a run in which `body` is a step.
  Curves curves(const std::function<void(Loop& loop)>& add, const std::function<void()>& body,
                int64_t num_steps = 2) {
    Loop loop({.checkpoint = {.dir = "run"},
               .summaries = {.every_steps = 1, .count_every_steps = 0},
               .hooks = {StopAtStepHook({.last_step = num_steps})},
               .files = &files_});
    add(loop);
    loop.run(body);
    Curves found;
    for (const auto& [step, metrics] : internal::read_metric_lines(files_, "run"))
      found[step].insert(metrics.begin(), metrics.end());
    return found;
  }

  MemoryFileSystem files_;
  torch::Tensor a_ = torch::zeros({2}, torch::requires_grad());
  torch::Tensor b_ = torch::zeros({1}, torch::requires_grad());
};

TEST_F(OptimizerScalarsTest, TheNormOfAllGradientsAndTheLearningRate) {
  torch::optim::SGD sgd({a_, b_}, 0.5);
  const Curves found =
      curves([&](Loop& loop) { libtorch::add_scalars(loop, sgd); },
             [&] {
               sgd.zero_grad();
               (3 * a_.sum() + 2 * b_.sum()).backward();
               sgd.step();
               static_cast<torch::optim::SGDOptions&>(sgd.param_groups()[0].options()).lr(0.25);
             });
  EXPECT_NEAR(found.at(1).at("gradient_norm"), std::sqrt(9 + 9 + 4), 1e-6);
  EXPECT_EQ(found.at(2).at("learning_rate"), 0.25);
}

TEST_F(OptimizerScalarsTest, EachGroupHasItsLearningRate) {
  torch::optim::SGD sgd(
      {torch::optim::OptimizerParamGroup({a_}),
       torch::optim::OptimizerParamGroup({b_}, std::make_unique<torch::optim::SGDOptions>(0.125))},
      torch::optim::SGDOptions(0.5));
  const Curves found = curves([&](Loop& loop) { libtorch::add_scalars(loop, sgd, "g/"); }, [] {});
  EXPECT_EQ(found.at(1).at("g/learning_rate/0"), 0.5);
  EXPECT_EQ(found.at(1).at("g/learning_rate/1"), 0.125);
}

// No gradient is not a gradient of zero.
TEST_F(OptimizerScalarsTest, HasNoNormWithoutGradients) {
  torch::optim::SGD sgd({a_, b_}, 0.5);
  const Curves found = curves([&](Loop& loop) { libtorch::add_scalars(loop, sgd); }, [] {});
  EXPECT_THAT(found.at(1), ElementsAre(Key("learning_rate")));
}

TEST_F(OptimizerScalarsTest, OfSparseAndOfHalfGradients) {
  torch::nn::Embedding embedding(torch::nn::EmbeddingOptions(10, 4).sparse(true));
  const torch::Tensor half = torch::zeros({4}, torch::kBFloat16).requires_grad_();
  torch::optim::SGD sgd({embedding->weight, half}, 0.5);
  const Curves found =
      curves([&](Loop& loop) { libtorch::add_scalars(loop, sgd); },
             [&] {
               sgd.zero_grad();
               (embedding->forward(torch::tensor({3, 3, 5})).sum() + 300 * half.sum()).backward();
             });
  // Rows 3 (twice) and 5, of 4 elements; more than half and bfloat16 can represent.
  EXPECT_NEAR(found.at(1).at("gradient_norm"), std::sqrt(4 * 4 + 4 * 1 + 4 * 90000), 1e-3);
}

TEST_F(OptimizerScalarsTest, RefusesANameInUse) {
  torch::optim::SGD sgd({a_}, 0.5);
  Loop loop({.hooks = {StopAtStepHook({.last_step = 1})}});
  libtorch::add_scalars(loop, sgd);
  EXPECT_THROW(libtorch::add_scalars(loop, sgd), AlreadyExistsError);
}

}  // namespace
}  // namespace crochet
