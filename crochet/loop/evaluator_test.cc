// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/evaluator.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/loop/loop.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::ThrowsMessage;

class EvaluatorTest : public testing::Test {
 protected:
  EvaluatorOptions options() {
    return {.checkpoint_dir = "run",
            .checkpoints = {.timeout_secs = 0.0, .files = &files_, .clock = &clock_}};
  }
  // A job that saves every step; its model counts, and it tracks more than the evaluator does.
  void train_to(int64_t last_step, const std::function<void(int64_t)>& at_step = {}) {
    int64_t count = 0;
    std::vector<float> optimizer(10);
    Loop loop({.checkpoint = {.dir = "run", .every_steps = 1, .saver = {.max_to_keep = 2}},
               .summaries = {.every_steps = 0, .count_every_steps = 0},
               .hooks = {StopAtStepHook({.last_step = last_step})},
               .files = &files_,
               .clock = &clock_});
    loop.track("model/count", count);
    loop.track("optimizer", optimizer);
    loop.run([&] {
      if (at_step) at_step(count);
      ++count;
    });
  }
  EvaluationReport evaluate(const EvaluatorOptions& evaluator_options) {
    int64_t count = -1;
    Evaluator evaluator(evaluator_options);
    evaluator.track("model/count", count);
    return evaluator.run([&] { return Metrics{{"count", static_cast<double>(count)}}; });
  }
  std::map<int64_t, double> curve() {
    std::map<int64_t, double> curve;
    for (const auto& [step, metrics] : read_eval_metrics(files_, "run/eval"))
      curve[step] = metrics.at("count");
    return curve;
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
};

TEST_F(EvaluatorTest, EvaluatesTheNewestCheckpoint) {
  train_to(3);
  const EvaluationReport report = evaluate(options());
  EXPECT_EQ(report.num_evaluations, 1);
  EXPECT_EQ(report.last_step, 3);
  EXPECT_THAT(report.metrics, ElementsAre(Pair("count", 3)));
  EXPECT_THAT(curve(), ElementsAre(Pair(3, 3)));
  EXPECT_TRUE(log_.contains("evaluation of step 3: count = 3"));
}

// The two take turns: the evaluator polls after each step of the job, and does not take its lock.
TEST_F(EvaluatorTest, FollowsARunningJob) {
  int64_t count = -1;
  EvaluatorOptions one_look = options();
  Evaluator evaluator(one_look);
  evaluator.track("model/count", count);
  std::vector<std::string> found;
  train_to(4, [&](int64_t step) {
    // The job saves in the background.
    wait_until("the checkpoint",
               [&] { return checkpoint_exists(files_, fmt::format("run/model.ckpt-{}", step)); });
    const EvaluationReport report = evaluator.run([&] {
      return Metrics{{"count", static_cast<double>(count)}};
    });
    found.push_back(fmt::format("{}: {}", *report.last_step, report.metrics.at("count")));
  });
  EXPECT_THAT(found, ElementsAre("0: 0", "1: 1", "2: 2", "3: 3"));
}

// The evaluator runs in its own thread until the job's last step is evaluated.
TEST_F(EvaluatorTest, EndsWithTheLastStepOfTheJob) {
  EvaluationReport report;
  {
    const std::jthread thread([&] {
      EvaluatorOptions to_the_end = options();
      to_the_end.checkpoints.timeout_secs.reset();
      to_the_end.checkpoints.final_step = 50;
      report = evaluate(to_the_end);
    });
    train_to(50);
  }
  EXPECT_EQ(report.last_step, 50);
  for (const auto& [step, count] : curve()) EXPECT_EQ(step, count);
  EXPECT_EQ(curve().rbegin()->first, 50);
}

TEST_F(EvaluatorTest, EvaluatesAllThatTheJobKeepsIfItIsAsked) {
  train_to(3);
  EvaluatorOptions all = options();
  all.checkpoints.all_checkpoints = true;
  EXPECT_EQ(evaluate(all).num_evaluations, 2);
  EXPECT_THAT(curve(), ElementsAre(Pair(2, 2), Pair(3, 3)));
}

// Beside those that it has evaluated itself.
TEST_F(EvaluatorTest, LeavesOutWhatTheProgramHasHandled) {
  train_to(3);
  EvaluatorOptions all = options();
  all.checkpoints.all_checkpoints = true;
  all.checkpoints.is_done = [](const std::string& prefix) { return prefix.ends_with("-2"); };
  EXPECT_EQ(evaluate(all).num_evaluations, 1);
  EXPECT_THAT(curve(), ElementsAre(Pair(3, 3)));
  EXPECT_EQ(evaluate(all).num_evaluations, 0);
}

TEST_F(EvaluatorTest, EvaluatesTheBest) {
  double loss = 0;
  Loop loop({.checkpoint = {.dir = "run",
                            .basename = "other",
                            .every_steps = 1,
                            .saver = {.keep_best = KeepBest{"loss", 1}}},
             .hooks = {StopAtStepHook({.last_step = 4})},
             .files = &files_,
             .clock = &clock_});
  loop.track("loss", loss);
  loop.scalar("loss", [&] { return loss; });
  loop.run([&](Step& step) { loss = step.number() == 2 ? 0.25 : 1; });
  EvaluatorOptions best = options();
  best.checkpoints.checkpoint_basename = "other";
  best.checkpoints.which = CheckpointChoice::best("loss");
  double found = 0;
  Evaluator evaluator(best);
  evaluator.track("loss", found);
  const EvaluationReport report = evaluator.run([&] { return Metrics{{"found", found}}; });
  EXPECT_EQ(report.last_step, 2);
  EXPECT_THAT(report.metrics, ElementsAre(Pair("found", 0.25)));
}

TEST_F(EvaluatorTest, SaysNothingOfThePartThatItDoesNotRestore) {
  train_to(3);
  log_.clear();
  evaluate(options());
  EXPECT_FALSE(log_.contains("surplus"));
}

TEST_F(EvaluatorTest, ChangesNothingInTheDirectoryOfTheJob) {
  train_to(3);
  const auto before = files_.list("run");
  EvaluatorOptions elsewhere = options();
  elsewhere.eval_dir = "elsewhere";
  evaluate(elsewhere);
  EXPECT_EQ(files_.list("run"), before);
  EXPECT_THAT(read_eval_metrics(files_, "elsewhere"), ElementsAre(Pair(3, Metrics{{"count", 3}})));
}

TEST_F(EvaluatorTest, SkipsADamagedCheckpoint) {
  train_to(3);
  files_.truncate("run/model.ckpt-3.data-00000-of-00001", 1);
  const EvaluationReport report = evaluate(options());
  EXPECT_EQ(report.num_evaluations, 0);
  EXPECT_TRUE(log_.contains("checkpoint run/model.ckpt-3 cannot be evaluated"));
  EXPECT_TRUE(files_.exists("run/model.ckpt-3.index"));
  EXPECT_THAT(curve(), IsEmpty());
}

TEST_F(EvaluatorTest, SkipsACheckpointThatTheJobRemoves) {
  train_to(3);
  files_.remove("run/model.ckpt-3.data-00000-of-00001");
  EXPECT_EQ(evaluate(options()).num_evaluations, 0);
}

TEST_F(EvaluatorTest, SkipsACheckpointThatIsRemovedBeforeItIsRead) {
  class Remover final : public SessionRunHook {
   public:
    explicit Remover(FileSystem& files) : files_(files) {}
    void begin(Graph&) override { remove_checkpoint(files_, "run/model.ckpt-3"); }

   private:
    FileSystem& files_;
  };
  train_to(3);
  local::Graph graph;
  graph.create_global_step();
  evaluate_repeatedly({.graph = graph,
                       .evaluation = {.checkpoint_dir = "run",
                                      .checkpoints = {.files = &files_, .clock = &clock_},
                                      .max_number_of_evaluations = 1},
                       .hooks = {Remover(files_)}},
                      [](MonitoredSession& session) {
                        return Metrics{{"step", static_cast<double>(*session.first_step())}};
                      });
  EXPECT_TRUE(log_.contains("checkpoint run/model.ckpt-3 cannot be evaluated"));
  EXPECT_TRUE(log_.contains("evaluation of step 2"));
}

TEST_F(EvaluatorTest, RevokesMetricsOfStepsThatTheJobLost) {
  train_to(5);
  evaluate(options());
  for (const int64_t step : {4, 5})
    remove_checkpoint(files_, fmt::format("run/model.ckpt-{}", step));
  files_.remove("run/checkpoint");
  clock_.advance(std::chrono::seconds(1));
  train_to(2);
  evaluate(options());
  EXPECT_THAT(curve(), ElementsAre(Pair(2, 2)));
}

TEST_F(EvaluatorTest, ARestartLeavesOutWhatItHasEvaluated) {
  train_to(5, [&](int64_t) { clock_.advance(std::chrono::seconds(1)); });
  EvaluatorOptions all = options();
  all.checkpoints.all_checkpoints = true;
  all.max_number_of_evaluations = 1;
  EXPECT_EQ(evaluate(all).last_step, 4);
  all.max_number_of_evaluations.reset();
  EXPECT_EQ(evaluate(all).num_evaluations, 1);
  const std::string lines = read_file(files_, "run/eval/metrics.jsonl");
  const EvaluationReport third = evaluate(all);
  EXPECT_EQ(third.num_evaluations, 0);
  EXPECT_EQ(third.last_step, 5);
  EXPECT_THAT(third.metrics, ElementsAre(Pair("count", 5)));
  EXPECT_TRUE(
      log_.contains("not evaluated again: run/eval has what an earlier evaluator measured "
                    "(count); to evaluate it for other metrics, use another eval_dir"));
  all.eval_dir = "run/eval-2";  // As the log advises.
  EXPECT_EQ(evaluate(all).num_evaluations, 2);
  EXPECT_EQ(read_file(files_, "run/eval/metrics.jsonl"), lines);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 2);
  EXPECT_THAT(curve(), ElementsAre(Pair(4, 4), Pair(5, 5)));
}

