// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Modules whose parameters have other names or sizes than in the checkpoint: what belongs to a
// parameter or module follows it, if the program does what the message advises.
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include "crochet/base/error.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/libtorch/internal/optimizer_parameters.h"
#include "crochet/libtorch/track.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/libtorch/test_training.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct NormedLayerImpl : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x) { return drop(torch::relu(norm(fc(x)))); }
  torch::nn::Linear fc = register_module("fc", torch::nn::Linear(4, 4));
  torch::nn::BatchNorm1d norm = register_module("norm", torch::nn::BatchNorm1d(4));
  torch::nn::Dropout drop = register_module("drop", torch::nn::Dropout(0.25));
};
TORCH_MODULE(NormedLayer);

// A net whose block has a name of the program's choice.
struct NamedNet : torch::nn::Module {
  explicit NamedNet(const std::string& name)
      : block(register_module(name, NormedLayer())),
        head(register_module("head", torch::nn::Linear(4, 2))) {}
  torch::Tensor forward(const torch::Tensor& x) { return head(block(x)); }
  NormedLayer block;
  torch::nn::Linear head;
};

// One parameter, whose first size the training may change.
struct Points : torch::nn::Module {
  explicit Points(int64_t size, const std::string& name = "positions")
      : positions(register_parameter(name, torch::ones({size, 3}))) {}
  torch::Tensor positions;
};

class ChangedModuleTest : public testing::Test {
 protected:
  using Track = std::function<void(Loop& loop)>;

  LoopOptions options(RestoreOptions restore = {}) {
    return {.checkpoint = {.dir = directory_},
            .restore = std::move(restore),
            .summaries = {.every_steps = 0, .count_every_steps = 0},
            .files = &files_};
  }
  void save(
      const Track& track, const std::function<void()>& step = [] {}) {
    Loop loop(options());
    track(loop);
    loop.run([&](Step& each) {
      step();
      each.request_stop("one step");
    });
  }
  void restore(const Track& track, RestoreOptions how = {}) {
    Loop loop(options(std::move(how)));
    track(loop);
    ASSERT_EQ(loop.restore(), 1);
  }
  // Makes a step that depends on gradients, buffers, modes and the optimizer's state.
  static torch::Tensor step(NamedNet& net, torch::optim::Optimizer& optimizer) {
    torch::manual_seed(5);
    const torch::Tensor x = torch::rand({8, 4});
    const auto closure = [&] {
      const torch::Tensor loss = net.forward(x).square().mean();
      loss.backward();
      return loss;
    };
    optimizer.step(closure);
    return torch::nn::utils::parameters_to_vector(net.parameters()).detach().clone();
  }
  // The same, after which an optimizer changes a parameter whose gradient is zero.
  static void step_to_zero(NamedNet& net, torch::optim::Optimizer& optimizer) {
    step(net, optimizer);
    net.block->norm->weight.mutable_grad().zero_();
  }
  // In which everything differs from a new net.
  static void change(NamedNet& net) {
    net.block->norm->eval();
    net.block->fc->bias.set_requires_grad(false);
    net.block->drop->options.p(0.5);
    net.block->norm->running_mean.fill_(0.5);
  }
  static void expect_equal(NamedNet& net, NamedNet& saved) {
    const auto parameters = net.parameters(), others = saved.parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const std::string name = saved.named_parameters()[i].key();
      EXPECT_TRUE(parameters[i].equal(others[i])) << name;
      EXPECT_EQ(parameters[i].requires_grad(), others[i].requires_grad()) << name;
      ASSERT_EQ(parameters[i].grad().defined(), others[i].grad().defined()) << name;
      if (!others[i].grad().defined()) continue;
      EXPECT_TRUE(parameters[i].grad().equal(others[i].grad())) << name;
    }
    const auto buffers = net.buffers(), other_buffers = saved.buffers();
    for (size_t i = 0; i < buffers.size(); ++i) EXPECT_TRUE(buffers[i].equal(other_buffers[i]));
    const auto modules = net.modules(/*include_self=*/false);
    const auto other_modules = saved.modules(/*include_self=*/false);
    for (size_t i = 0; i < modules.size(); ++i)
      EXPECT_EQ(modules[i]->is_training(), other_modules[i]->is_training()) << i;
    EXPECT_EQ(net.block->drop->options.p(), saved.block->drop->options.p());
  }

  LogCapture log_;
  MemoryFileSystem files_;
  std::string directory_ = "run";
};

