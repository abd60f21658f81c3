// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/weight_averaging.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::ThrowsMessage;

// A program whose weight is the number of completed steps.
class WeightAveragingTest : public testing::Test {
 protected:
  WeightAveragingTest() {
    graph_.variable("model/weight", Tensor::scalar(0.0));
    graph_.variable("model/half", Tensor::scalar(Half(0.0f)));
    graph_.variable("model/count", Tensor::scalar(int64_t{0}));
    graph_.variable("other", Tensor::scalar(5.0f));
  }

  std::shared_ptr<WeightAveraging> make(WeightAveragingOptions options) {
    averaging_ = std::make_shared<WeightAveraging>(std::move(options));
    return averaging_;
  }
  void start(HookList more_hooks = {}) {
    HookList hooks = {averaging_};
    hooks.insert(hooks.end(), more_hooks.begin(), more_hooks.end());
    session_ = std::make_unique<MonitoredSession>(std::make_unique<ChiefSessionCreator>(graph_),
                                                  std::move(hooks));
  }
  void make_steps(int64_t n) {
    for (int64_t i = 0; i < n; ++i)
      session_->run_step_fn([&](StepContext& context) {
        const auto weight = static_cast<double>(++num_steps_);
        context.session().assign_variable("model/weight", Tensor::scalar(weight));
        context.session().assign_variable("model/half",
                                          Tensor::scalar(Half(static_cast<float>(weight))));
        context.run_with_hooks(graph_.train());
      });
  }
  Tensor read(const std::string& name) {
    Tensor value;
    session_->run_step_fn(
        [&](StepContext& context) { value = context.session().read_variable(name); });
    return value;
  }
  double average() const { return averaging_->averages().at("model/weight").scalar<double>(); }

  ScriptedGraph graph_;
  std::shared_ptr<WeightAveraging> averaging_;
  std::unique_ptr<MonitoredSession> session_;
  int64_t num_steps_ = 0;
};

TEST_F(WeightAveragingTest, MovesTowardsTheValueAfterEachStep) {
  make({.values = {"model"}, .decay = 0.75});
  start();
  EXPECT_EQ(average(), 0);
  make_steps(3);
  double expected = 0;
  for (const double weight : {1.0, 2.0, 3.0}) expected += 0.25 * (weight - expected);
  EXPECT_EQ(average(), expected);
  EXPECT_EQ(averaging_->num_updates(), 3);
}

TEST_F(WeightAveragingTest, TakesFloatingPointValuesWithTheseNames) {
  make({.values = {"model"}});
  start();
  EXPECT_THAT(averaging_->averages(), ElementsAre(Pair("model/half", Tensor::scalar(0.0f)),
                                                  Pair("model/weight", Tensor::scalar(0.0))));
}

TEST_F(WeightAveragingTest, EveryNSteps) {
  make({.values = {"model"}, .decay = 0.5, .every_n_steps = 2});
  start();
  make_steps(5);
  EXPECT_EQ(average(), 0.5 * 0.5 * 2 + 0.5 * 4);
  EXPECT_EQ(averaging_->num_updates(), 2);
}

// As ExponentialMovingAverage(decay, num_updates) in Python.
TEST_F(WeightAveragingTest, ForgetsTheFirstValuesSooner) {
  make({.values = {"model"}, .decay = 0.2, .warm_up = true});
  start();
  make_steps(3);
  double expected = 0;
  expected += (1 - 1.0 / 10) * (1 - expected);
  expected += (1 - 2.0 / 11) * (2 - expected);
  expected += (1 - 0.2) * (3 - expected);
  EXPECT_DOUBLE_EQ(average(), expected);
}

// At this decay, an average of halves would never move.
TEST_F(WeightAveragingTest, AveragesOfHalvesAreFloats) {
  make({.values = {"model/half"}, .decay = 0.9999});
  start();
  make_steps(3);
  EXPECT_NEAR(averaging_->averages().at("model/half").scalar<float>(), 6e-4, 1e-6);
}

TEST_F(WeightAveragingTest, PutsTheAveragesInPlaceForACall) {
  make({.values = {"model"}, .decay = 0.5});
  start();
  make_steps(2);
  EXPECT_EQ(averaging_->with_averages([&] {
    EXPECT_EQ(read("model/weight").scalar<double>(), 1.25);
    EXPECT_EQ(read("model/half"), Tensor::scalar(Half(1.25f)));
    EXPECT_EQ(read("other").scalar<float>(), 5);
    return 7;
  }),
            7);
  EXPECT_EQ(read("model/weight").scalar<double>(), 2);
  EXPECT_EQ(read("model/half"), Tensor::scalar(Half(2.0f)));
}

