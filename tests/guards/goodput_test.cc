// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the time of a run went, as `crochet report` finds it in the journal that the run wrote.
#include "tools/goodput.h"

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/watched_file_system.h"

namespace crochet {
namespace {

using std::chrono::milliseconds;
using tool::Goodput;
using tool::TimeUse;

class SlowHook final : public SessionRunHook {
 public:
  explicit SlowHook(FakeClock& clock) : clock_(clock) {}
  void after_run(SessionRunContext&, const SessionRunValues&) override {
    clock_.advance(milliseconds(50));
  }
  std::string name() const override { return "SlowHook"; }

 private:
  FakeClock& clock_;
};

class GoodputOfRunTest : public testing::Test {
 protected:
  Goodput goodput() { return tool::goodput_of(internal::read_journal(files_, "run")); }

  // Steps of 1 s, saved every 10 with 2 s each, evaluated every 20 with 3 s.
  RunReport run(
      int64_t last_step, const std::function<void(Step&)>& in_step = [](Step&) {}) {
    files_.on_create([this](const std::string& path) {
      if (path.find(".data-") != std::string::npos) clock_.advance(std::chrono::seconds(2));
    });
    double x = 0;
    // Training waits for its saves, so that the fake clock moves in one thread.
    Loop loop(
        {.checkpoint = {.dir = "run", .every_steps = 0, .saver = {.max_to_keep = 0}},
         .summaries = {.every_steps = 0, .every_secs = 0, .count_every_steps = 0},
         .hooks = {std::make_shared<SlowHook>(clock_),
                   EvaluationHook({.every_n_steps = 20,
                                   .evaluate =
                                       [this] {
                                         clock_.advance(std::chrono::seconds(3));
                                         return Metrics{{"accuracy", 1}};
                                       },
                                   .clock = &clock_}),
                   StopAtStepHook({.last_step = last_step}),
                   CheckpointSaverHook({.checkpoint_dir = "run",
                                        .save_steps = 10,
                                        .saver = std::make_shared<Saver>(SaverOptions{
                                            .max_to_keep = 0, .files = &files_, .clock = &clock_}),
                                        .clock = &clock_})},
         .files = &files_,
         .clock = &clock_});
    loop.track("x", x);
    return loop.run([&](Step& step) {
      clock_.advance(std::chrono::seconds(1));
      x += 1;
      in_step(step);
    });
  }

  LogCapture log_;
  FakeClock clock_;
  WatchedFileSystem files_;
};

TEST_F(GoodputOfRunTest, EachSecondIsWhereItWasSpent) {
  const RunReport report = run(100);
  const RunTimes& times = report.times;
  EXPECT_NEAR(times.evaluation, 15, 1e-6);
  EXPECT_NEAR(times.by_hook.at("SlowHook"), 5, 1e-6);
  EXPECT_NEAR(times.saving, 22, 1e-6) << "of steps 0, 10, ... 100";
  EXPECT_NEAR(times.steps(), 100, 1e-6);
  const Goodput sums = goodput();
  EXPECT_NEAR(sums.total(), 142, 1e-6);
  EXPECT_NEAR(sums.of(TimeUse::kSteps), 100, 1e-6);
  EXPECT_NEAR(sums.of(TimeUse::kEvaluation), 15, 1e-6);
  EXPECT_NEAR(sums.of(TimeUse::kSaving), 22, 1e-6);
  EXPECT_NEAR(sums.of(TimeUse::kHooks), 5, 1e-6);
  EXPECT_EQ(sums.steps, 100);
}

TEST_F(GoodputOfRunTest, ALostLifeCostsItsStepsAndTheTimeUntilTheNext) {
  const Clock::TimePoint begin = clock_.now();
  EXPECT_THROW(run(100,
                   [](Step& step) {
                     if (step.number() == 58) throw std::runtime_error("lost");
                   }),
               std::runtime_error);
  clock_.advance(std::chrono::seconds(30));
  run(100);
  const Goodput sums = goodput();
  EXPECT_NEAR(sums.total(), to_seconds(clock_.now() - begin), 1e-6);
  EXPECT_NEAR(sums.of(TimeUse::kDown), 30, 1e-6);
  EXPECT_EQ(sums.repeated_steps, 7);
  // The step that failed was made, too.
  EXPECT_NEAR(sums.of(TimeUse::kSteps) + sums.of(TimeUse::kRepeated), 108, 1e-6);
  EXPECT_NEAR(sums.of(TimeUse::kRepeated), 7, 0.2);
}

TEST_F(GoodputOfRunTest, ARecoveryIsARestoreAndRepeatedSteps) {
  bool fails = true;
  run(100, [&](Step& step) {
    if (step.number() == 75 && std::exchange(fails, false)) throw UnavailableError("gone");
  });
  const Goodput sums = goodput();
  EXPECT_EQ(sums.repeated_steps, 4);
  EXPECT_NEAR(sums.of(TimeUse::kRepeated), 4, 0.2);
  EXPECT_NEAR(sums.of(TimeUse::kSteps) + sums.of(TimeUse::kRepeated), 105, 1e-6);
}

}  // namespace
}  // namespace crochet