TEST_F(ChangedModuleTest, KeepsTheSizeOfAParameterThatTheTrainingResized) {
  const auto step = [](Points& own, torch::optim::Adam& optimizer) {
    own.positions.square().sum().backward();
    optimizer.step();
  };
  const auto track = [](Points& own, torch::optim::Adam& optimizer) {
    return [&](Loop& loop) {
      loop.track("points", own);
      loop.track("adam", optimizer);
    };
  };
  Points saved(2), resumed(2);
  torch::optim::Adam adam(saved.parameters(), 0.1), other(resumed.parameters(), 0.1);
  save(track(saved, adam), [&] {
    saved.positions.set_data(torch::rand({5, 3}));
    step(saved, adam);
  });
  restore(track(resumed, other));
  EXPECT_TRUE(log_.contains(
      "sizes of \"points/positions\" (shape [5,3], was [2,3]), which .restore = {.keep = "
      "{\"points/positions\"}} keeps"));
  // As the line advises.
  Points keeping(2);
  torch::optim::Adam third(keeping.parameters(), 0.1);
  restore(track(keeping, third), {.keep = {"points/positions"}});
  EXPECT_TRUE(keeping.positions.equal(torch::ones({2, 3})));
  EXPECT_FALSE(keeping.positions.grad().defined());
  EXPECT_TRUE(third.state().empty());
  step(keeping, third);
}

// What belongs to a value that stays is not restored in part: a moment that is undefined beside a
// number of steps is one with which the optimizer cannot compute.
TEST_F(ChangedModuleTest, StartsWithAParameterOfAnotherSize) {
  for (const bool zero_gradient : {false, true}) {
    directory_ = zero_gradient ? "zero" : "full";
    torch::nn::Linear saved(2, 1), wide(3, 1);
    torch::optim::Adam adam(saved->parameters(), 0.1), other(wide->parameters(), 0.1);
    const auto track = [](torch::nn::Linear& own, torch::optim::Adam& optimizer) {
      return [&](Loop& loop) { libtorch::track_all(loop, {.model = own, .optimizer = optimizer}); };
    };
    save(track(saved, adam), [&] {
      saved->forward(torch::ones({1, 2})).sum().backward();
      adam.step();
      if (zero_gradient) saved->weight.mutable_grad() = torch::zeros({1, 2});
    });
    EXPECT_THAT([&] { restore(track(wide, other)); },
                ThrowsMessage<Error>(HasSubstr(
                    "has \"model/weight\" as float32 [1,2], where this program has float32 [1,3]; "
                    "everything else matches. Start with .restore = {.allow_mismatched = "
                    "{\"model/weight\"}} to keep the initial value")));
    // As the error advises.
    restore(track(wide, other), {.allow_mismatched = {"model/weight"}});
    EXPECT_TRUE(wide->bias.equal(saved->bias));
    EXPECT_TRUE(wide->bias.grad().equal(saved->bias.grad()));
    EXPECT_FALSE(wide->weight.grad().defined());
    EXPECT_EQ(libtorch::internal::state_of(other, wide->weight), nullptr);
    wide->forward(torch::ones({1, 3})).sum().backward();
    other.step();
  }
}

TEST_F(ChangedModuleTest, ARenamedSubmoduleIsRestoredWithAllThatBelongsToIt) {
  for (const std::string& kind : all_optimizers()) {
    SCOPED_TRACE(kind);
    directory_ = kind;
    NamedNet saved("old"), net("young");
    const auto adam = make_optimizer(kind, saved.parameters());
    const auto other = make_optimizer(kind, net.parameters());
    change(saved);
    const auto track = [](NamedNet& own, torch::optim::Optimizer& optimizer) {
      return [&](Loop& loop) { libtorch::track_all(loop, {.model = own, .optimizer = optimizer}); };
    };
    save(track(saved, *adam), [&] { step_to_zero(saved, *adam); });
    const std::string advised = ".rename = {{\"model/young.*\", \"model/old.*\"}}";
    EXPECT_THAT([&] { restore(track(net, *other)); },
                ThrowsMessage<Error>(HasSubstr("Start with .restore = {" + advised +
                                               "} if \"model/young\" was renamed, or with ")));
    // As the error advises.
    restore(track(net, *other), {.rename = {{"model/young.*", "model/old.*"}}});
    expect_equal(net, saved);
    EXPECT_TRUE(step(net, *other).equal(step(saved, *adam)));
  }
}

