// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Averages of weights in a loop: they survive a restart, and to evaluate them changes nothing.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/guards/weight_averaging.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

struct Network {
  std::vector<std::vector<float>> layers = {std::vector<float>(100), std::vector<float>(7)};
  std::vector<double> bias = std::vector<double>(1000);
  float gain = 1;
  int64_t num_batches = 0;

  void step() {
    ++num_batches;
    for (auto& layer : layers)
      for (size_t i = 0; i < layer.size(); ++i)
        layer[i] += 0.01f * static_cast<float>((num_batches * 31 + static_cast<int64_t>(i)) % 17);
    for (double& each : bias) each = 0.9 * each + static_cast<double>(num_batches);
    gain *= 1.01f;
  }
  double sum() const {
    double sum = gain;
    for (const auto& layer : layers)
      for (const float each : layer) sum += each;
    for (const double each : bias) sum += each;
    return sum;
  }
  void track(Tracker& tracker) {
    tracker("layers", layers)("bias", bias)("gain", gain)("num_batches", num_batches);
  }
  friend bool operator==(const Network&, const Network&) = default;
};

class AveragedWeightsTest : public testing::Test {
 protected:
  struct Result {
    Network network = {};
    TensorMap averages = {};
    std::vector<double> evaluations = {};
    double at_end = 0;
  };

  Result train(const std::string& directory, int64_t last_step, bool evaluates = true) {
    Result result;
    Network& network = result.network;
    const auto averaging = std::make_shared<WeightAveraging>(
        WeightAveragingOptions{.values = {"network"}, .decay = 0.9});
    HookList hooks = {averaging, StopAtStepHook({.last_step = last_step})};
    if (evaluates)
      hooks.emplace_back(EvaluationHook({.every_n_steps = 5,
                                         .evaluate =
                                             [&] {
                                               result.evaluations.push_back(
                                                   averaging->with_averages([&] {
                                                     EXPECT_EQ(network.num_batches % 5, 0);
                                                     return network.sum();
                                                   }));
                                               return Metrics{{"sum", result.evaluations.back()}};
                                             },
                                         .clock = &clock_}));
    Loop loop({.checkpoint = {.dir = directory, .every_steps = 1, .saver = {.max_to_keep = 0}},
               .hooks = std::move(hooks),
               .debug = {.check_torn_snapshots = true},
               .files = &files_,
               .clock = &clock_});
    loop.track("network", network);
    loop.run([&] { network.step(); });
    result.averages = averaging->averages();
    result.at_end = averaging->with_averages([&] { return network.sum(); });
    return result;
  }

  FakeClock clock_;
  MemoryFileSystem files_{clock_};
};

TEST_F(AveragedWeightsTest, SurviveARestartToTheBit) {
  const Result straight = train("straight", 20);
  train("resumed", 10);
  const Result resumed = train("resumed", 20);
  EXPECT_EQ(resumed.averages, straight.averages);
  EXPECT_EQ(resumed.network, straight.network);
  EXPECT_EQ(resumed.at_end, straight.at_end);
  EXPECT_EQ(resumed.evaluations,
            std::vector<double>(straight.evaluations.begin() + 2, straight.evaluations.end()));
  EXPECT_EQ(straight.averages.size(), 4);
}

TEST_F(AveragedWeightsTest, ToEvaluateThemChangesNothing) {
  const Result evaluated = train("evaluated", 20);
  const Result trained = train("trained", 20, false);
  EXPECT_EQ(evaluated.network, trained.network);
  EXPECT_EQ(evaluated.averages, trained.averages);
  EXPECT_EQ(evaluated.evaluations.size(), 4);
  EXPECT_NE(evaluated.at_end, evaluated.network.sum());
  // Those of the last step were copied while the hook at the end evaluated.
  for (const int64_t step : {5, 19, 20}) {
    const CheckpointReader a("evaluated/model.ckpt-" + std::to_string(step), files_);
    const CheckpointReader b("trained/model.ckpt-" + std::to_string(step), files_);
    for (const char* const name : {"network/layers/0", "network/bias", "network/gain"})
      EXPECT_EQ(a.read(name), b.read(name)) << name << " " << step;
  }
}

TEST_F(AveragedWeightsTest, AreRefusedInAStepAndWithoutTheLoop) {
  const auto averaging =
      std::make_shared<WeightAveraging>(WeightAveragingOptions{.values = {"network"}});
  Network network;
  {
    Loop loop({.hooks = {averaging, StopAtStepHook({.last_step = 2})}});
    loop.track("network", network);
    loop.run([&] {
      network.step();
      EXPECT_THROW(averaging->with_averages([] {}), FailedPreconditionError);
    });
  }
  EXPECT_THAT([&] { averaging->with_averages([] {}); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("its Loop was destroyed")));
}

// The average of what changes its shape begins again.
TEST_F(AveragedWeightsTest, FollowContainersThatGrowAndShrink) {
  const auto averaging = std::make_shared<WeightAveraging>(
      WeightAveragingOptions{.values = {"network/layers"}, .decay = 0.5});
  Network network;
  Loop loop({.hooks = {averaging, StopAtStepHook({.last_step = 4})}});
  loop.track("network", network);
  std::vector<size_t> sizes;
  loop.run([&](Step& step) {
    if (step.number() == 2) network.layers.emplace_back(3, 2.0f);
    if (step.number() == 3) network.layers.erase(network.layers.begin());
    network.step();
    sizes.push_back(averaging->averages().size());
  });
  EXPECT_EQ(sizes, (std::vector<size_t>{2, 2, 3, 2}));
  const Network before = network;
  averaging->with_averages([&] { EXPECT_NE(network, before); });
  EXPECT_EQ(network, before);
}

}  // namespace
}  // namespace crochet