TEST_F(EvaluatorTest, KeepsThePointsOfCheckpointsThatRetentionHasRemoved) {
  const auto tick = [&](int64_t) { clock_.advance(std::chrono::seconds(1)); };
  train_to(3, tick);
  set_pinned(files_, "run/model.ckpt-2", true);
  EvaluatorOptions all = options();
  all.checkpoints.all_checkpoints = true;
  evaluate(all);
  train_to(9, tick);  // Keeps 2, 8 and 9.
  evaluate(options());
  evaluate(all);
  EXPECT_THAT(curve(), ElementsAre(Pair(2, 2), Pair(3, 3), Pair(8, 8), Pair(9, 9)));
}

TEST_F(EvaluatorTest, KeepsThePointsOfAnotherEvaluatorThatUsedItsDirectory) {
  train_to(3);
  evaluate(options());
  int64_t count = -1;
  Evaluator other(options());
  other.track("model/count", count);
  other.run([&] { return Metrics{{"twice", 2.0 * static_cast<double>(count)}}; });
  EXPECT_THAT(read_eval_metrics(files_, "run/eval"),
              ElementsAre(Pair(3, Metrics{{"count", 3}, {"twice", 6}})));
}

TEST_F(EvaluatorTest, EvaluatesACheckpointThatWasReplaced) {
  train_to(3);
  EvaluatorOptions all = options();
  all.checkpoints.all_checkpoints = true;
  evaluate(all);
  for (const int64_t step : {2, 3})
    remove_checkpoint(files_, fmt::format("run/model.ckpt-{}", step));
  files_.remove("run/checkpoint");
  clock_.advance(std::chrono::seconds(1));
  train_to(3);
  EXPECT_EQ(evaluate(all).num_evaluations, 2);
  EXPECT_THAT(curve(), ElementsAre(Pair(2, 2), Pair(3, 3)));
}

