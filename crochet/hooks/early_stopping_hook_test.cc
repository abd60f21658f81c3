// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/early_stopping_hook.h"

#include <cmath>

#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

const double kNan = std::nan("");
constexpr EarlyStoppingOptions kEachStep{.run_every_steps = 1};

// A graph whose metric takes these values in turn, then stays at the last one.
std::unique_ptr<ScriptedGraph> graph_of(const std::vector<double>& values,
                                        const ScriptedGraphOptions& options = {}) {
  auto graph = std::make_unique<ScriptedGraph>(options);
  std::vector<Tensor> tensors;
  for (const double value : values) tensors.push_back(Tensor::scalar(value));
  graph->value("metric", tensors);
  return graph;
}

// The step at which this hook stops; -1 if it does not within 50 steps.
int64_t stops_at(EarlyStoppingHook hook, const std::vector<double>& values) {
  const auto graph = graph_of(values);
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(*graph), {std::move(hook)});
  for (int i = 0; i < 50 && !session.should_stop(); ++i) session.run(graph->train());
  const int64_t step = session.should_stop() ? *session.current_step() : -1;
  session.close();
  return step;
}

TEST(EarlyStoppingHookTest, StopsIfTheMetricDoesNotDecrease) {
  const std::vector<double> values = {5, 4, 4, 3, 3.5, 3, 9};
  EXPECT_EQ(stops_at(stop_if_no_decrease_hook("metric", 3, kEachStep), values), 7);
  EXPECT_EQ(stops_at(stop_if_no_decrease_hook("metric", 1, kEachStep), values), 3);
}

TEST(EarlyStoppingHookTest, StopsIfTheMetricDoesNotIncrease) {
  const std::vector<double> values = {0.1, 0.5, 0.4, 0.6, 0.6, 0.6};
  EXPECT_EQ(stops_at(stop_if_no_increase_hook("metric", 2, kEachStep), values), 6);
  EXPECT_EQ(stops_at(stop_if_no_increase_hook("metric", 1, kEachStep), values), 3);
}

TEST(EarlyStoppingHookTest, StopsBeyondAThreshold) {
  EXPECT_EQ(stops_at(stop_if_higher_hook("metric", 0.9, kEachStep), {0.5, 0.9, 0.91}), 3);
  EXPECT_EQ(stops_at(stop_if_lower_hook("metric", 0.1, kEachStep), {0.5, 0.1, 0.2, 0.05}), 4);
  EXPECT_EQ(stops_at(stop_if_higher_hook("metric", 0.9, kEachStep), {0.9}), -1);
  EXPECT_EQ(stops_at(stop_if_lower_hook("metric", 0.1, kEachStep), {0.1}), -1);
}

TEST(EarlyStoppingHookTest, IgnoresTheMetricBeforeMinSteps) {
  const EarlyStoppingOptions from_10{.min_steps = 10, .run_every_steps = 1};
  EXPECT_EQ(stops_at(stop_if_higher_hook("metric", 0, from_10), {1}), 10);
  // The first value that counts is that of step 10.
  EXPECT_EQ(stops_at(stop_if_no_decrease_hook("metric", 5, from_10), {0, 1}), 15);
}

TEST(EarlyStoppingHookTest, ChecksEveryNSteps) {
  EXPECT_EQ(stops_at(stop_if_higher_hook("metric", 0, {.run_every_steps = 20}), {0, 1}), 40);
  EXPECT_EQ(stops_at(stop_if_no_decrease_hook("metric", 15, {.run_every_steps = 10}), {1}), 30);
  EXPECT_EQ(stops_at(stop_if_higher_hook("metric", 0), {1}), -1);  // First at step 100.
}

TEST(EarlyStoppingHookTest, NanIsNotAnImprovement) {
  const auto patient = [] { return stop_if_no_decrease_hook("metric", 3, kEachStep); };
  EXPECT_EQ(stops_at(patient(), {1, kNan}), 4);
  EXPECT_EQ(stops_at(patient(), {kNan}), 4);
  EXPECT_EQ(stops_at(patient(), {kNan, kNan, 2}), 6);
  EXPECT_EQ(stops_at(stop_if_higher_hook("metric", 0, kEachStep), {kNan}), -1);
}

