// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/every.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::ThrowsMessage;

class EveryTest : public testing::Test {
 protected:
  ~EveryTest() override { set_pending_signal(0); }

  // Makes runs with this hook and ends cleanly.
  void train(ScriptedGraph& graph, HookHandle hook, int num_runs) {
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph), {std::move(hook)});
    for (int i = 0; i < num_runs; ++i) session.run(graph.train());
    session.close();
  }
  // The steps at which the hook is called in a graph with these options.
  std::vector<int64_t> steps(int64_t every_steps, int num_runs,
                             const ScriptedGraphOptions& options) {
    ScriptedGraph graph(options);
    std::vector<int64_t> steps;
    train(graph, every({.steps = every_steps}, {}, [&](int64_t step) { steps.push_back(step); }),
          num_runs);
    return steps;
  }

  ScriptedGraph graph_;
  const Output loss_ = graph_.value(
      "loss", {Tensor::scalar(0.5f), Tensor(), Tensor::scalar(0.25f), Tensor::scalar(0.125f)});
  const Output count_ = graph_.value("count", {Tensor::scalar(int64_t{7})});
  std::vector<std::pair<int64_t, float>> calls_;
};

TEST_F(EveryTest, CallsEveryNSteps) {
  graph_.value("step_twice", {Tensor::scalar(1.0f), Tensor::scalar(2.0f)});
  train(graph_,
        every({.steps = 10}, "step_twice",
              [this](int64_t step, float value) { calls_.emplace_back(step, value); }),
        25);
  EXPECT_THAT(calls_, ElementsAre(Pair(10, 1.0f), Pair(20, 2.0f)));
}

TEST_F(EveryTest, CallsAtMultiplesWhateverStepTheRunResumesFrom) {
  EXPECT_THAT(steps(10, 20, {.global_step = 5}), ElementsAre(10, 20));
  EXPECT_THAT(steps(10, 20, {.global_step = 10}), ElementsAre(20, 30));
  EXPECT_THAT(steps(1, 3, {}), ElementsAre(1, 2, 3));
}

TEST_F(EveryTest, AtCallsOnce) {
  const auto steps = [&](int64_t at_step, int num_runs, const ScriptedGraphOptions& options) {
    ScriptedGraph graph(options);
    std::vector<int64_t> steps;
    train(graph, at({.steps = at_step}, {}, [&](int64_t step) { steps.push_back(step); }),
          num_runs);
    return steps;
  };
  EXPECT_THAT(steps(10, 35, {}), ElementsAre(10));
  EXPECT_THAT(steps(10, 35, {.global_step = 9}), ElementsAre(10));
  EXPECT_THAT(steps(10, 35, {.global_step = 10}), IsEmpty());
  EXPECT_THAT(steps(10, 35, {.global_step = 13}), IsEmpty());
  EXPECT_THAT(steps(10, 20, {.steps_per_run = 4}), ElementsAre(12));
}

TEST_F(EveryTest, AtCallsOnceAfterSeconds) {
  FakeClock clock;
  std::vector<int64_t> steps;
  MonitoredSession session(
      std::make_unique<ChiefSessionCreator>(graph_),
      {at({.secs = 2.5, .clock = &clock}, {}, [&](int64_t step) { steps.push_back(step); })});
  for (int i = 0; i < 9; ++i) {
    clock.advance(std::chrono::seconds(1));
    session.run(graph_.train());
  }
  EXPECT_THAT(steps, ElementsAre(3));
}

TEST_F(EveryTest, LearnsHowManyStepsARunAdds) {
  EXPECT_THAT(steps(8, 8, {.steps_per_run = 4}), ElementsAre(12, 16, 24, 32));
  EXPECT_THAT(steps(100, 5, {.steps_per_run = 150}), ElementsAre(450, 600, 750));
}

TEST_F(EveryTest, DoesNotCallTwiceForAStep) {
  EXPECT_THAT(steps(1, 5, {.global_step = 5, .steps_per_run = 0}), IsEmpty());
}

TEST_F(EveryTest, CallsEveryNSeconds) {
  FakeClock clock;
  graph_.value("value", {Tensor::scalar(1.0f)});
  MonitoredSession session(
      std::make_unique<ChiefSessionCreator>(graph_),
      {every({.secs = 60, .clock = &clock}, "value",
             [this](int64_t step, float value) { calls_.emplace_back(step, value); })});
  for (int i = 0; i < 5; ++i) {
    clock.advance(std::chrono::seconds(30));
    session.run(graph_.train());
  }
  session.close();
  EXPECT_THAT(calls_, ElementsAre(Pair(2, 1.0f), Pair(4, 1.0f)));
}

