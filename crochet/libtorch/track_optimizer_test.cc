// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/libtorch/optimizer_parameters.h"
#include "crochet/libtorch/test_training.h"
#include "crochet/libtorch/track.h"
#include "crochet/run/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class TrackOptimizerTest : public testing::Test {
 protected:
  using Track = std::function<void(Loop& loop)>;

  static void step(torch::nn::Linear& net, torch::optim::Optimizer& optimizer) {
    optimizer.zero_grad();
    net->forward(torch::ones({1, 2})).sum().backward();
    optimizer.step();
  }
  LoopOptions options() {
    return {.checkpoint_dir = "run",
            .save_summaries_steps = 0,
            .log_step_count_steps = 0,
            .files = &files_};
  }
  void save(torch::nn::Linear& net, torch::optim::Optimizer& optimizer) {
    Loop loop(options());
    loop.track("net", net);
    loop.track("optimizer", optimizer);
    loop.run([](Step& step) { step.request_stop("one step"); });
  }
  void restore(torch::nn::Linear& net, torch::optim::Optimizer& optimizer) {
    Loop loop(options());
    loop.track("net", net);
    loop.track("optimizer", optimizer);
    ASSERT_EQ(loop.restore(), 1);
  }
  std::vector<std::string> stored_names() {
    const CheckpointReader reader("run/model.ckpt-1", files_);
    std::vector<std::string> names;
    for (const auto& [name, info] : reader.tensors())
      if (name.starts_with("optimizer/")) names.push_back(name.substr(10));
    return names;
  }

  LogCapture log_;
  MemoryFileSystem files_;
  torch::nn::Linear net_{2, 1};
};

TEST_F(TrackOptimizerTest, SavesStateUnderTheNamesOfParameters) {
  torch::optim::Adam adam(net_->parameters(), 0.1);
  step(net_, adam);
  save(net_, adam);
  EXPECT_THAT(
      stored_names(),
      ElementsAre("class/Adam", "exp_avg/net/bias", "exp_avg/net/weight", "exp_avg_sq/net/bias",
                  "exp_avg_sq/net/weight", "param_groups/0/amsgrad", "param_groups/0/betas/0",
                  "param_groups/0/betas/1", "param_groups/0/eps", "param_groups/0/lr",
                  "param_groups/0/weight_decay", "step/net/bias", "step/net/weight"));
}

