// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a module computes with beside its parameters and buffers.
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/load.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/libtorch/test_training.h"

namespace crochet {
namespace {

using testing::HasSubstr;

class ModuleStateTest : public testing::Test {
 protected:
  LoopOptions options(RestoreOptions restore = {}) {
    return {.checkpoint = {.dir = "run"},
            .restore = std::move(restore),
            .summaries = {.every_steps = 0, .count_every_steps = 0},
            .files = &files_};
  }
  void save(torch::nn::Module& net) {
    Loop loop(options());
    loop.track("net", net);
    loop.run([](Step& step) { step.request_stop("one step"); });
  }
  void restore(torch::nn::Module& net, RestoreOptions how = {}) {
    Loop loop(options(std::move(how)));
    loop.track("net", net);
    ASSERT_EQ(loop.restore(), 1);
  }
  bool stores(const std::string& name) {
    return CheckpointReader("run/model.ckpt-1", files_).contains(name);
  }
  static void backward(TestNet& net) { net->forward(torch::ones({4, 6})).sum().backward(); }

  LogCapture log_;
  MemoryFileSystem files_;
};

TEST_F(ModuleStateTest, RestoresGradients) {
  TestNet saved, net;
  backward(saved);
  save(*saved);
  restore(*net);
  for (const auto& item : saved->named_parameters()) {
    const torch::Tensor gradient = net->named_parameters()[item.key()].grad();
    ASSERT_TRUE(gradient.defined()) << item.key();
    EXPECT_TRUE(gradient.equal(item.value().grad())) << item.key();
  }
}

// An optimizer skips a parameter without a gradient, but not one whose gradient is zero.
TEST_F(ModuleStateTest, RestoresWhichGradientsAreZeroAndWhichUndefined) {
  TestNet saved, net;
  saved->first->weight.mutable_grad() = torch::zeros({8, 6});
  save(*saved);
  EXPECT_FALSE(stores("net/gradients/first.weight"));
  backward(net);
  restore(*net);
  EXPECT_TRUE(net->first->weight.grad().equal(torch::zeros({8, 6})));
  EXPECT_FALSE(net->second->weight.grad().defined());
}

TEST_F(ModuleStateTest, SavesNothingForGradientsThatAreUndefined) {
  TestNet net;
  save(*net);
  const CheckpointReader reader("run/model.ckpt-1", files_);
  for (const auto& [name, info] : reader.tensors())
    EXPECT_EQ(name.find("gradients"), std::string::npos) << name;
}

TEST_F(ModuleStateTest, LeavesGradientsOutOnRequest) {
  TestNet net;
  backward(net);
  Loop loop(options());
  libtorch::track_all(loop, {.model = libtorch::without_gradients(*net)});
  loop.run([](Step& step) { step.request_stop("one step"); });
  EXPECT_TRUE(stores("model/first.weight"));
  EXPECT_FALSE(stores("model/gradients/first.weight"));
}

TEST_F(ModuleStateTest, SavesASparseGradientAsADenseOne) {
  torch::nn::Embedding saved(torch::nn::EmbeddingOptions(5, 2).sparse(true));
  torch::nn::Embedding net(torch::nn::EmbeddingOptions(5, 2).sparse(true));
  saved->forward(torch::tensor({1, 3})).sum().backward();
  ASSERT_TRUE(saved->weight.grad().is_sparse());
  save(*saved);
  restore(*net);
  EXPECT_TRUE(net->weight.grad().equal(saved->weight.grad().to_dense()));
}

// Accumulation over four calls of the body, ended between two of the optimizer's steps.
TEST_F(ModuleStateTest, ResumesGradientAccumulationExactly) {
  const auto train = [&](const std::string& directory, int64_t last_step) {
    torch::manual_seed(3);
    TestNet net;
    torch::optim::Adam adam(net->parameters(), 0.01);
    LoopOptions own = options();
    own.checkpoint.dir = directory;
    own.hooks = {StopAtStepHook({.last_step = last_step})};
    Loop loop(own);
    libtorch::track_all(loop, {.model = net, .optimizer = adam});
    loop.run([&](Step& step) {
      net->forward(torch::randn({4, 6})).square().mean().backward();
      if (step.number() % 4 != 0) return;
      adam.step();
      adam.zero_grad();
    });
    return torch::nn::utils::parameters_to_vector(net->parameters()).detach();
  };
  const torch::Tensor whole = train("whole", 12);
  for (int64_t ended = 4; ended < 8; ++ended) {
    const std::string directory = "ended-" + std::to_string(ended);
    train(directory, ended);
    EXPECT_TRUE(train(directory, 12).equal(whole)) << "ended at " << ended;
  }
}

TEST_F(ModuleStateTest, RestoresTheTrainingModeOfEachModule) {
  TestNet saved, net;
  saved->norm->eval();
  save(*saved);
  restore(*net);
  EXPECT_FALSE(net->norm->is_training());
  EXPECT_TRUE(net->is_training() && net->dropout->is_training());
  EXPECT_TRUE(log_.contains("norm.training was false and is true in this program"));
}

TEST_F(ModuleStateTest, RestoresWhichParametersAreFrozen) {
  TestNet saved, net;
  saved->first->weight.set_requires_grad(false);
  net->second->weight.set_requires_grad(false);
  save(*saved);
  restore(*net);
  EXPECT_FALSE(net->first->weight.requires_grad());
  EXPECT_TRUE(net->second->weight.requires_grad());
}

TEST_F(ModuleStateTest, RestoresTheProbabilityOfDropout) {
  TestNet saved, net;
  saved->dropout->options.p(0.1);
  save(*saved);
  restore(*net);
  EXPECT_EQ(net->dropout->options.p(), 0.1);
  EXPECT_TRUE(log_.contains("dropout.p was 0.1 and is 0.25 in this program"));
}

TEST_F(ModuleStateTest, WarnsOfOtherOptionsOfALayer) {
  struct Norm : torch::nn::Module {
    explicit Norm(double momentum)
        : norm(register_module("norm", torch::nn::BatchNorm1d(
                                           torch::nn::BatchNorm1dOptions(3).momentum(momentum)))) {}
    torch::nn::BatchNorm1d norm;
  } saved(0.1), net(0.2);
  save(saved);
  restore(net);
  EXPECT_TRUE(
      log_.contains("differs from the checkpoint, which cannot change it: norm was "
                    "torch::nn::BatchNorm1d(3, eps="));
}

TEST_F(ModuleStateTest, WarnsOfAHookThatTheProgramLacks) {
  TestNet saved, net;
  saved->first->weight.register_hook([](torch::Tensor gradient) { return gradient * 2; });
  save(*saved);
  restore(*net);
  EXPECT_TRUE(log_.contains("first.weight was 1 and is 0 in this program"));
}

TEST_F(ModuleStateTest, WarnsOfNothingInTheSameProgram) {
  TestNet saved, net;
  save(*saved);
  restore(*net);
  EXPECT_FALSE(log_.contains("in this program"));
}

// What only the training needs is left alone where its values are used for something else.
TEST_F(ModuleStateTest, LoadsOnlyParametersAndBuffersForInference) {
  TestNet saved, served;
  backward(saved);
  save(*saved);
  served->eval();
  load({.from = "run"}, {{"net", served}}, &files_);
  EXPECT_TRUE(served->first->weight.equal(saved->first->weight));
  EXPECT_FALSE(served->is_training());
  EXPECT_FALSE(served->first->weight.grad().defined());
}

TEST_F(ModuleStateTest, BeginsANewTrainingWithoutTheModesOfTheFormer) {
  TestNet saved, net;
  backward(saved);
  save(*saved);
  net->first->weight.set_requires_grad(false);
  LoopOptions own = options({.from = "run", .only = {"net/*"}});
  own.checkpoint.dir = "new";
  own.hooks = {StopAtStepHook({.last_step = 1})};
  Loop loop(own);
  loop.track("net", net);
  loop.run([&] {
    EXPECT_TRUE(net->first->weight.equal(saved->first->weight));
    EXPECT_FALSE(net->first->weight.requires_grad());
    EXPECT_FALSE(net->first->weight.grad().defined());
  });
}

// A module with state of its own lists it in track(), and its base lists the tensors.
struct CountingImpl : torch::nn::Module {
  void track(Tracker& tracker) {
    crochet::track(tracker, static_cast<torch::nn::Module&>(*this));
    tracker("count", count);
  }
  torch::nn::Linear linear = register_module("linear", torch::nn::Linear(2, 2));
  int64_t count = 0;
};
TORCH_MODULE(Counting);

TEST_F(ModuleStateTest, TracksWhatAModuleListsItself) {
  Counting saved, net;
  saved->count = 5;
  const auto loop_with = [&](Counting& own) {
    auto loop = std::make_unique<Loop>(options());
    loop->track("net", own);
    return loop;
  };
  loop_with(saved)->run([](Step& step) { step.request_stop("one step"); });
  loop_with(net)->restore();
  EXPECT_EQ(net->count, 5);
  EXPECT_TRUE(net->linear->weight.equal(saved->linear->weight));
}

}  // namespace
}  // namespace crochet::internal
