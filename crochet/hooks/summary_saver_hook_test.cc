// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/summary_saver_hook.h"

#include <cmath>
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
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class SummarySaverHookTest : public testing::Test {
 protected:
  SummarySaverHookTest() {
    graph_.value("loss", [this] { return Tensor::scalar(static_cast<float>(++num_losses_)); });
    graph_.value("rate", {Tensor::scalar(0.5f)});
  }

  SummarySaverHookOptions steps(int64_t save_steps, Fetches summary_op) {
    return {.save_steps = save_steps, .summary_writer = writer_, .summary_op = summary_op};
  }
  void train(SummarySaverHookOptions options, int num_runs, double secs = 0) {
    options.clock = &clock_;
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph_),
                             {SummarySaverHook(options)});
    for (int i = 0; i < num_runs; ++i) {
      clock_.advance(from_seconds(secs));
      session.run(graph_.train());
    }
    session.close();
  }
  std::vector<Event> events() {
    std::vector<Event> events;
    for (const std::string& path : event_files(files_, "runs"))
      for (Event& event : read_event_file(files_, path)) events.push_back(std::move(event));
    return events;
  }
  // The curve of a tag: values by step.
  std::map<int64_t, float> curve(const std::string& tag) {
    std::map<int64_t, float> curve;
    for (const Event& event : events())
      for (const SummaryValue& value : event.values)
        if (value.tag == tag) curve[event.step] = value.simple_value;
    return curve;
  }

  MemoryFileSystem files_;
  FakeClock clock_;
  std::shared_ptr<SummaryWriter> writer_ = std::make_shared<SummaryWriter>("runs", files_, clock_);
  ScriptedGraph graph_;
  int num_losses_ = 0;
};

// BH-46, BH-47: exactly one of scaffold and summary_op, and exactly one interval.
TEST_F(SummarySaverHookTest, RejectsConflictingOptions) {
  const auto scaffold = std::make_shared<Scaffold>();
  EXPECT_THROW(SummarySaverHook({.save_steps = 1}), InvalidArgumentError);
  EXPECT_THROW(SummarySaverHook({.save_steps = 1, .scaffold = scaffold, .summary_op = "loss"}),
               InvalidArgumentError);
  EXPECT_THROW(SummarySaverHook({.summary_op = "loss"}), InvalidArgumentError);
  EXPECT_THROW(SummarySaverHook({.save_steps = 1, .save_secs = 1.0, .summary_op = "loss"}),
               InvalidArgumentError);
}

// BH-50: every 8 of 30 runs; the summary is computed only then.
TEST_F(SummarySaverHookTest, SavesEveryNSteps) {
  train(steps(8, "loss"), 30);
  EXPECT_THAT(curve("loss"), ElementsAre(Pair(1, 1), Pair(9, 2), Pair(17, 3), Pair(25, 4)));
  EXPECT_EQ(num_losses_, 4);
}

// BH-51: several summaries.
TEST_F(SummarySaverHookTest, SavesSeveralSummaries) {
  train(steps(8, Fetches::List{"loss", "rate"}), 10);
  EXPECT_THAT(curve("loss"), ElementsAre(Pair(1, 1), Pair(9, 2)));
  EXPECT_THAT(curve("rate"), ElementsAre(Pair(1, 0.5f), Pair(9, 0.5f)));
}

// BH-53: every 9 s, 3.1 s a run.
TEST_F(SummarySaverHookTest, SavesEveryNSeconds) {
  train({.save_secs = 9.0, .summary_writer = writer_, .summary_op = "loss"}, 8, 3.1);
  EXPECT_THAT(curve("loss"), ElementsAre(Pair(1, 1), Pair(4, 2), Pair(7, 3)));
}

TEST_F(SummarySaverHookTest, UsesTheTagsOfAMap) {
  train(steps(1, Fetches::Map{{"train/loss", "loss"}}), 1);
  EXPECT_THAT(curve("train/loss"), ElementsAre(Pair(1, 1)));
}

TEST_F(SummarySaverHookTest, WritesTheScaffoldsSummaries) {
  graph_.add_to_collection(kSummariesCollection, graph_.output("rate"));
  const auto scaffold = std::make_shared<Scaffold>();
  MonitoredSession session(
      std::make_unique<ChiefSessionCreator>(graph_,
                                            ChiefSessionCreatorOptions{.scaffold = scaffold}),
      {SummarySaverHook({.save_steps = 1, .summary_writer = writer_, .scaffold = scaffold})});
  session.run(graph_.train());
  session.close();
  EXPECT_THAT(curve("rate"), ElementsAre(Pair(1, 0.5f)));
}

TEST_F(SummarySaverHookTest, AcceptsNoSummaries) {
  const auto scaffold = std::make_shared<Scaffold>();
  MonitoredSession session(
      std::make_unique<ChiefSessionCreator>(graph_,
                                            ChiefSessionCreatorOptions{.scaffold = scaffold}),
      {SummarySaverHook({.save_steps = 1, .summary_writer = writer_, .scaffold = scaffold})});
  session.run(graph_.train());
  session.close();
  for (const Event& event : events()) EXPECT_THAT(event.values, IsEmpty());
}

TEST_F(SummarySaverHookTest, OmitsUnsetValues) {
  graph_.value("accuracy", {Tensor(), Tensor::scalar(0.75f)});
  train(steps(1, Fetches::List{"accuracy", "loss"}), 2);
  EXPECT_THAT(curve("accuracy"), ElementsAre(Pair(2, 0.75f)));
  EXPECT_THAT(curve("loss"), ElementsAre(Pair(1, 1), Pair(2, 2)));
}

