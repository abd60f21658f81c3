// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Averages of a module's weights: for evaluations, and in a file for Python.
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/guards/weight_averaging.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/tensor.h"
#include "crochet/libtorch/track.h"
#include "crochet/libtorch/weights.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

struct SmallNetImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) { return norm->forward(fc->forward(x)); }

  torch::nn::Linear fc = register_module("fc", torch::nn::Linear(20, 30));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(30));
};
TORCH_MODULE(SmallNet);

class AveragedWeightsOfModulesTest : public testing::Test {
 protected:
  // Trains, and evaluates the averages every other step.
  void train(const std::string& directory, SmallNet& net, int64_t last_step, bool evaluates) {
    adam_ = std::make_unique<torch::optim::Adam>(net->parameters());
    torch::optim::Adam& adam = *adam_;
    averaging_ = std::make_shared<WeightAveraging>(
        WeightAveragingOptions{.values = {"model"}, .decay = kDecay});
    HookList hooks = {averaging_, StopAtStepHook({.last_step = last_step})};
    if (evaluates)
      hooks.emplace_back(
          EvaluationHook({.every_n_steps = 2, .evaluate = [&] {
                            return averaging_->with_averages([&] {
                              EXPECT_TRUE(torch::equal(net->fc->weight, expected_));
                              return Metrics{{"sum", net->fc->weight.sum().item<double>()}};
                            });
                          }}));
    loop_ = std::make_unique<Loop>(LoopOptions{.checkpoint = {.dir = directory, .every_steps = 1},
                                               .hooks = std::move(hooks),
                                               .files = &files_});
    libtorch::track_all(*loop_, {.model = *net, .optimizer = adam});
    torch::manual_seed(0);
    if (!expected_.defined()) expected_ = net->fc->weight.detach().clone();
    loop_->run([&] {
      adam.zero_grad();
      net->forward(torch::randn({8, 20})).square().sum().backward();
      adam.step();
      expected_ += (1 - kDecay) * (net->fc->weight.detach() - expected_);
    });
  }

  static constexpr double kDecay = 0.75;
  MemoryFileSystem files_;
  std::shared_ptr<WeightAveraging> averaging_;
  std::unique_ptr<torch::optim::Adam> adam_;
  std::unique_ptr<Loop> loop_;
  torch::Tensor expected_;
};

TEST_F(AveragedWeightsOfModulesTest, ToEvaluateThemChangesNothing) {
  torch::manual_seed(1);
  SmallNet evaluated;
  torch::manual_seed(1);
  SmallNet trained;
  train("evaluated", evaluated, 10, true);
  expected_ = torch::Tensor();
  train("trained", trained, 10, false);
  const auto a = evaluated->named_parameters();
  for (const auto& parameter : trained->named_parameters())
    EXPECT_TRUE(torch::equal(a[parameter.key()], parameter.value())) << parameter.key();
  const CheckpointReader first("evaluated/model.ckpt-10", files_);
  const CheckpointReader second("trained/model.ckpt-10", files_);
  for (const auto& [name, info] : second.tensors()) EXPECT_EQ(first.read(name), second.read(name));
}

// The statistics of the batches are averaged as well; their number is an integer.
TEST_F(AveragedWeightsOfModulesTest, GoIntoAFileOfWeights) {
  SmallNet net;
  train("run", net, 5, false);
  const torch::Tensor last = net->fc->weight.detach().clone();
  averaging_->with_averages([&] { libtorch::save_weights(*net, "net.safetensors", &files_); });
  const CheckpointReader file("net.safetensors", files_);
  EXPECT_EQ(file.read("fc.weight"), libtorch::to_tensor(expected_));
  EXPECT_EQ(file.read("norm.running_mean"), averaging_->averages().at("model/norm.running_mean"));
  EXPECT_EQ(file.read("norm.num_batches_tracked").scalar<int64_t>(), 5);
  EXPECT_TRUE(torch::equal(net->fc->weight, last));
}

}  // namespace
}  // namespace crochet