TEST_F(ChangedModuleTest, ARenamedModuleIsRestoredWithAllThatBelongsToIt) {
  NamedNet saved("block"), net("block");
  torch::optim::Adam adam(saved.parameters(), 0.1), other(net.parameters(), 0.1);
  change(saved);
  const auto track = [](const char* name, NamedNet& own, torch::optim::Optimizer& optimizer) {
    return [&, name](Loop& loop) {
      loop.track(name, own);
      loop.track("optimizer", optimizer);
    };
  };
  save(track("net", saved, adam), [&] { step_to_zero(saved, adam); });
  EXPECT_THAT([&] { restore(track("model", net, other)); },
              ThrowsMessage<Error>(HasSubstr(
                  "Start with .restore = {.rename = {{\"model\", \"net\"}}} if \"model\" was "
                  "renamed, or with ")));
  // As the error advises.
  restore(track("model", net, other), {.rename = {{"model", "net"}}});
  expect_equal(net, saved);
  EXPECT_TRUE(step(net, other).equal(step(saved, adam)));
}

// The training adds a parameter group when it unfreezes the head.
TEST_F(ChangedModuleTest, AnAddedParameterGroupOfARenamedModuleIsRestored) {
  NamedNet saved("block"), net("block");
  torch::optim::Adam adam(saved.block->parameters(), 0.1), other(net.block->parameters(), 0.1);
  const auto track = [](const char* name, NamedNet& own, torch::optim::Optimizer& optimizer) {
    return [&, name](Loop& loop) {
      loop.track(name, own);
      loop.track("optimizer", optimizer);
    };
  };
  save(track("net", saved, adam), [&] {
    adam.add_param_group(torch::optim::OptimizerParamGroup(
        saved.head->parameters(), std::make_unique<torch::optim::AdamOptions>(0.5)));
    step_to_zero(saved, adam);
  });
  EXPECT_THAT([&] { restore(track("model", net, other)); },
              ThrowsMessage<Error>(HasSubstr(
                  "Start with .restore = {.rename = {{\"model\", \"net\"}}} if \"model\" was "
                  "renamed, or with ")));
  // As the error advises.
  restore(track("model", net, other), {.rename = {{"model", "net"}}});
  ASSERT_EQ(other.param_groups().size(), 2U);
  EXPECT_EQ(other.param_groups()[1].options().get_lr(), 0.5);
  expect_equal(net, saved);
  EXPECT_TRUE(step(net, other).equal(step(saved, adam)));
}

// Rules without a star, and a module that is renamed with its submodule.
TEST_F(ChangedModuleTest, WhatBelongsToAParameterFollowsAnyRenaming) {
  const auto track = [](const char* name, NamedNet& own) {
    return [&, name](Loop& loop) { loop.track(name, own); };
  };
  NamedNet saved("old");
  torch::optim::SGD sgd(saved.parameters(), 0.1);
  change(saved);
  save(track("net", saved), [&] { step_to_zero(saved, sgd); });
  {
    NamedNet net("young");
    restore(track("model", net), {.rename = {{"model/young.*", "net/old.*"}, {"model", "net"}}});
    expect_equal(net, saved);
  }
  RestoreOptions each;
  for (const char* name : {"fc.weight", "fc.bias", "norm.weight", "norm.bias", "norm.running_mean",
                           "norm.running_var", "norm.num_batches_tracked"})
    each.rename.push_back({std::string("net/young.") + name, std::string("net/old.") + name});
  NamedNet net("young");
  restore(track("net", net), each);
  EXPECT_TRUE(net.block->fc->weight.grad().equal(saved.block->fc->weight.grad()));
  EXPECT_TRUE(net.block->norm->weight.grad().equal(torch::zeros({4})));
  EXPECT_FALSE(net.block->fc->bias.requires_grad());
}