TEST_F(WeightAveragingTest, PutsTheValuesBackAfterAnError) {
  make({.values = {"model"}, .decay = 0.5});
  start();
  make_steps(1);
  EXPECT_THROW(averaging_->with_averages([] { throw std::out_of_range("no batch"); }),
               std::out_of_range);
  EXPECT_EQ(read("model/weight").scalar<double>(), 1);
  EXPECT_EQ(averaging_->with_averages([] { return 1; }), 1);
}

TEST_F(WeightAveragingTest, IsRefusedWithinItselfBeforeAndAfterTheRun) {
  make({.values = {"model"}});
  EXPECT_THAT([&] { averaging_->with_averages([] {}); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("before the run")));
  start();
  make_steps(1);
  EXPECT_THAT([&] { averaging_->with_averages([&] { averaging_->with_averages([] {}); }); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("within itself")));
}

TEST_F(WeightAveragingTest, OfAnEngineWhoseSessionIsClosedIsRefusedAfterTheRun) {
  ScriptedGraph graph({.starts_initialized = false});
  const Variable weight = graph.variable("weight", Tensor::scalar(1.0));
  const auto scaffold = std::make_shared<Scaffold>();
  scaffold->init_op =
      Output(graph.initializer("init", {weight, graph.variable_named("global_step")}));
  make({.values = {"weight"}});
  class EndHook final : public SessionRunHook {
   public:
    explicit EndHook(WeightAveraging& averaging) : averaging_(averaging) {}
    void end(Session& session) override {
      EXPECT_EQ(averaging_.with_averages(
                    session, [&] { return session.read_variable("weight").scalar<double>(); }),
                1);
    }

   private:
    WeightAveraging& averaging_;
  };
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(
                               graph, ChiefSessionCreatorOptions{.scaffold = scaffold}),
                           {averaging_, EndHook(*averaging_)});
  session.run(graph.train());
  session.close();
  EXPECT_THAT(
      [&] { averaging_->with_averages([] {}); },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("at the end of the run or after it")));
}

TEST_F(WeightAveragingTest, IsItsOwnState) {
  make({.values = {"model"}, .decay = 0.5});
  start();
  make_steps(2);
  const SaveableMap state = averaging_->saveables();
  const TensorMap averages = state.at("averages")->save();
  const TensorMap count = state.at("num_updates")->save();
  make_steps(2);
  // What was saved is not written to.
  EXPECT_EQ(averages.at("model/weight").scalar<double>(), 1.25);
  state.at("averages")->restore(averages);
  state.at("num_updates")->restore(count);
  EXPECT_EQ(average(), 1.25);
  EXPECT_EQ(averaging_->num_updates(), 2);
  EXPECT_THROW(state.at("averages")->restore({{"model/weight", Tensor::scalar(int64_t{1})}}),
               InvalidArgumentError);
}

TEST_F(WeightAveragingTest, ARecoveryWithoutACheckpointBeginsAgain) {
  make({.values = {"model"}, .decay = 0.5});
  start();
  make_steps(2);
  EXPECT_EQ(averaging_->num_updates(), 2);
  graph_.fail_run(graph_.num_runs(), AbortedError("lost"));
  num_steps_ = 0;
  make_steps(1);
  EXPECT_EQ(averaging_->num_updates(), 1);
  EXPECT_EQ(average(), 1);  // From the initial value, 0, half the way to 2.
}

TEST_F(WeightAveragingTest, RefusesOptions) {
  const auto refuses = [&](WeightAveragingOptions options, const char* text) {
    EXPECT_THAT([&] { make(options); }, ThrowsMessage<InvalidArgumentError>(HasSubstr(text)));
  };
  refuses({}, "values is not set");
  refuses({.values = {"a"}, .decay = 1}, "decay is 1");
  refuses({.values = {"a"}, .decay = -0.1}, "decay is -0.1");
  refuses({.values = {"a"}, .every_n_steps = 0}, "every_n_steps");
}

TEST_F(WeightAveragingTest, RefusesNamesOfNothing) {
  make({.values = {"modle/*", "model/count"}});
  EXPECT_THAT([&] { start(); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "no floating-point value of the program matches modle/*, model/count")));
}

TEST_F(WeightAveragingTest, RefusesWhatRanksHaveInParts) {
  graph_.variable("model/part", Tensor::zeros<float>({2}));
  internal::RankLayout::of(graph_)->set_rank(0, 2);
  shard_variable(graph_, graph_.variable_named("model/part"), {.full_shape = {4}, .offset = {0}});
  make({.values = {"model"}});
  EXPECT_THAT([&] { start(); }, ThrowsMessage<InvalidArgumentError>(
                                    HasSubstr("\"model/part\" is not the same in all ranks")));
}

}  // namespace
}  // namespace crochet