TEST_F(TrackOptimizerTest, SavesStateUnderPlacesIfNoModuleIsTracked) {
  torch::optim::SGD sgd(net_->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  step(net_, sgd);
  Loop loop(options());
  loop.track("optimizer", sgd);
  loop.run([](Step& step) { step.request_stop("one step"); });
  EXPECT_THAT(stored_names(), testing::IsSupersetOf({"momentum_buffer/0", "momentum_buffer/1"}));
}

TEST_F(TrackOptimizerTest, FindsTheNamesAlsoIfTheModuleIsTrackedLater) {
  torch::optim::SGD sgd(net_->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  step(net_, sgd);
  Loop loop(options());
  loop.track("optimizer", sgd);
  loop.track("net", net_);
  loop.run([](Step& step) { step.request_stop("one step"); });
  EXPECT_THAT(stored_names(), testing::IsSupersetOf({"momentum_buffer/net/bias"}));
}

TEST_F(TrackOptimizerTest, RestoresByNameIfTheOrderIsAnother) {
  torch::optim::Adam adam(net_->parameters(), 0.1);
  step(net_, adam);
  save(net_, adam);
  std::vector<torch::Tensor> reversed = net_->parameters();
  std::swap(reversed[0], reversed[1]);
  torch::optim::Adam other(reversed, 0.5);
  restore(net_, other);
  EXPECT_EQ(other.param_groups()[0].options().get_lr(), 0.1);
  for (const torch::Tensor& parameter : net_->parameters()) {
    const auto* const expected = libtorch::state_of(adam, parameter);
    const auto* const found = libtorch::state_of(other, parameter);
    using State = torch::optim::AdamParamState;
    EXPECT_TRUE(static_cast<const State*>(found)->exp_avg().equal(
        static_cast<const State*>(expected)->exp_avg()));
  }
}

TEST_F(TrackOptimizerTest, RefusesTheStateOfAnotherClass) {
  torch::optim::Adam adam(net_->parameters(), 0.1);
  step(net_, adam);
  save(net_, adam);
  torch::optim::AdamW adamw(net_->parameters(), 0.1);
  EXPECT_THAT([&] { restore(net_, adamw); },
              ThrowsMessage<Error>(AllOf(HasSubstr("optimizer \"optimizer\""),
                                         HasSubstr("found the state of Adam, expected that of "
                                                   "AdamW"))));
  EXPECT_TRUE(adamw.state().empty());
  SlowSgd slow(net_->parameters(), SlowSgdOptions(0.1));
  EXPECT_THAT([&] { restore(net_, slow); }, ThrowsMessage<Error>(HasSubstr("SlowSgd")));
}

TEST_F(TrackOptimizerTest, RefusesTheStateOfAClassThatItDoesNotKnow) {
  SlowSgd slow(net_->parameters(), SlowSgdOptions(0.1));
  step(net_, slow);
  save(net_, slow);
  torch::optim::Adam adam(net_->parameters(), 0.1);
  EXPECT_THAT([&] { restore(net_, adam); }, ThrowsMessage<Error>(HasSubstr("optimizer")));
}

TEST_F(TrackOptimizerTest, RefusesOtherParameterGroups) {
  torch::optim::SGD sgd(net_->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  step(net_, sgd);
  save(net_, sgd);
  torch::optim::SGD other({torch::optim::OptimizerParamGroup({net_->weight}),
                           torch::optim::OptimizerParamGroup({net_->bias})},
                          torch::optim::SGDOptions(0.1).momentum(0.9));
  EXPECT_THAT([&] { restore(net_, other); },
              ThrowsMessage<Error>(HasSubstr("found 1 parameter groups, expected 2")));
}

TEST_F(TrackOptimizerTest, RefusesStateOfAParameterThatItLacks) {
  torch::optim::SGD sgd(net_->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  step(net_, sgd);
  save(net_, sgd);
  torch::optim::SGD other({net_->weight}, torch::optim::SGDOptions(0.1).momentum(0.9));
  EXPECT_THAT([&] { restore(net_, other); },
              ThrowsMessage<Error>(AllOf(HasSubstr("belongs to none of its parameters"),
                                         HasSubstr("momentum_buffer/net/bias"))));
}

TEST_F(TrackOptimizerTest, RefusesStateOfAnotherShape) {
  torch::optim::SGD sgd(net_->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  step(net_, sgd);
  save(net_, sgd);
  torch::nn::Linear wide(3, 1);
  torch::optim::SGD other(wide->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  Loop loop({.checkpoint_dir = "run",
             .restore = {.allow_mismatched = true},
             .save_summaries_steps = 0,
             .log_step_count_steps = 0,
             .files = &files_});
  loop.track("net", wide);
  loop.track("optimizer", other);
  EXPECT_THAT([&] { loop.restore(); },
              ThrowsMessage<Error>(AllOf(HasSubstr("momentum_buffer of parameter"),
                                         HasSubstr("net/weight"), HasSubstr("[1,2]"))));
}

TEST_F(TrackOptimizerTest, RemovesStateThatTheCheckpointDoesNotHave) {
  torch::optim::SGD sgd(net_->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  save(net_, sgd);
  step(net_, sgd);
  ASSERT_FALSE(sgd.state().empty());
  restore(net_, sgd);
  EXPECT_TRUE(sgd.state().empty());
}

TEST_F(TrackOptimizerTest, WarnsOfAParameterThatItHasTwice) {
  torch::optim::SGD sgd({net_->weight, net_->bias, net_->weight}, 0.1);
  save(net_, sgd);
  EXPECT_TRUE(log_.contains("optimizer \"optimizer\" has parameter 2 twice"));
}

TEST_F(TrackOptimizerTest, RestoresOptionsOfEachGroup) {
  const auto make = [&](double first, double second) {
    std::vector<torch::optim::OptimizerParamGroup> groups = {
        {{net_->weight}, std::make_unique<torch::optim::SGDOptions>(first)},
        {{net_->bias}, std::make_unique<torch::optim::SGDOptions>(second)}};
    return std::make_unique<torch::optim::SGD>(groups, torch::optim::SGDOptions(9));
  };
  const auto saved = make(0.25, 0.5);
  save(net_, *saved);
  const auto other = make(1, 2);
  restore(net_, *other);
  EXPECT_EQ(other->param_groups()[0].options().get_lr(), 0.25);
  EXPECT_EQ(other->param_groups()[1].options().get_lr(), 0.5);
}

TEST_F(TrackOptimizerTest, RestoresOptionsOfAClassThatItDoesNotKnow) {
  SlowSgd slow(net_->parameters(), SlowSgdOptions(0.125));
  step(net_, slow);
  save(net_, slow);
  SlowSgd other(net_->parameters(), SlowSgdOptions(3));
  restore(net_, other);
  EXPECT_EQ(other.param_groups()[0].options().get_lr(), 0.125);
}

}  // namespace
}  // namespace crochet
