// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/step_counter_hook.h"

#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

class StepCounterHookTest : public testing::Test {
 protected:
  // Makes runs with a hook, each of which takes `secs`. Returns the rates by step.
  std::map<int64_t, float> rates(StepCounterHookOptions options, int num_runs, double secs = 0.5,
                                 const ScriptedGraphOptions& graph_options = {}) {
    ScriptedGraph graph(graph_options);
    options.summary_writer = writer_;
    options.clock = &clock_;
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                             {StepCounterHook(options)});
    for (int i = 0; i < num_runs; ++i) {
      clock_.advance(from_seconds(secs));
      session.run(graph.train());
    }
    session.close();
    std::map<int64_t, float> rates;
    for (const std::string& path : event_files(files_, "runs"))
      for (const Event& event : read_event_file(files_, path))
        for (const SummaryValue& value : event.values) {
          EXPECT_EQ(value.tag, "global_step/sec");
          rates[event.step] = value.simple_value;
        }
    return rates;
  }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_;
  std::shared_ptr<SummaryWriter> writer_ = std::make_shared<SummaryWriter>("runs", files_, clock_);
};

TEST_F(StepCounterHookTest, RejectsTwoIntervals) {
  EXPECT_THROW(StepCounterHook({.every_n_steps = 1, .every_n_secs = 1.0}), InvalidArgumentError);
  EXPECT_THROW(StepCounterHook({.every_n_steps = 0}), InvalidArgumentError);
  EXPECT_NO_THROW(StepCounterHook());
}

// BH-39: every 10 of 30 runs: at steps 11 and 21, no warning.
TEST_F(StepCounterHookTest, CountsEveryNSteps) {
  EXPECT_THAT(rates({.every_n_steps = 10}, 30), ElementsAre(Pair(11, 2.0f), Pair(21, 2.0f)));
  EXPECT_THAT(log_.lines(Severity::kWarning), SizeIs(0));
}

TEST_F(StepCounterHookTest, CountsEveryHundredStepsByDefault) {
  EXPECT_THAT(rates({}, 201), ElementsAre(Pair(101, 2.0f), Pair(201, 2.0f)));
}

// BH-40: every 0.1 s, 0.2 s a run.
TEST_F(StepCounterHookTest, CountsEveryNSeconds) {
  EXPECT_THAT(rates({.every_n_secs = 0.1}, 3, 0.2),
              ElementsAre(Pair(2, testing::FloatEq(5)), Pair(3, testing::FloatEq(5))));
}

// BH-43: N = 10, 5 steps a run.
TEST_F(StepCounterHookTest, CountsRunsOfFewerStepsThanItsInterval) {
  EXPECT_THAT(rates({.every_n_steps = 10, .steps_per_run = 5}, 5, 0.5, {.steps_per_run = 5}),
              ElementsAre(Pair(15, 10.0f), Pair(25, 10.0f)));
}

// BH-44: N = 5, 5 steps a run.
TEST_F(StepCounterHookTest, CountsRunsOfExactlyItsInterval) {
  EXPECT_THAT(rates({.every_n_steps = 5, .steps_per_run = 5}, 5, 0.5, {.steps_per_run = 5}),
              ElementsAre(Pair(10, 10.0f), Pair(15, 10.0f), Pair(20, 10.0f), Pair(25, 10.0f)));
}

// BH-45: N = 5, 10 steps a run.
TEST_F(StepCounterHookTest, CountsRunsOfMoreStepsThanItsInterval) {
  EXPECT_THAT(rates({.every_n_steps = 5, .steps_per_run = 10}, 5, 0.5, {.steps_per_run = 10}),
              ElementsAre(Pair(20, 20.0f), Pair(30, 20.0f), Pair(40, 20.0f), Pair(50, 20.0f)));
}

// BH-42: a step that does not advance: a warning, at most five times.
TEST_F(StepCounterHookTest, WarnsIfTheStepDoesNotAdvance) {
  rates({.every_n_steps = 1}, 2, 0.5, {.steps_per_run = 0});
  EXPECT_THAT(log_.lines(Severity::kWarning),
              ElementsAre(testing::ContainsRegex("global step.*has not been increased")));
  log_.clear();
  rates({.every_n_steps = 1}, 20, 0.5, {.steps_per_run = 0});
  EXPECT_THAT(log_.lines(Severity::kWarning), SizeIs(5));
}

TEST_F(StepCounterHookTest, ReportsNoRateIfNoTimePassed) {
  EXPECT_THAT(rates({.every_n_steps = 1}, 5, 0.0), SizeIs(0));
}

