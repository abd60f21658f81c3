// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/stop_at_step_hook.h"

#include <cstring>
#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// The step at which a session with this hook stops.
int64_t train_to_the_end(ScriptedGraph& graph, HookHandle hook) {
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph), {std::move(hook)});
  while (!session.should_stop()) session.run(graph.train());
  session.close();
  EXPECT_EQ(session.stop_request()->who, "StopAtStepHook");
  return *session.current_step();
}

// BH-6: exactly one of num_steps and last_step.
TEST(StopAtStepHookTest, RequiresExactlyOneTarget) {
  EXPECT_THROW(StopAtStepHook({.num_steps = 10, .last_step = 20}), InvalidArgumentError);
  EXPECT_THROW(StopAtStepHook({}), InvalidArgumentError);
  EXPECT_THROW(StopAtStepHook({.num_steps = -1}), InvalidArgumentError);
  EXPECT_THROW(StopAtStepHook({.last_step = -1}), InvalidArgumentError);
}

// BH-8, MS-58: num_steps counts from the step found at session creation.
TEST(StopAtStepHookTest, CountsFromTheStepOfTheFirstSession) {
  ScriptedGraph graph({.global_step = 5});
  EXPECT_EQ(train_to_the_end(graph, StopAtStepHook({.num_steps = 10})), 15);
}

// MS-57: last_step is absolute, also if another process reached it.
TEST(StopAtStepHookTest, StopsAtTheLastStep) {
  ScriptedGraph graph({.global_step = 3});
  EXPECT_EQ(train_to_the_end(graph, StopAtStepHook({.last_step = 5})), 5);
}

TEST(StopAtStepHookTest, MakesNoStepIfTheTargetIsAlreadyReached) {
  ScriptedGraph graph({.global_step = 5});
  EXPECT_EQ(train_to_the_end(graph, StopAtStepHook({.last_step = 5})), 5);
  EXPECT_EQ(train_to_the_end(graph, StopAtStepHook({.last_step = 4})), 5);
  EXPECT_EQ(train_to_the_end(graph, StopAtStepHook({.num_steps = 0})), 5);
}

// A target in the middle of a run is noticed after that run; in the first run, after the next.
TEST(StopAtStepHookTest, NoticesTheTargetInRunsOfManySteps) {
  ScriptedGraph graph({.steps_per_run = 4});
  EXPECT_EQ(train_to_the_end(graph, StopAtStepHook({.last_step = 9})), 12);
  EXPECT_EQ(train_to_the_end(graph, StopAtStepHook({.last_step = 8})), 8);
  EXPECT_EQ(train_to_the_end(graph, StopAtStepHook({.last_step = 3})), 8);
  EXPECT_EQ(train_to_the_end(graph, StopAtStepHook({.last_step = 20})), 20);
}

// The other workers: during this worker's n-th run, counted from 0, they make steps[n] steps, or
// none.
class OtherWorkers final : public SessionRunHook {
 public:
  explicit OtherWorkers(std::map<int64_t, int64_t> steps) : steps_(std::move(steps)) {}

  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    const auto found = steps_.find(run_++);
    if (found == steps_.end()) return;
    Session& session = context.session();
    const int64_t step = read_global_step(session) + found->second;
    session.assign(std::vector{Assignment{
        .variable = session.graph().variables().at(0), .shape = {}, .fill = [step](auto bytes) {
          std::memcpy(bytes.data(), &step, sizeof(step));
        }}});
  }

 private:
  const std::map<int64_t, int64_t> steps_;
  int64_t run_ = 0;
};

// How a worker with this target stops among others.
struct End {
  int64_t step = 0;
  int64_t num_own = 0;    // Runs of its own.
  int64_t num_reads = 0;  // Of the step, by the hook.
};