TEST_F(EveryTest, ComputesOnlyWhatIsDue) {
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph_),
                           {every({.steps = 2}, "loss", [](int64_t, float) {})});
  const auto first = static_cast<size_t>(graph_.num_runs());
  session.run(graph_.train());
  session.run(graph_.train());
  session.close();
  EXPECT_THAT(graph_.runs()[first].fetches, ElementsAre("train", "global_step:0"));
  EXPECT_THAT(graph_.runs()[first + 1].fetches, ElementsAre("train", "loss:0", "global_step:0"));
}

TEST_F(EveryTest, SkipsUnsetValues) {
  train(graph_,
        every({.steps = 1}, "loss",
              [this](int64_t step, float loss) { calls_.emplace_back(step, loss); }),
        3);
  EXPECT_THAT(calls_, ElementsAre(Pair(1, 0.5f), Pair(3, 0.25f)));
}

TEST_F(EveryTest, ConvertsValuesToTheTypesOfTheParameters) {
  std::vector<std::string> calls;
  train(graph_,
        every({.steps = 1}, {"loss", count_},
              [&](int64_t step, std::optional<double> loss, const int& count) {
                calls.push_back(fmt::format("{} {} {}", step, loss.value_or(-1), count));
              }),
        2);
  EXPECT_THAT(calls, ElementsAre("1 0.5 7", "2 -1 7"));
}

TEST_F(EveryTest, RepeatsAStepThatARecoveryRepeats) {
  MonitoredSession session(
      std::make_unique<ChiefSessionCreator>(graph_),
      {every({.steps = 2}, count_, [this](int64_t step, float) { calls_.emplace_back(step, 0); })});
  for (int i = 0; i < 2; ++i) session.run(graph_.train());
  graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
  for (int i = 0; i < 2; ++i) session.run(graph_.train());
  session.close();
  EXPECT_THAT(calls_, ElementsAre(Pair(2, 0), Pair(2, 0)));
}

TEST_F(EveryTest, ThrowsForAValueTheFunctionCannotTake) {
  EXPECT_THROW(train(graph_, every({.steps = 1}, "loss", [](int64_t, int) {}), 1),
               InvalidArgumentError);
}

TEST_F(EveryTest, RejectsBadOptions) {
  const auto nothing = [](int64_t, float) {};
  EXPECT_THROW(every({}, "loss", nothing), InvalidArgumentError);
  EXPECT_THROW(every({.steps = 1, .secs = 1.0}, "loss", nothing), InvalidArgumentError);
  EXPECT_THROW(every({.steps = 0}, "loss", nothing), InvalidArgumentError);
  EXPECT_THAT(
      [&] {
        every({.steps = 1}, {"loss", "count"}, nothing);
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("takes 1 values was given 2")));
  EXPECT_THROW(every({.steps = 1}, "lost", nothing).begin(graph_), NotFoundError);
  ScriptedGraph stepless({.counts_steps = false});
  EXPECT_THROW(every({.steps = 1}, {}, [](int64_t) {}).begin(stepless), FailedPreconditionError);
}

TEST_F(EveryTest, CallsAtTheEnd) {
  std::vector<std::string> calls;
  train(graph_,
        at_end(
            {loss_, "count"},
            [&](float loss, int64_t count) { calls.push_back(fmt::format("{} {}", loss, count)); }),
        3);
  EXPECT_THAT(calls, ElementsAre("0.5 7"));
}

TEST_F(EveryTest, CallsNothingAtTheEndAfterASignal) {
  int num_calls = 0;
  set_pending_signal(15);
  train(graph_, at_end("loss", [&](float) { ++num_calls; }), 1);
  EXPECT_EQ(num_calls, 0);
}

TEST_F(EveryTest, AtEndChecksItsNamesAndNumbers) {
  EXPECT_THROW(at_end("lost", [](float) {}).begin(graph_), NotFoundError);
  EXPECT_THROW(at_end("train", [](float) {}).begin(graph_), InvalidArgumentError);
  EXPECT_THROW(at_end("loss", [] {}), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