TEST_F(EvaluatorTest, RefusesADirectoryWithTheCurvesOfAnotherProgram) {
  SummaryWriter("run", files_, clock_).add_scalar("loss", 0.5, 1);
  EvaluatorOptions same = options();
  same.eval_dir = "run";
  EXPECT_THAT([&] { evaluate(same); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("such as run/eval")));
  train_to(1);
  same.eval_dir = "run/eval";  // As the message advises.
  EXPECT_EQ(evaluate(same).num_evaluations, 1);
}

TEST_F(EvaluatorTest, RefusesADirectoryThatAnotherEvaluatorUsesNow) {
  train_to(1);
  const internal::DirectoryLock other(files_, "run/eval");
  EXPECT_THAT([&] { evaluate(options()); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("such as run/eval-2")));
  EvaluatorOptions elsewhere = options();
  elsewhere.eval_dir = "run/eval-2";
  EXPECT_EQ(evaluate(elsewhere).num_evaluations, 1);
}

TEST_F(EvaluatorTest, EndsAfterNEvaluations) {
  train_to(1);
  EvaluatorOptions once = options();
  once.checkpoints.timeout_secs.reset();
  once.max_number_of_evaluations = 1;
  EXPECT_EQ(evaluate(once).num_evaluations, 1);
}

TEST_F(EvaluatorTest, ListsNamesMissingFromTheCheckpoints) {
  train_to(1);
  float other = 0;
  Evaluator evaluator(options());
  evaluator.track("model/other", other);
  EXPECT_THAT([&] { evaluator.run([] { return Metrics(); }); },
              ThrowsMessage<Error>(HasSubstr("model/other")));
}

TEST_F(EvaluatorTest, AnExceptionOfTheEvaluationEndsIt) {
  train_to(1);
  Evaluator evaluator(options());
  EXPECT_THROW(evaluator.run([]() -> Metrics { throw InternalError("a bug"); }), InternalError);
  EXPECT_THAT([&] { evaluator.run([]() -> Metrics { throw OutOfRangeError("no more"); }); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("no more")));
  EXPECT_THROW(evaluator.run({}), InvalidArgumentError);
  EXPECT_THROW(Evaluator({}).run([] { return Metrics(); }), InvalidArgumentError);
}

TEST_F(EvaluatorTest, GivesGraphsASessionWithHooks) {
  train_to(2);
  class Counter : public SessionRunHook {
   public:
    void begin(Graph&) override { ++begun; }
    void end(Session&) override { ++ended; }
    int begun = 0, ended = 0;
  };
  const auto counter = std::make_shared<Counter>();
  local::Graph graph;
  graph.create_global_step();
  const EvaluationReport report = evaluate_repeatedly(
      {.graph = graph, .evaluation = options(), .hooks = {counter}}, [](MonitoredSession& session) {
        return Metrics{{"step", session.run("global_step").tensor().to_double()}};
      });
  EXPECT_THAT(report.metrics, ElementsAre(Pair("step", 2)));
  EXPECT_EQ(counter->begun, 1);
  EXPECT_EQ(counter->ended, 1);
}

}  // namespace
}  // namespace crochet
