// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What the body of a loop may ask for: by its result, and of its Step.
#include <signal.h>

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/watched_file_system.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class LoopActionTest : public testing::Test {
 protected:
  ~LoopActionTest() override { set_pending_signal(0); }

  LoopOptions options(HookList hooks, int64_t save_steps = 1000) {
    return {.checkpoint = {.dir = "run", .every_steps = save_steps},
            .summaries = {.every_steps = 0, .count_every_steps = 0},
            .hooks = std::move(hooks),
            .files = &files_,
            .clock = &clock_};
  }
  std::vector<int64_t> saved_steps() {
    std::vector<int64_t> steps;
    for (const std::string& prefix : list_checkpoints(files_, "run", "model.ckpt"))
      steps.push_back(CheckpointReader(prefix, files_).read("global_step").scalar<int64_t>());
    return steps;
  }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_;
};

TEST_F(LoopActionTest, ABodyThatReturnsFalseStopsAfterTheStep) {
  Loop loop({});
  const RunReport report = loop.run([](Step& step) { return step.number() < 3; });
  EXPECT_EQ(report.last_step, 3);
  EXPECT_EQ(report.stop.who, "the program");
  EXPECT_EQ(report.stop.reason, "the body returned false");
}

TEST_F(LoopActionTest, ABodyThatReturnsStopStopsAfterTheStep) {
  Loop loop(options({}));
  int64_t count = 0;
  loop.track("count", count);
  const RunReport report =
      loop.run([&] { return ++count == 4 ? LoopAction::kStop : LoopAction::kContinue; });
  EXPECT_EQ(report.last_step, 4);
  EXPECT_EQ(report.stop.reason, "the body returned LoopAction::kStop");
  EXPECT_THAT(saved_steps(), ElementsAre(0, 4));
}

TEST_F(LoopActionTest, TheReasonOfTheStepCountsMoreThanItsResult) {
  Loop loop({});
  const RunReport report = loop.run([](Step& step) {
    step.request_stop("three are enough");
    return false;
  });
  EXPECT_EQ(report.stop.reason, "three are enough");
}

TEST_F(LoopActionTest, BothPartsMayStop) {
  for (const bool in_update : {false, true}) {
    Loop loop({});
    int updates = 0;
    const RunReport report = loop.run(
        [&](Step& step) { return in_update || step.number() < 2; },
        [&](Step& step) {
          ++updates;
          return in_update && step.number() == 2 ? LoopAction::kStop : LoopAction::kContinue;
        });
    EXPECT_EQ(report.last_step, 2);
    EXPECT_EQ(updates, 2);
  }
}

// Hooks see steps 1, 2, 3, ... and one call for each, whatever was skipped.
TEST_F(LoopActionTest, ASkippedAttemptIsNotAStep) {
  std::vector<int64_t> numbers, hook_steps;
  int batch = 0;
  int64_t sum = 0;
  Loop loop(options(
      {every({.steps = 1}, "sum", [&](int64_t step, int64_t) { hook_steps.push_back(step); }),
       StopAtStepHook({.last_step = 3})},
      1));
  loop.track("sum", sum);
  loop.track("batch", batch);
  loop.value("sum", [&] { return sum; });
  const RunReport report = loop.run([&](Step& step) {
    numbers.push_back(step.number());
    if (++batch % 2 == 0) return LoopAction::kSkip;
    sum += batch;
    return LoopAction::kContinue;
  });
  EXPECT_THAT(numbers, ElementsAre(1, 2, 2, 3, 3));
  EXPECT_THAT(hook_steps, ElementsAre(1, 2, 3));
  EXPECT_EQ(sum, 1 + 3 + 5);
  EXPECT_EQ(report.last_step, 3);
  EXPECT_EQ(report.skipped_steps, 2);
  EXPECT_THAT(to_string(report), HasSubstr("2 skipped steps"));
  EXPECT_THAT(saved_steps(), ElementsAre(0, 1, 2, 3));
}

// A run that was killed at any step makes the same attempts again.
TEST_F(LoopActionTest, AResumedRunSkipsTheSame) {
  const auto sum_after = [&](std::vector<int64_t> last_steps, const std::string& directory) {
    int64_t sum = 0;
    for (const int64_t last_step : last_steps) {
      int batch = 0;
      LoopOptions with = options({StopAtStepHook({.last_step = last_step})}, 2);
      with.checkpoint.dir = directory;
      Loop loop(std::move(with));
      sum = -1;
      loop.track("sum", sum);
      loop.track("batch", batch);
      loop.run([&] {
        if (++batch % 3 == 0) return LoopAction::kSkip;
        sum = sum * 7 + batch;
        return LoopAction::kContinue;
      });
    }
    return sum;
  };
  EXPECT_EQ(sum_after({3, 4, 5, 11}, "often"), sum_after({11}, "once"));
}

TEST_F(LoopActionTest, ARequestToStopEndsTheRunAfterASkippedAttempt) {
  int batch = 0;
  int calls = 0;
  Loop loop(options({}));
  loop.track("batch", batch);
  const RunReport report = loop.run([&](Step& step) {
    ++batch;
    if (++calls < 3) return LoopAction::kContinue;
    step.request_stop("no more good batches");
    return LoopAction::kSkip;
  });
  EXPECT_EQ(report.last_step, 2);
  EXPECT_EQ(report.stop.reason, "no more good batches");
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2));
}

