// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/evaluation_hook.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/hooks/early_stopping_hook.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::ThrowsMessage;

class EvaluationHookTest : public testing::Test {
 protected:
  ~EvaluationHookTest() override { set_pending_signal(0); }

  // Evaluations find a "loss" of 10, 20, 30, ...
  EvaluationHookOptions every_steps(int64_t steps) {
    return {.every_n_steps = steps,
            .evaluate =
                [this] {
                  return Metrics{{"loss", 10.0 * ++num_evaluations_}};
                },
            .output_dir = "runs",
            .files = &files_,
            .clock = &clock_};
  }
  MonitoredSession session(HookList hooks) {
    return MonitoredSession(std::make_unique<ChiefSessionCreator>(graph_), std::move(hooks));
  }
  void run(MonitoredSession& session, int times) {
    for (int i = 0; i < times && !session.should_stop(); ++i) {
      clock_.advance(std::chrono::seconds(1));
      session.run(graph_.train());
    }
  }
  std::map<int64_t, double> curve() {
    std::map<int64_t, double> curve;
    for (const auto& [step, metrics] : read_eval_metrics(files_, "runs"))
      curve[step] = metrics.at("eval/loss");
    return curve;
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  ScriptedGraph graph_;
  int num_evaluations_ = 0;
};

TEST_F(EvaluationHookTest, EvaluatesEveryNStepsAndAtTheEnd) {
  MonitoredSession session = this->session({EvaluationHook(every_steps(3))});
  run(session, 7);
  EXPECT_THAT(curve(), ElementsAre(Pair(3, 10), Pair(6, 20)));
  session.close();
  EXPECT_THAT(curve(), ElementsAre(Pair(3, 10), Pair(6, 20), Pair(7, 30)));
  EXPECT_TRUE(log_.contains("evaluation of step 7: loss = 30"));
}

TEST_F(EvaluationHookTest, DoesNotEvaluateTheLastStepTwice) {
  MonitoredSession session = this->session({EvaluationHook(every_steps(3))});
  run(session, 6);
  session.close();
  EXPECT_EQ(num_evaluations_, 2);
}

TEST_F(EvaluationHookTest, EvaluatesEveryNSeconds) {
  EvaluationHookOptions options = every_steps(1);
  options.every_n_steps.reset();
  options.every_n_secs = 2.5;
  options.at_end = false;
  MonitoredSession session = this->session({EvaluationHook(options)});
  run(session, 7);
  session.close();
  EXPECT_THAT(curve(), ElementsAre(Pair(3, 10), Pair(6, 20)));
}

TEST_F(EvaluationHookTest, EvaluatesAtTheStartIfAsked) {
  EvaluationHookOptions options = every_steps(3);
  options.at_start = true;
  MonitoredSession session = this->session({EvaluationHook(options)});
  EXPECT_THAT(curve(), IsEmpty());  // A run that is finished is not evaluated.
  run(session, 3);
  session.close();
  EXPECT_THAT(curve(), ElementsAre(Pair(0, 10), Pair(3, 20)));
}

TEST_F(EvaluationHookTest, GivesTheEvaluationTheSession) {
  graph_.value("accuracy", {Tensor::scalar(0.75)});
  const auto hook = std::make_shared<EvaluationHook>(EvaluationHookOptions{
      .every_n_steps = 1, .evaluate = [](Session& session) {
        return Metrics{{"accuracy", session.run("accuracy").scalar<double>()}};
      }});
  MonitoredSession session = this->session({hook});
  EXPECT_EQ(hook->step(), std::nullopt);
  run(session, 2);
  session.close();
  EXPECT_EQ(hook->step(), 2);
  EXPECT_THAT(hook->metrics(), ElementsAre(Pair("accuracy", 0.75)));
}

TEST_F(EvaluationHookTest, GivesItsMetricsToEarlyStopping) {
  EvaluationHook evaluation(every_steps(2));
  auto patience = stop_if_no_decrease_hook(evaluation.metric("loss"), 4, {.run_every_steps = 1});
  MonitoredSession session = this->session({std::move(evaluation), std::move(patience)});
  run(session, 100);
  EXPECT_EQ(session.current_step(), 6);  // The best was found at step 2.
  EXPECT_THAT(session.stop_request()->reason, HasSubstr("no decrease of loss since step 2"));
  session.close();
}

TEST_F(EvaluationHookTest, EarlyStoppingSeesAThresholdInTheSameStep) {
  EvaluationHook evaluation(every_steps(2));
  auto threshold = stop_if_higher_hook(evaluation.metric("loss"), 25, {.run_every_steps = 2});
  MonitoredSession session = this->session({std::move(evaluation), std::move(threshold)});
  run(session, 100);
  EXPECT_EQ(session.current_step(), 6);
  session.close();
}

TEST_F(EvaluationHookTest, AMissingMetricStopsNothing) {
  EvaluationHook evaluation(every_steps(1));
  auto threshold = stop_if_higher_hook(evaluation.metric("accuracy"), 0, {.run_every_steps = 1});
  MonitoredSession session = this->session({std::move(evaluation), std::move(threshold)});
  run(session, 5);
  EXPECT_FALSE(session.should_stop());
  session.close();
}

TEST_F(EvaluationHookTest, EarlyStoppingReadsMetricsOfAnotherProcess) {
  SummaryWriter evaluator("elsewhere", files_, clock_);
  MonitoredSession session = this->session({stop_if_no_increase_hook(
      metric_in_directory("elsewhere", "accuracy", &files_, &clock_), 10, {.run_every_steps = 1})});
  run(session, 20);
  evaluator.add_scalar("accuracy", 0.5, 10);
  run(session, 10);
  EXPECT_FALSE(
      session.should_stop());  // One point, ten steps ago or more, does not make a plateau.
  evaluator.add_scalar("accuracy", 0.4, 20);
  run(session, 10);
  EXPECT_EQ(session.current_step(), 31);
  EXPECT_THAT(session.stop_request()->reason, HasSubstr("no increase of accuracy since step 10"));
  session.close();
}

// The run went back to step 0; the points were found in the part that it abandoned.
TEST_F(EvaluationHookTest, EarlyStoppingIgnoresPointsOfAnAbandonedRun) {
  SummaryWriter evaluator("elsewhere", files_, clock_);
  evaluator.add_scalar("accuracy", 0.9, 10);
  evaluator.add_scalar("accuracy", 0.9, 20);
  clock_.advance(std::chrono::seconds(1));
  const MetricSource source = metric_in_directory("elsewhere", "accuracy", &files_, &clock_);
  MonitoredSession session =
      this->session({stop_if_higher_hook(source, 0.8, {.run_every_steps = 1})});
  run(session, 15);
  EXPECT_FALSE(session.should_stop());
  EXPECT_FALSE(source.newest());
  evaluator.add_scalar("accuracy", 0.85, 10);  // The step that was made again.
  run(session, 1);
  EXPECT_TRUE(session.should_stop());
  session.close();
}

TEST_F(EvaluationHookTest, ForgetsMetricsOfLostSteps) {
  const auto hook = std::make_shared<EvaluationHook>(every_steps(2));
  MonitoredSession session = this->session({hook});
  run(session, 5);
  graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
  run(session, 1);  // Step 1 again: there is no checkpoint.
  EXPECT_EQ(hook->step(), std::nullopt);
  EXPECT_THAT(curve(), IsEmpty());
  run(session, 1);
  EXPECT_THAT(curve(), ElementsAre(Pair(2, 30)));
  session.close();
}

TEST_F(EvaluationHookTest, TheEndOfItsDataDoesNotEndTraining) {
  EvaluationHookOptions options = every_steps(1);
  options.evaluate = []() -> Metrics { throw OutOfRangeError("no more test images"); };
  MonitoredSession session = this->session({EvaluationHook(options)});
  EXPECT_THAT([&] { run(session, 1); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("no more test images")));
}

TEST_F(EvaluationHookTest, DoesNotEvaluateAtTheEndAfterASignal) {
  MonitoredSession session = this->session({EvaluationHook(every_steps(10))});
  run(session, 1);
  set_pending_signal(SIGTERM);
  session.close();
  EXPECT_EQ(num_evaluations_, 0);
}

TEST_F(EvaluationHookTest, RejectsBadOptions) {
  EXPECT_THROW(EvaluationHook({.every_n_steps = 1}), InvalidArgumentError);
  const Evaluation nothing = [] { return Metrics(); };
  EXPECT_THROW(EvaluationHook({.evaluate = nothing}), InvalidArgumentError);
  EXPECT_THROW(EvaluationHook({.every_n_steps = 0, .evaluate = nothing}), InvalidArgumentError);
  EXPECT_THROW(stop_if_lower_hook(MetricSource{.name = "loss"}, 1), InvalidArgumentError);
  ScriptedGraph stepless({.counts_steps = false});
  EXPECT_THROW(EvaluationHook(every_steps(1)).begin(stepless), FailedPreconditionError);
}

}  // namespace
}  // namespace crochet