TEST(EarlyStoppingHookTest, IgnoresUnsetValues) {
  ScriptedGraph graph;
  graph.value("metric", {Tensor(), Tensor::scalar(2.0f), Tensor()});
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                           {stop_if_no_decrease_hook("metric", 2, kEachStep)});
  for (int i = 0; i < 10; ++i) session.run(graph.train());
  EXPECT_FALSE(session.should_stop());
  session.close();
}

TEST(EarlyStoppingHookTest, ReportsWhyItStops) {
  const auto reason = [](EarlyStoppingHook hook) {
    const auto graph = graph_of({0.5});
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(*graph), {std::move(hook)});
    while (!session.should_stop()) session.run(graph->train());
    session.close();
    EXPECT_EQ(session.stop_request()->who, "EarlyStoppingHook");
    return session.stop_request()->reason;
  };
  EXPECT_EQ(reason(stop_if_no_increase_hook("metric", 2, kEachStep)),
            "no increase of metric since step 1, where it was 0.5");
  EXPECT_EQ(reason(stop_if_lower_hook("metric", 0.75, kEachStep)),
            "metric is 0.5, lower than 0.75");
}

TEST(EarlyStoppingHookTest, KeepsItsPatienceAcrossARestart) {
  MemoryFileSystem files;
  const auto scaffold = std::make_shared<Scaffold>();
  scaffold->saver = std::make_shared<Saver>(SaverOptions{.files = &files});
  // Makes three runs of a session that resumes from the checkpoint; saves at the end.
  const auto train = [&](const std::shared_ptr<EarlyStoppingHook>& hook,
                         const std::vector<double>& values) {
    const auto graph = graph_of(values);
    MonitoredSession session(
        std::make_unique<ChiefSessionCreator>(
            *graph, ChiefSessionCreatorOptions{.scaffold = scaffold, .checkpoint_dir = "d"}),
        {hook});
    for (int i = 0; i < 3 && !session.should_stop(); ++i) session.run(graph->train());
    const bool stopped = session.should_stop();
    const auto copy = graph->new_session("");
    while (read_global_step(*copy) < *session.current_step()) copy->run(graph->train());
    scaffold->saver->save(*copy, "d/model.ckpt", *session.current_step());
    session.close();
    return stopped;
  };
  const auto first =
      std::make_shared<EarlyStoppingHook>(stop_if_no_decrease_hook("metric", 4, kEachStep));
  EXPECT_FALSE(train(first, {3, 1, 2}));
  const auto second =
      std::make_shared<EarlyStoppingHook>(stop_if_no_decrease_hook("metric", 4, kEachStep));
  EXPECT_TRUE(train(second, {2}));  // At step 6: 4 steps after the best.
  EXPECT_EQ(second->best(), 1);
  EXPECT_EQ(second->best_step(), 2);
}

TEST(EarlyStoppingHookTest, HasTheStateThatShowsWhetherTheRunIsFinished) {
  EXPECT_EQ(stop_if_no_increase_hook("metric", 1).saveables().size(), 4);
  EXPECT_EQ(stop_if_higher_hook("metric", 1).saveables().size(), 2);
}

TEST(EarlyStoppingHookTest, RejectsBadOptions) {
  EXPECT_THROW(stop_if_no_decrease_hook("metric", 0), InvalidArgumentError);
  EXPECT_THROW(stop_if_no_increase_hook("metric", -1), InvalidArgumentError);
  EXPECT_THROW(stop_if_higher_hook("metric", kNan), InvalidArgumentError);
  EXPECT_THROW(stop_if_lower_hook("metric", 0, {.min_steps = -1}), InvalidArgumentError);
  EXPECT_THROW(stop_if_lower_hook("metric", 0, {.run_every_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(stop_if_lower_hook(Fetches(), 0), InvalidArgumentError);
  ScriptedGraph graph;
  EXPECT_THROW(stop_if_lower_hook("lost", 0).begin(graph), NotFoundError);
  EXPECT_THROW(stop_if_lower_hook("train", 0).begin(graph), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