TEST_F(ChangedModuleTest, TwoModulesThatSwapTheirNamesAreRestored) {
  struct Pair : torch::nn::Module {
    Pair(const std::string& first_name, const std::string& second_name)
        : first(register_module(first_name, torch::nn::Linear(2, 2))),
          second(register_module(second_name, torch::nn::Linear(2, 2))) {}
    torch::nn::Linear first, second;
  } saved("a", "b"), net("b", "a");
  save(
      [&](Loop& loop) { loop.track("net", saved); },
      [&] {
        (saved.first(torch::ones({1, 2})) * 2 + saved.second(torch::ones({1, 2}))).sum().backward();
        saved.first->eval();
      });
  restore([&](Loop& loop) { loop.track("net", net); },
          {.rename = {{"net/a.*", "net/b.*"}, {"net/b.*", "net/a.*"}}});
  EXPECT_TRUE(net.first->weight.equal(saved.first->weight));
  EXPECT_TRUE(net.first->weight.grad().equal(saved.first->weight.grad()));
  EXPECT_TRUE(net.second->weight.grad().equal(saved.second->weight.grad()));
  EXPECT_FALSE(net.first->is_training());
  EXPECT_TRUE(net.second->is_training());
}

TEST_F(ChangedModuleTest, AParameterMayBeRenamedAndResized) {
  Points saved(2, "old"), net(2, "young");
  torch::optim::Adam adam(saved.parameters(), 0.1), other(net.parameters(), 0.1);
  const auto track = [](Points& own, torch::optim::Adam& optimizer) {
    return [&](Loop& loop) {
      loop.track("points", own);
      loop.track("adam", optimizer);
    };
  };
  save(track(saved, adam), [&] {
    saved.positions.set_data(torch::rand({5, 3}));
    saved.positions.square().sum().backward();
    adam.step();
  });
  restore(track(net, other), {.rename = {{"points/young", "points/old"}}});
  EXPECT_TRUE(net.positions.equal(saved.positions));
  EXPECT_TRUE(net.positions.grad().equal(saved.positions.grad()));
  EXPECT_NE(libtorch::internal::state_of(other, net.positions), nullptr);
}

TEST_F(ChangedModuleTest, AttributesOfARenamedScriptModuleFollow) {
  const auto make = [](const std::string& name) {
    torch::jit::Module part("Part");
    part.register_parameter("w", torch::ones({2}), /*is_buffer=*/false);
    part.register_attribute("scale", c10::FloatType::get(), 1.0);
    torch::jit::Module module("Whole");
    module.register_module(name, part);
    return module;
  };
  torch::jit::Module saved = make("old"), net = make("young");
  auto part = saved.attr("old").toModule();
  part.setattr("scale", 0.5);
  part.attr("w").toTensor().mutable_grad() = torch::full({2}, 3.0);
  save([&](Loop& loop) { loop.track("net", saved); });
  EXPECT_THAT([&] { restore([&](Loop& loop) { loop.track("net", net); }); },
              ThrowsMessage<Error>(HasSubstr("Start with .restore = {.rename = {{\"net/young.*\", "
                                             "\"net/old.*\"}}} if it was renamed, or with ")));
  restore([&](Loop& loop) { loop.track("net", net); }, {.rename = {{"net/young.*", "net/old.*"}}});
  EXPECT_EQ(net.attr("young").toModule().attr("scale").toDouble(), 0.5);
  EXPECT_TRUE(
      net.attr("young").toModule().attr("w").toTensor().grad().equal(torch::full({2}, 3.0)));
}

// A mode has no name in the checkpoint but in a list.
TEST_F(ChangedModuleTest, ModesStayWithTheParametersAndModulesThatAreKept) {
  NamedNet saved("block"), net("block");
  change(saved);
  saved.block->norm->weight.mutable_grad() = torch::zeros({4});
  save([&](Loop& loop) { loop.track("net", saved); });
  restore([&](Loop& loop) { loop.track("net", net); },
          {.keep = {"net/block.fc.bias", "net/block.norm.*"}});
  EXPECT_TRUE(net.block->fc->bias.requires_grad());
  EXPECT_TRUE(net.block->norm->is_training());
  EXPECT_FALSE(net.block->norm->weight.grad().defined());
  EXPECT_EQ(net.block->drop->options.p(), 0.5);
}

}  // namespace
}  // namespace crochet
