// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/progress_bar_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A hook that writes to a file, as if there were no terminal.
class ProgressBarHookTest : public testing::Test {
 protected:
  ~ProgressBarHookTest() override { std::fclose(file_); }

  ProgressBarHookOptions options(double every_secs = 10) {
    return {.values = {"loss"}, .every_secs = every_secs, .stream = file_, .clock = &clock_};
  }
  // Makes steps of a second each.
  void train(ProgressBarHook hook, std::optional<int64_t> last_step, int num_runs) {
    HookList hooks = {std::move(hook)};
    if (last_step) hooks.emplace_back(StopAtStepHook({.last_step = last_step}));
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph_), hooks);
    for (int i = 0; i < num_runs && !session.should_stop(); ++i) {
      clock_.advance(std::chrono::seconds(1));
      session.run(graph_.train());
    }
    session.close();
  }
  std::vector<std::string> lines() {
    std::rewind(file_);
    std::vector<std::string> lines;
    for (char line[200]; std::fgets(line, sizeof(line), file_) != nullptr;)
      lines.push_back(std::string(line).substr(0, std::string(line).find('\n')));
    return lines;
  }

  std::FILE* const file_ = std::tmpfile();
  FakeClock clock_;
  ScriptedGraph graph_;
  int num_losses_ = 0;
  const Output loss_ = graph_.value("loss", [this] {
    ++num_losses_;
    return Tensor::scalar(0.25f);
  });
};

TEST_F(ProgressBarHookTest, WritesALineAtEachTenthOfTheWay) {
  train(ProgressBarHook(options(1e6)), 20, 100);
  const std::vector<std::string> written = lines();
  ASSERT_EQ(written.size(), 10);
  EXPECT_EQ(written.front(), "step 2/20 (10%), loss 0.25, 1 steps/s, 0:18 left");
  EXPECT_EQ(written.back(), "step 20/20 (100%), loss 0.25, 1 steps/s, 0:00 left");
}

TEST_F(ProgressBarHookTest, CountsTheWarningsOfTheRun) {
  LogCapture log;
  log_warning("before the run");
  HookList hooks = {ProgressBarHook(options(1)), StopAtStepHook({.last_step = 2})};
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph_), hooks);
  for (int i = 0; i < 2; ++i) {
    log_info("not counted");
    log_warning("the disk is full");
    clock_.advance(std::chrono::seconds(1));
    session.run(graph_.train());
  }
  session.close();
  EXPECT_THAT(lines(), ElementsAre("step 1/2 (50%), loss 0.25, 1 steps/s, 0:01 left, 1 warning",
                                   "step 2/2 (100%), loss 0.25, 1 steps/s, 0:00 left, 2 warnings"));
}

TEST_F(ProgressBarHookTest, WritesALineEveryTenSeconds) {
  train(ProgressBarHook(options(10)), std::nullopt, 35);
  EXPECT_THAT(lines(), ElementsAre("step 10, loss 0.25, 1 steps/s", "step 20, loss 0.25, 1 steps/s",
                                   "step 30, loss 0.25, 1 steps/s"));
}

// Output to a full disk.
TEST_F(ProgressBarHookTest, TrainingContinuesIfItCannotWrite) {
  std::FILE* const full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  std::setvbuf(full, nullptr, _IONBF, 0);  // As stderr is.
  ProgressBarHookOptions unwritable = options(1);
  unwritable.stream = full;
  EXPECT_NO_THROW(train(ProgressBarHook(unwritable), 20, 100));
  EXPECT_EQ(num_losses_, 20);
  std::fclose(full);
}

TEST_F(ProgressBarHookTest, ComputesValuesOnlyWhenItShowsThem) {
  train(ProgressBarHook(options(10)), std::nullopt, 35);
  EXPECT_EQ(num_losses_, 3);
}

TEST_F(ProgressBarHookTest, ShowsADashForAnUnsetValue) {
  graph_.value("accuracy", {Tensor()});
  ProgressBarHookOptions with_accuracy = options(10);
  with_accuracy.values = {"accuracy"};
  train(ProgressBarHook(with_accuracy), std::nullopt, 10);
  EXPECT_THAT(lines(), ElementsAre("step 10, accuracy -, 1 steps/s"));
}

TEST_F(ProgressBarHookTest, WritesNothingIfNothingIsLeftToDo) {
  train(ProgressBarHook(options()), 0, 100);
  EXPECT_THAT(lines(), IsEmpty());
}

TEST_F(ProgressBarHookTest, GoesBackWithARecovery) {
  graph_.fail_run(4, AbortedError("the worker is gone"));  // On the way to step 2.
  train(ProgressBarHook(options(1)), std::nullopt, 3);
  EXPECT_EQ(graph_.num_sessions(), 2);
  EXPECT_THAT(lines(), ElementsAre(testing::StartsWith("step 1,"), testing::StartsWith("step 2,")));
}

TEST_F(ProgressBarHookTest, LooksItsNamesUpBeforeTraining) {
  ProgressBarHookOptions unknown = options();
  unknown.values = {"lost"};
  ProgressBarHook hook(unknown);
  EXPECT_THROW(hook.begin(graph_), NotFoundError);
  ScriptedGraph stepless({.counts_steps = false});
  ProgressBarHook other(options());
  EXPECT_THROW(other.begin(stepless), FailedPreconditionError);
}

}  // namespace
}  // namespace crochet