End train_beside(std::map<int64_t, int64_t> others, int64_t last_step,
                 const std::string& target = "grpc://10.0.0.1:2222") {
  ScriptedGraph graph;
  MonitoredSession session(
      std::make_unique<ChiefSessionCreator>(graph, ChiefSessionCreatorOptions{.master = target}),
      {std::make_shared<OtherWorkers>(others), StopAtStepHook({.last_step = last_step})});
  const int64_t before = graph.num_runs();
  End end;
  for (; !session.should_stop(); ++end.num_own) session.run(graph.train());
  const auto reads_of_others = static_cast<int64_t>(others.size());
  end.num_reads = graph.num_runs() - before - end.num_own - reads_of_others;
  end.step = *session.current_step();
  session.close();
  return end;
}

// Whatever steps the others make meanwhile, no run begins past the last step.
TEST(StopAtStepHookTest, BeginsNoRunOnceOthersReachedTheLastStep) {
  EXPECT_EQ(train_beside({{0, 50}}, 20).step, 51);          // In its first run.
  EXPECT_EQ(train_beside({{500, 1000}}, 1200).step, 1501);  // It stalled, for the first time.
  EXPECT_EQ(train_beside({{10, 1500}, {2000, 5600}}, 9000).step, 9101);  // As it did before.
}

// Far from the last step, reading the step would only cost time.
TEST(StopAtStepHookTest, ReadsTheStepOnlyNearTheLastOne) {
  EXPECT_EQ(train_beside({}, 1500).num_reads, 1001);  // The first one, and the last thousand.
  EXPECT_EQ(train_beside({{0, 400}}, 2500).num_reads, 1 + 4 * 401);
}

// In a session of this process nobody else trains, except threads that use the same session.
TEST(StopAtStepHookTest, ReadsTheStepOnceInThisProcess) {
  EXPECT_EQ(train_beside({}, 1500, "").num_reads, 1);
  EXPECT_EQ(train_beside({{0, 400}, {1, 1099}}, 1500, "").step, 1501);
}

// Reading the step is a run of its own.
TEST(StopAtStepHookTest, ReadsTheStepOnceIfNobodyElseTrains) {
  ScriptedGraph graph;
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                           {StopAtStepHook({.last_step = 20})});
  const auto before = graph.num_runs();
  while (!session.should_stop()) session.run(graph.train());
  EXPECT_EQ(graph.num_runs() - before, 21);
  session.close();
}

TEST(StopAtStepHookTest, DoesNotStopBeforeTheTarget) {
  ScriptedGraph graph({.steps_per_run = 0});
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                           {StopAtStepHook({.last_step = 1})});
  for (int i = 0; i < 5; ++i) session.run(graph.train());
  EXPECT_FALSE(session.should_stop());
  session.close();
}

TEST(StopAtStepHookTest, KeepsItsTargetAcrossARecovery) {
  ScriptedGraph graph;
  const auto hook = std::make_shared<StopAtStepHook>(StopAtStepHookOptions{.num_steps = 2});
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph), {hook});
  session.run(graph.train());
  graph.fail_run(graph.num_runs(), AbortedError("the worker is gone"));
  session.run(graph.train());
  EXPECT_FALSE(session.should_stop());  // It is at step 1 again.
  EXPECT_EQ(hook->last_step(), 2);
  session.close();
}

TEST(StopAtStepHookTest, NeedsAGlobalStep) {
  ScriptedGraph graph({.counts_steps = false});
  StopAtStepHook hook({.num_steps = 10});
  EXPECT_THAT([&] { hook.begin(graph); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("StopAtStepHook")));
}

TEST(StopAtStepHookTest, AcceptsTheLargestNumberOfSteps) {
  ScriptedGraph graph({.global_step = 5});
  const auto hook = std::make_shared<StopAtStepHook>(
      StopAtStepHookOptions{.num_steps = std::numeric_limits<int64_t>::max()});
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph), {hook});
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(hook->last_step(), std::numeric_limits<int64_t>::max());
  session.close();
}

}  // namespace
}  // namespace crochet
