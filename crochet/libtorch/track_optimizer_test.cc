// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/internal/optimizer_parameters.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/libtorch/test_training.h"

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
    return {.checkpoint = {.dir = "run"},
            .summaries = {.every_steps = 0, .count_every_steps = 0},
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
  EXPECT_THAT(stored_names(),
              ElementsAre("class/Adam", "exp_avg/net/bias", "exp_avg/net/weight",
                          "exp_avg_sq/net/bias", "exp_avg_sq/net/weight", "initial_options",
                          "param_groups/0/amsgrad", "param_groups/0/betas/0",
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
    const auto* const expected = libtorch::internal::state_of(adam, parameter);
    const auto* const found = libtorch::internal::state_of(other, parameter);
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
              ThrowsMessage<Error>(AllOf(HasSubstr("lacks \"optimizer/class/AdamW\""),
                                         HasSubstr("has \"optimizer/class/Adam\""))));
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
              ThrowsMessage<Error>(HasSubstr("lacks \"optimizer/param_groups/1/lr\"")));
}

TEST_F(TrackOptimizerTest, RefusesStateOfAParameterThatItLacks) {
  torch::optim::SGD sgd(net_->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  step(net_, sgd);
  save(net_, sgd);
  torch::optim::SGD other({net_->weight}, torch::optim::SGDOptions(0.1).momentum(0.9));
  EXPECT_THAT([&] { restore(net_, other); },
              ThrowsMessage<Error>(HasSubstr("has \"optimizer/momentum_buffer/net/bias\"")));
}

TEST_F(TrackOptimizerTest, RefusesStateOfAnotherShape) {
  torch::optim::SGD sgd(net_->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  step(net_, sgd);
  save(net_, sgd);
  torch::nn::Linear wide(3, 1);
  torch::optim::SGD other(wide->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  Loop loop(options());
  loop.track("net", wide);
  loop.track("optimizer", other);
  EXPECT_THAT([&] { loop.restore(); },
              ThrowsMessage<Error>(AllOf(HasSubstr("\"net/weight\" as float32 [1,2]"),
                                         HasSubstr(".allow_mismatched = {\"net/weight\"}} to"))));
  // As the error advises.
  LoopOptions allowed = options();
  allowed.restore.allow_mismatched = {"net/weight"};
  Loop next(allowed);
  next.track("net", wide);
  next.track("optimizer", other);
  EXPECT_EQ(next.restore(), 1);
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

// A class without save() inherits one that writes nothing.
struct Mute : torch::optim::Optimizer {
  explicit Mute(std::vector<torch::Tensor> parameters)
      : Optimizer(std::move(parameters), std::make_unique<torch::optim::SGDOptions>(0.1)) {}
  torch::Tensor step(LossClosure = nullptr) override { return {}; }
};
struct Counter : torch::optim::Adam {
  using Adam::Adam;
  int64_t count = 0;
};
struct TrackedCounter : Counter {
  using Counter::Counter;
  void track(Tracker& tracker) {
    libtorch::track_base(tracker, *this);
    tracker("count", count);
  }
};

TEST_F(TrackOptimizerTest, RefusesACustomClassThatSavesNothing) {
  Mute mute(net_->parameters());
  Loop loop(options());
  EXPECT_THAT([&] { loop.track("optimizer", mute); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("save() of class Mute writes no parameter groups"),
                        HasSubstr("torch::optim::serialize<State, Options>"))));
}

TEST_F(TrackOptimizerTest, RefusesAClassThatIsDerivedFromAKnownOne) {
  Counter counter(net_->parameters(), 0.1);
  Loop loop(options());
  EXPECT_THAT([&] { loop.track("optimizer", counter); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("class Counter is derived from Adam"),
                        HasSubstr("crochet::libtorch::track_base(tracker, *this)"))));
  TrackedCounter known(net_->parameters(), 0.1);
  torch::optim::Optimizer& base = known;
  EXPECT_THAT([&] { loop.track("optimizer", base); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("track it as TrackedCounter")));
}

TEST_F(TrackOptimizerTest, RestoresTheStateOfADerivedClassAndOfItsBase) {
  TrackedCounter saved(net_->parameters(), 0.1), other(net_->parameters(), 0.1);
  step(net_, saved);
  saved.count = 7;
  const auto track = [&](Loop& loop, TrackedCounter& own) {
    loop.track("net", net_);
    loop.track("optimizer", own);
  };
  {
    Loop loop(options());
    track(loop, saved);
    loop.run([](Step& step) { step.request_stop("one step"); });
  }
  Loop loop(options());
  track(loop, other);
  ASSERT_EQ(loop.restore(), 1);
  EXPECT_EQ(other.count, 7);
  using State = torch::optim::AdamParamState;
  const auto moment = [&](TrackedCounter& own) {
    return static_cast<State&>(*libtorch::internal::state_of(own, net_->weight)).exp_avg();
  };
  EXPECT_TRUE(moment(other).equal(moment(saved)));
}

class UnfreezingTest : public TrackOptimizerTest {
 protected:
  // Trains the bias alone, from step 3 on also the weight, in a group of its own.
  torch::Tensor train(const std::string& directory, int64_t last_step) {
    torch::manual_seed(3);
    torch::nn::Linear net(2, 1);
    torch::optim::SGD sgd({net->bias}, torch::optim::SGDOptions(0.1).momentum(0.9));
    LoopOptions own = options();
    own.checkpoint.dir = directory;
    own.hooks = {StopAtStepHook({.last_step = last_step})};
    Loop loop(own);
    loop.track("net", net);
    loop.track("optimizer", sgd);
    loop.run([&](Step& now) {
      if (now.number() == 3) {
        sgd.add_param_group(torch::optim::OptimizerParamGroup({net->weight}));
        sgd.param_groups()[1].options().set_lr(0.05);
      }
      step(net, sgd);
    });
    return torch::cat({net->weight.flatten(), net->bias}).detach();
  }
};

TEST_F(UnfreezingTest, ResumesWithGroupsThatWereAddedInTheTraining) {
  const torch::Tensor whole = train("whole", 8);
  for (int64_t ended = 1; ended < 8; ++ended) {
    const std::string directory = "ended-" + std::to_string(ended);
    train(directory, ended);
    EXPECT_TRUE(train(directory, 8).equal(whole)) << "ended at " << ended;
    EXPECT_TRUE(train(directory, 9).equal(train("whole", 9))) << "ended at " << ended;
  }
  EXPECT_TRUE(log_.contains("parameter groups of the checkpoint were added, with \"net/weight\""));
}

TEST_F(TrackOptimizerTest, WarnsOfOptionsThatTheProgramChanged) {
  torch::optim::SGD saved(net_->parameters(), 0.1), other(net_->parameters(), 0.01);
  save(net_, saved);
  restore(net_, other);
  EXPECT_EQ(other.param_groups()[0].options().get_lr(), 0.1);
  EXPECT_TRUE(
      log_.contains("param_groups/0/lr = 0.1 (this program: 0.01); .restore.keep = "
                    "{\"optimizer/param_groups/0/lr\"} keeps this program's"));
}

// As the warning advises.
TEST_F(TrackOptimizerTest, KeepsTheOptionsThatRestoreOptionsName) {
  torch::optim::SGD saved(net_->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  torch::optim::SGD other(net_->parameters(), torch::optim::SGDOptions(0.01).momentum(0.8));
  save(net_, saved);
  LoopOptions own = options();
  own.restore.keep = {"optimizer/*/lr"};
  Loop loop(own);
  loop.track("net", net_);
  loop.track("optimizer", other);
  ASSERT_EQ(loop.restore(), 1);
  auto& found = static_cast<torch::optim::SGDOptions&>(other.param_groups()[0].options());
  EXPECT_EQ(found.lr(), 0.01);
  EXPECT_EQ(found.momentum(), 0.9);
  EXPECT_FALSE(log_.contains("lr = "));
  EXPECT_TRUE(log_.contains("momentum = 0.9 (this program: 0.8)"));
}

TEST_F(TrackOptimizerTest, StateFollowsTheRenamingOfItsParameter) {
  torch::optim::Adam saved(net_->parameters(), 0.1);
  step(net_, saved);
  save(net_, saved);
  torch::nn::Linear renamed(2, 1);
  torch::optim::Adam other(renamed->parameters(), 0.1);
  LoopOptions own = options();
  own.restore.rename = {{"model/*", "net/*"}};
  Loop loop(own);
  loop.track("model", renamed);
  loop.track("optimizer", other);
  ASSERT_EQ(loop.restore(), 1);
  step(net_, saved);
  step(renamed, other);
  EXPECT_TRUE(renamed->weight.equal(net_->weight));
}

// PyTorch numbers the parameters, and counts the steps in a tensor of floats.
TEST_F(TrackOptimizerTest, RestoresTheStateThatPythonSaved) {
  torch::optim::Adam saved(net_->parameters(), 0.1), other(net_->parameters(), 0.5);
  step(net_, saved);
  using State = torch::optim::AdamParamState;
  std::vector<torch::Tensor> averages, squares;
  std::vector<float> steps(2, 1);
  for (const torch::Tensor& parameter : net_->parameters()) {
    auto& state = static_cast<State&>(*libtorch::internal::state_of(saved, parameter));
    averages.push_back(state.exp_avg());
    squares.push_back(state.exp_avg_sq());
  }
  double lr = 0.25;
  {
    Loop loop(options());
    for (int i = 0; i < 2; ++i) {
      const std::string state = "python/state/" + std::to_string(i);
      loop.track(state + "/exp_avg", averages[i]);
      loop.track(state + "/exp_avg_sq", squares[i]);
      loop.track(state + "/step", steps[i]);
    }
    loop.track("python/param_groups/0/lr", lr);
    loop.run([](Step& step) { step.request_stop("one step"); });
  }
  RestoreOptions restore{.from = "run",
                         .only = {"optimizer/exp_avg*", "optimizer/step*", "optimizer/*/lr"},
                         .convert_dtype = {"optimizer/step/*"}};
  for (const std::string field : {"exp_avg", "exp_avg_sq", "step"})
    for (int i = 0; i < 2; ++i)
      restore.rename.push_back({"optimizer/" + field + "/net/" + (i == 0 ? "weight" : "bias"),
                                "python/state/" + std::to_string(i) + "/" + field});
  restore.rename.push_back({"optimizer/param_groups/0/lr", "python/param_groups/0/lr"});
  LoopOptions own = options();
  own.checkpoint.dir = "new";
  own.restore = restore;
  Loop loop(own);
  loop.track("net", net_);
  loop.track("optimizer", other);
  loop.run([](Step& step) { step.request_stop("one step"); });
  const auto& state = static_cast<State&>(*libtorch::internal::state_of(other, net_->weight));
  EXPECT_TRUE(state.exp_avg().equal(averages[0]));
  EXPECT_EQ(state.step(), 1);
  EXPECT_EQ(other.param_groups()[0].options().get_lr(), 0.25);
}

// A schedule changes the rate in each run.
TEST_F(TrackOptimizerTest, DoesNotWarnOfARateThatTheTrainingChanged) {
  torch::optim::SGD saved(net_->parameters(), 0.1), other(net_->parameters(), 0.1);
  {
    Loop loop(options());
    loop.track("net", net_);
    loop.track("optimizer", saved);
    loop.run([&](Step& step) {
      saved.param_groups()[0].options().set_lr(0.02);
      step.request_stop("one step");
    });
  }
  restore(net_, other);
  EXPECT_EQ(other.param_groups()[0].options().get_lr(), 0.02);
  EXPECT_FALSE(log_.contains("this program: "));
}

}  // namespace
}  // namespace crochet