TEST_F(LoopActionTest, ASignalEndsARunThatOnlySkips) {
  int calls = 0;
  Loop loop(options({SignalHook({SIGTERM})}));
  loop.track("calls", calls);
  const RunReport report = loop.run([&] {
    if (++calls == 5) ::raise(SIGTERM);
    return LoopAction::kSkip;
  });
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(report.last_step, 0);
  EXPECT_EQ(report.stop.reason, "SIGTERM");
  EXPECT_EQ(report.exit_code(), 128 + SIGTERM);
}

TEST_F(LoopActionTest, OnlyComputeCanSkip) {
  int computed = 0, updated = 0;
  Loop loop({.hooks = {StopAtStepHook({.last_step = 2})}});
  const RunReport report =
      loop.run([&] { return ++computed % 2 == 0 ? LoopAction::kSkip : LoopAction::kContinue; },
               [&] { ++updated; });
  EXPECT_EQ(report.last_step, 2);
  EXPECT_EQ(computed, 3);
  EXPECT_EQ(updated, 2);
  Loop wrong({});
  EXPECT_THAT([&] { wrong.run([] {}, [] { return LoopAction::kSkip; }); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("only compute can skip")));
}

TEST_F(LoopActionTest, SavesAfterTheStepThatRequestsIt) {
  int64_t count = 0;
  Loop loop(options({StopAtStepHook({.last_step = 9})}, 4));
  loop.track("count", count);
  loop.run([&](Step& step) {
    if (step.number() == 3) step.request_save("end of epoch");
    if (step.number() == 8) step.request_save();  // Due anyway: one save.
    ++count;
  });
  EXPECT_THAT(saved_steps(), ElementsAre(0, 3, 4, 8, 9));
  EXPECT_EQ(CheckpointReader("run/model.ckpt-3", files_).read("count").scalar<int64_t>(), 3);
  EXPECT_TRUE(log_.contains("saving step 3 as requested: end of epoch"));
}

TEST_F(LoopActionTest, ARequestStartsAnIntervalOfSecondsAgain) {
  int64_t count = 0;
  LoopOptions by_time = options({StopAtStepHook({.last_step = 9})});
  by_time.checkpoint.every_steps.reset();
  by_time.checkpoint.every_secs = 4;
  Loop loop(std::move(by_time));
  loop.track("count", count);
  loop.run([&](Step& step) {
    if (step.number() == 3) step.request_save();
    ++count;
    clock_.advance(std::chrono::seconds(1));
  });
  EXPECT_THAT(saved_steps(), ElementsAre(0, 3, 7, 9));
}

// A skipped attempt's request counts for the step that follows.
TEST_F(LoopActionTest, KeepsARequestOfASkippedAttempt) {
  int64_t calls = 0;
  Loop loop(options({StopAtStepHook({.last_step = 4})}));
  loop.track("calls", calls);
  loop.run([&](Step& step) {
    if (++calls != 3) return LoopAction::kContinue;
    step.request_save();
    return LoopAction::kSkip;
  });
  EXPECT_THAT(saved_steps(), ElementsAre(0, 3, 4));
}

// The attempt that failed was repeated from another step on.
TEST_F(LoopActionTest, ForgetsARequestOfAnAttemptThatFailed) {
  int64_t count = 0;
  bool has_failed = false;
  Loop loop(options({StopAtStepHook({.last_step = 7})}, 2));
  loop.track("count", count);
  loop.run([&](Step& step) {
    ++count;
    if (step.number() == 6 && !std::exchange(has_failed, true)) {
      step.request_save();
      throw AbortedError("gone");
    }
  });
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2, 4, 6, 7));
}

TEST_F(LoopActionTest, ARequestedSaveWaitsForOneThatIsBeingWritten) {
  WatchedFileSystem files;
  Gate gate;
  files.on_create([&](const std::string& path) {
    if (path.find("model.ckpt-0.data-") != std::string::npos) gate.pass();
  });
  LoopOptions with = options({StopAtStepHook({.last_step = 2})});
  with.checkpoint.saving.overlap = SaveOverlapPolicy::kSkip;
  with.files = &files;
  std::jthread opener;
  int64_t count = 0;
  Loop loop(std::move(with));
  loop.track("count", count);
  const RunReport report = loop.run([&](Step& step) {
    ++count;
    if (step.number() != 1) return;
    gate.wait_for_waiting();
    step.request_save();
    opener = std::jthread([&] { gate.open(); });
  });
  EXPECT_EQ(report.saving.skipped, 0);
  EXPECT_TRUE(files.exists("run/model.ckpt-1.index"));
}

TEST_F(LoopActionTest, WarnsOnceIfNothingSaves) {
  Loop loop({.hooks = {StopAtStepHook({.last_step = 3})}});
  loop.run([](Step& step) { step.request_save(); });
  EXPECT_EQ(std::ranges::count(log_.lines(),
                               "a save was requested, but no hook of this run saves checkpoints"),
            1);
}

TEST_F(LoopActionTest, RejectedStepsAreNotSavedOnRequest) {
  class Rejecting final : public SessionRunHook {
    void after_run(SessionRunContext& context, const SessionRunValues&) override {
      context.reject_step();
    }
  };
  int64_t count = 0;
  Loop loop(options({StopAtStepHook({.last_step = 2}), Rejecting()}));
  loop.track("count", count);
  loop.run([](Step& step) { step.request_save("now"); });
  EXPECT_THAT(saved_steps(), ElementsAre(0));
  EXPECT_TRUE(log_.contains("not saved as requested (now): a hook rejected the step"));
}

TEST_F(LoopActionTest, TheExitCodeIsThatOfTheSignal) {
  RunReport report;
  EXPECT_EQ(report.exit_code(), 0);
  report.signal = SIGINT;
  EXPECT_EQ(report.exit_code(), 130);
}

}  // namespace
}  // namespace crochet
