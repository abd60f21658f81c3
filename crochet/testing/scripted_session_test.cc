// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/scripted_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/session_contract.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

class ScriptedEngine final : public SessionContractEngine {
 public:
  ScriptedEngine() {
    graph_.value("probe", [this] { return probe(); });
    graph_.variable("matrix", matrix());
    graph_.variable("vector", vector());
  }
  Graph& graph() override { return graph_; }
  void extend(const std::string& name) override { graph_.variable(name, Tensor::scalar(0.0f)); }

 private:
  ScriptedGraph graph_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Scripted, SessionContract, ScriptedEngine);

TEST(ScriptedSessionTest, AdvancesTheStepByStepsPerRun) {
  ScriptedGraph graph({.global_step = 5, .steps_per_run = 10});
  const auto session = graph.new_session("");
  session->run(graph.train());
  EXPECT_EQ(read_global_step(*session), 15);
  EXPECT_EQ(read_global_step(*graph.new_session("")), 5);
}

TEST(ScriptedSessionTest, MayCountNoSteps) {
  ScriptedGraph graph({.counts_steps = false});
  graph.new_session("")->run(graph.train());
  EXPECT_FALSE(graph.global_step());
}

TEST(ScriptedSessionTest, ReturnsTheValuesOfAListAndThenRepeatsTheLast) {
  ScriptedGraph graph;
  const Output loss = graph.value("loss", {Tensor::scalar(3.0f), Tensor::scalar(2.0f)});
  const auto session = graph.new_session("");
  std::vector<float> seen;
  for (int i = 0; i < 3; ++i) seen.push_back(session->run(loss).scalar<float>());
  EXPECT_THAT(seen, ElementsAre(3, 2, 2));
}

TEST(ScriptedSessionTest, HasNoValuesUntilItIsInitialised) {
  ScriptedGraph graph({.global_step = 5, .starts_initialized = false});
  const auto session = graph.new_session("");
  EXPECT_THROW(session->run(graph.train()), FailedPreconditionError);
  EXPECT_THAT(
      [&] { read_global_step(*session); },
      ThrowsMessage<FailedPreconditionError>("Attempting to use uninitialized value global_step"));
  EXPECT_THROW(session->snapshot(graph.variables()), FailedPreconditionError);
  session->run(graph.default_init_op());
  session->run(graph.train());
  EXPECT_EQ(read_global_step(*session), 6);
}

TEST(ScriptedSessionTest, SavesNoLocalVariables) {
  ScriptedGraph graph;
  const Variable local = graph.local_variable("local", Tensor::scalar(2.0f));
  const auto session = graph.new_session("");
  EXPECT_EQ(graph.variables().size(), 1);  // The step.
  EXPECT_THROW(session->snapshot({{local}}), FailedPreconditionError);
  session->run(graph.default_local_init_op());
  EXPECT_EQ(session->snapshot({{local}}).tensors()[0].tensor, Tensor::scalar(2.0f));
}

TEST(ScriptedSessionTest, RequiresPlaceholdersToBeFed) {
  ScriptedGraph graph;
  const Output fed = graph.placeholder("fed");
  const auto session = graph.new_session("");
  EXPECT_THROW(session->run(fed), InvalidArgumentError);
  EXPECT_EQ(session->run(fed, {{fed, Tensor::scalar(1.0f)}}).scalar<float>(), 1);
}

TEST(ScriptedSessionTest, FailsTheGivenRuns) {
  ScriptedGraph graph;
  graph.fail_run(1, AbortedError("the worker is gone"));
  const auto session = graph.new_session("");
  session->run(graph.train());
  EXPECT_THAT([&] { session->run(graph.train()); },
              ThrowsMessage<AbortedError>("the worker is gone"));
  session->run(graph.train());
  EXPECT_EQ(read_global_step(*session), 2);
}

TEST(ScriptedSessionTest, FailsTheGivenSessions) {
  ScriptedGraph graph;
  graph.fail_session(0, UnavailableError("not yet"));
  EXPECT_THROW(graph.new_session(""), UnavailableError);
  EXPECT_EQ(graph.num_open_sessions(), 0);
  const auto session = graph.new_session("");
  EXPECT_EQ(graph.num_sessions(), 2);
  EXPECT_EQ(graph.num_open_sessions(), 1);
  session->close();
  EXPECT_EQ(graph.num_open_sessions(), 0);
}

TEST(ScriptedSessionTest, RecordsRuns) {
  ScriptedGraph graph;
  const Output loss = graph.value("loss", {Tensor::scalar(1.0f)});
  graph.new_session("")->run(graph.train());
  graph.new_session("")->run({loss, graph.train()}, {{loss, Tensor::scalar(2.0f)}});
  EXPECT_THAT(graph.runs(), ElementsAre(ScriptedRun{0, {"train"}, {}},
                                        ScriptedRun{1, {"loss:0", "train"}, {"loss:0"}}));
}

}  // namespace
}  // namespace crochet