TEST_F(StepCounterHookTest, DoesNotMistakeARecoveryForAStuckStep) {
  ScriptedGraph graph;
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                           {StepCounterHook({.every_n_steps = 1, .clock = &clock_})});
  session.run(graph.train());  // From step 0.
  graph.fail_run(graph.num_runs(), AbortedError("the worker is gone"));
  session.run(graph.train());  // From step 0 again, in the second session.
  EXPECT_FALSE(log_.contains("has not been increased"));
  session.close();
}

TEST_F(StepCounterHookTest, WritesIntoADirectory) {
  const TempDirectory directory;
  ScriptedGraph graph;
  MonitoredSession session(
      std::make_unique<ChiefSessionCreator>(graph),
      {StepCounterHook({.every_n_steps = 1, .output_dir = directory.path(), .clock = &clock_})});
  session.run(graph.train());
  clock_.advance(std::chrono::seconds(1));
  session.run(graph.train());
  session.close();
  EXPECT_THAT(event_files(FileSystem::posix(), directory.path()), SizeIs(1));
}

TEST_F(StepCounterHookTest, LogsItsRate) {
  rates({.every_n_steps = 10}, 11);
  EXPECT_THAT(log_.lines(Severity::kInfo), ElementsAre("global_step/sec: 2"));
}

TEST_F(StepCounterHookTest, LogsNoMoreOftenThanMinLogSecs) {
  ScriptedGraph graph;
  MonitoredSession session(
      std::make_unique<ChiefSessionCreator>(graph),
      {StepCounterHook({.every_n_steps = 1, .min_log_secs = 1, .clock = &clock_})});
  for (int i = 0; i < 9; ++i) {
    session.run(graph.train());
    clock_.advance(std::chrono::milliseconds(250));
  }
  session.close();
  EXPECT_THAT(log_.lines(Severity::kInfo), ElementsAre("global_step/sec: 4", "global_step/sec: 4"));
}

TEST_F(StepCounterHookTest, LogsItsRateWithoutAWriter) {
  ScriptedGraph graph;
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                           {StepCounterHook({.every_n_steps = 1, .clock = &clock_})});
  session.run(graph.train());
  clock_.advance(std::chrono::milliseconds(250));
  session.run(graph.train());
  session.close();
  EXPECT_TRUE(log_.contains("global_step/sec: 4"));
}

// BH-41: the tag comes from the step's full name.
TEST_F(StepCounterHookTest, NamesTheCurveAfterTheStep) {
  ScriptedGraph graph({.global_step_name = "bar/foo"});
  MonitoredSession session(
      std::make_unique<ChiefSessionCreator>(graph),
      {StepCounterHook({.every_n_steps = 1, .summary_writer = writer_, .clock = &clock_})});
  for (int i = 0; i < 2; ++i) {
    clock_.advance(std::chrono::milliseconds(500));
    session.run(graph.train());
  }
  session.close();
  std::vector<std::string> points;
  for (const std::string& path : event_files(files_, "runs"))
    for (const Event& event : read_event_file(files_, path))
      for (const SummaryValue& value : event.values)
        points.push_back(fmt::format("{} {} {}", event.step, value.tag, value.simple_value));
  EXPECT_THAT(points, ElementsAre("2 bar/foo/sec 2"));
}

// The clock restarts with the session: lost steps count in no rate.
TEST_F(StepCounterHookTest, ContinuesCountingAfterARecovery) {
  ScriptedGraph graph;
  MonitoredSession session(
      std::make_unique<ChiefSessionCreator>(graph),
      {StepCounterHook({.every_n_steps = 2, .summary_writer = writer_, .clock = &clock_})});
  const auto run = [&](int times) {
    for (int i = 0; i < times; ++i) {
      clock_.advance(std::chrono::milliseconds(500));
      session.run(graph.train());
    }
  };
  run(9);
  graph.fail_run(graph.num_runs(), AbortedError("the worker is gone"));
  run(3);  // From step 0 again.
  session.close();
  const std::string path = event_files(files_, "runs").at(0);
  std::vector<int64_t> steps;
  for (const Event& event : read_event_file(files_, path))
    if (!event.values.empty()) steps.push_back(event.step);
  EXPECT_THAT(steps, ElementsAre(3, 5, 7, 9, 3));
}

TEST_F(StepCounterHookTest, RejectsANegativeMinLogSecs) {
  EXPECT_THROW(StepCounterHook({.min_log_secs = -1}), InvalidArgumentError);
}

TEST_F(StepCounterHookTest, NeedsAGlobalStep) {
  ScriptedGraph graph({.counts_steps = false});
  StepCounterHook hook;
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

}  // namespace
}  // namespace crochet