TEST_F(SummarySaverHookTest, AnOutputsCollectionDecidesTheKindOfSummary) {
  const auto weights = Tensor::from<float>({-1, 2}, Shape{1, 2});
  graph_.add_to_collection(kHistogramSummariesCollection, graph_.value("weights", {weights}));
  const Tensor text = Tensor::scalar(std::string("once upon a time"));
  graph_.add_to_collection(kTextSummariesCollection, graph_.value("sample", {text}));
  train(steps(1, Fetches::List{"sample", "loss", Fetches::Map{{"w", "weights"}}}), 1);
  EXPECT_THAT(events().back().values,
              ElementsAre(SummaryValue{.tag = "sample", .text = text},
                          SummaryValue{.tag = "loss", .simple_value = 1},
                          SummaryValue{.tag = "w", .histogram = make_histogram(weights)}));
}

TEST_F(SummarySaverHookTest, WritesAllKindsOfTheScaffoldsSummaries) {
  const auto weights = Tensor::from<float>({-1, 2});
  graph_.add_to_collection(kSummariesCollection, graph_.output("rate"));
  graph_.add_to_collection(kHistogramSummariesCollection, graph_.value("weights", {weights}));
  graph_.add_to_collection(kTextSummariesCollection, graph_.value("sample", {Tensor::from({"a"})}));
  const auto scaffold = std::make_shared<Scaffold>();
  scaffold->finalize(graph_);
  train({.save_steps = 1, .summary_writer = writer_, .scaffold = scaffold}, 1);
  EXPECT_THAT(events().back().values,
              ElementsAre(SummaryValue{.tag = "rate", .simple_value = 0.5},
                          SummaryValue{.tag = "sample", .text = Tensor::from({"a"})},
                          SummaryValue{.tag = "weights", .histogram = make_histogram(weights)}));
}

TEST_F(SummarySaverHookTest, WritesTheSummariesOfTensorFlowsOperations) {
  const std::vector<SummaryValue> values = {{.tag = "a", .simple_value = 1},
                                            {.tag = "b", .simple_value = 2}};
  graph_.value("merged", {Tensor::scalar(encode_summary(values))});
  train(steps(1, Fetches::List{"merged", "loss"}), 1);
  EXPECT_THAT(curve("a"), ElementsAre(Pair(1, 1)));
  EXPECT_THAT(curve("b"), ElementsAre(Pair(1, 2)));
  EXPECT_THAT(curve("loss"), ElementsAre(Pair(1, 1)));
}

TEST_F(SummarySaverHookTest, RejectsValuesOfAnotherKind) {
  graph_.value("words", {Tensor::scalar(std::string("no message"))});
  EXPECT_THAT([&] { train(steps(1, "words"), 1); },
              testing::ThrowsMessage<InvalidArgumentError>(testing::HasSubstr("text_summaries")));
  graph_.unfinalize();
  graph_.add_to_collection(kTextSummariesCollection, graph_.output("rate"));
  EXPECT_THAT([&] { train(steps(1, "rate"), 1); },
              testing::ThrowsMessage<InvalidArgumentError>(testing::HasSubstr("\"rate\"")));
}

TEST_F(SummarySaverHookTest, WarnsOnceAboutNumbersThatAreNotFinite) {
  const LogCapture log;
  graph_.add_to_collection(kHistogramSummariesCollection,
                           graph_.value("weights", {Tensor::from<float>({1, NAN, INFINITY})}));
  train(steps(1, "weights"), 3);
  EXPECT_THAT(
      log.lines(Severity::kWarning),
      ElementsAre("the histogram \"weights\" of step 1 leaves out 2 of 3 elements, which are "
                  "not finite"));
}

// Unlike TensorFlow, which writes nothing until the lost steps are repeated.
TEST_F(SummarySaverHookTest, ARecoveredSessionRevokesTheLostSteps) {
  SummarySaverHookOptions options = steps(2, "loss");
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph_),
                           {SummarySaverHook(options)});
  for (int i = 0; i < 4; ++i) session.run(graph_.train());
  graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
  session.run(graph_.train());  // Step 1 again, as there is no checkpoint.
  session.close();
  std::vector<std::string> diary;
  for (const Event& event : events()) {
    if (event.session_log) diary.push_back(fmt::format("start {}", event.step));
    if (!event.values.empty()) diary.push_back(fmt::format("loss {}", event.step));
  }
  EXPECT_THAT(diary, ElementsAre("start 0", "loss 1", "loss 3", "start 1", "loss 1"));
}

TEST_F(SummarySaverHookTest, RecordsTheStartOnce) {
  train(steps(1, "loss"), 3);
  int starts = 0;
  for (const Event& event : events())
    starts += event.session_log && event.session_log->status == SessionLog::kStart;
  EXPECT_EQ(starts, 1);
}

TEST_F(SummarySaverHookTest, WritesNothingWithoutAWriter) {
  train({.save_steps = 1, .summary_op = "loss"}, 3);
  EXPECT_THAT(events(), IsEmpty());
}

TEST_F(SummarySaverHookTest, LooksItsNamesUpBeforeTraining) {
  SummarySaverHook hook(steps(1, "lost"));
  EXPECT_THROW(hook.begin(graph_), NotFoundError);
  ScriptedGraph stepless({.counts_steps = false});
  EXPECT_THROW(hook.begin(stepless), FailedPreconditionError);
}

}  // namespace
}  // namespace crochet
