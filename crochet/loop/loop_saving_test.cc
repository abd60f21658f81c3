// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints after every way in which a loop may end.
#include <signal.h>

#include <algorithm>
#include <functional>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/watched_file_system.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class LoopSavingTest : public testing::Test {
 protected:
  ~LoopSavingTest() override { set_pending_signal(0); }

  LoopOptions options(HookList hooks, int64_t save_steps = 1) {
    return {.checkpoint = {.dir = "run", .every_steps = save_steps},
            .summaries = {.every_steps = 0, .count_every_steps = 0},
            .hooks = std::move(hooks),
            .files = &files_,
            .clock = &clock_};
  }
  // The steps of the checkpoints. Expects every element of both arrays to be the checkpoint's step.
  std::vector<int64_t> whole_steps(const std::string& directory = "run") {
    std::vector<int64_t> steps;
    for (const std::string& prefix : list_checkpoints(files_, directory, "model.ckpt")) {
      const CheckpointReader reader(prefix, files_);
      steps.push_back(reader.read("global_step").scalar<int64_t>());
      for (const char* const name : {"first", "second"}) {
        const Tensor array = reader.read(name);
        for (const float element : array.flat<float>())
          EXPECT_EQ(element, static_cast<float>(steps.back())) << prefix << " " << name;
      }
    }
    return steps;
  }
  void hold_data_files() {
    files_.on_create([this](const std::string& path) {
      if (path.find(".data-") != std::string::npos) gate_.pass();
    });
  }

  LogCapture log_;
  WatchedFileSystem files_;
  FakeClock clock_;
  Gate gate_;
};

// A way for a loop to end, at step 4 while the save of step 3 is being written.
struct Exit {
  std::string name;
  // Called in the middle of step 4: one array is changed, the other is not.
  std::function<void(Step&)> in_the_middle = [](Step&) {};
  // Called by a hook after step 4.
  std::function<void()> in_a_hook = [] {};
  // The last checkpoint.
  int64_t last_saved = 4;
  bool throws = false;
};

class LoopExitTest : public LoopSavingTest, public testing::WithParamInterface<Exit> {};

TEST_P(LoopExitTest, WritesHeldSnapshotsAndNeverHalfAStep) {
  const Exit& exit = GetParam();
  std::vector<float> first(1000), second(1000);
  const auto body = [&](Step& step) {
    for (float& element : first) element = static_cast<float>(step.number());
    if (step.number() == 4) {
      gate_.wait_for_waiting();  // The save of step 3 has started.
      gate_.open();
      exit.in_the_middle(step);
    }
    for (float& element : second) element = static_cast<float>(step.number());
  };
  Loop loop(options({StopAtStepHook({.last_step = 4}), SignalHook({SIGTERM}),
                     every({.steps = 4}, "global_step",
                           [&](int64_t step, int64_t) {
                             if (step == 4) exit.in_a_hook();
                           })},
                    3));
  loop.track("first", first);
  loop.track("second", second);
  files_.on_create([this](const std::string& path) {
    if (path.find("model.ckpt-3.data-") != std::string::npos) gate_.pass();
  });
  if (exit.throws)
    EXPECT_ANY_THROW(loop.run(body));
  else
    EXPECT_EQ(loop.run(body).last_step, exit.last_saved);
  EXPECT_THAT(whole_steps(), testing::Contains(3));
  EXPECT_EQ(whole_steps().back(), exit.last_saved);
  EXPECT_NE(files_.try_lock("run/.lock"), nullptr);
}

INSTANTIATE_TEST_SUITE_P(
    Exits, LoopExitTest,
    testing::Values(Exit{.name = "TheLastStepIsReached"},
                    Exit{.name = "TheBodyAsksToStop",
                         .in_the_middle = [](Step& step) { step.request_stop("enough"); }},
                    Exit{.name = "ASignalComes", .in_the_middle = [](Step&) { ::raise(SIGTERM); }},
                    Exit{.name = "TheBodyThrows",
                         .in_the_middle = [](Step&) { throw std::runtime_error("broken"); },
                         .last_saved = 3,
                         .throws = true},
                    Exit{.name = "TheBodyThrowsWhatIsNoException",
                         .in_the_middle = [](Step&) { throw 7; },
                         .last_saved = 3,
                         .throws = true},
                    // A stop is pending then, as step 4 is the last one.
                    Exit{.name = "AHookThrows",
                         .in_a_hook = [] { throw DataLossError("broken"); },
                         .throws = true},
                    Exit{.name = "ASignalComesAndTheBodyThrows",
                         .in_the_middle =
                             [](Step&) {
                               ::raise(SIGTERM);
                               throw std::runtime_error("broken");
                             },
                         .last_saved = 3,
                         .throws = true}),
    [](const auto& test) { return test.param.name; });

// A thread that still writes after the deadline uses neither the loop nor the tracked values.
TEST_F(LoopSavingTest, EndsInTimeWhileTheWriterContinues) {
  {
    std::vector<float> first(100'000), second(100'000);
    LoopOptions options = this->options({SignalHook({SIGTERM})}, 2);
    options.checkpoint.saving.deadline_secs = 20;
    Loop loop(std::move(options));
    loop.track("first", first);
    loop.track("second", second);
    float step = 0;
    const Clock::TimePoint start = clock_.now();
    EXPECT_THAT(
        [&] {
          loop.run([&] { step += 1; },
                   [&] {
                     std::ranges::fill(first, step);
                     std::ranges::fill(second, step);
                     if (step == 1) {
                       wait_until("checkpoint 0",
                                  [this] { return checkpoint_exists(files_, "run/model.ckpt-0"); });
                       hold_data_files();
                     }
                     if (step == 3) {
                       gate_.wait_for_waiting();
                       ::raise(SIGTERM);
                     }
                   });
        },
        ThrowsMessage<DeadlineExceededError>(
            AllOf(HasSubstr("the state of step 3 is not saved"),
                  HasSubstr("not saved yet: run/model.ckpt-2 (step 2"))));
    EXPECT_LE(clock_.now(), start + std::chrono::seconds(20));
  }
  EXPECT_EQ(files_.try_lock("run/.lock"), nullptr);
  gate_.open();
  wait_until("the lock of run", [this] { return files_.try_lock("run/.lock") != nullptr; });
  EXPECT_THAT(whole_steps(), ElementsAre(0, 2));
}

TEST_F(LoopSavingTest, ResumesFromTheFallbackDirectory) {
  const auto count_to = [this](int64_t last_step) {
    std::vector<float> first(10), second(10);
    LoopOptions options = this->options({StopAtStepHook({.last_step = last_step})}, 5);
    options.checkpoint.saver.fallback_dir = "second";
    Loop loop(std::move(options));
    loop.track("first", first);
    loop.track("second", second);
    return loop.run([&](Step& step) {
      std::ranges::fill(first, static_cast<float>(step.number()));
      std::ranges::fill(second, static_cast<float>(step.number()));
    });
  };
  files_.on_create([](const std::string& path) {
    if (path.starts_with("run/model.ckpt-5.data-"))
      throw UnknownError(fmt::format("{}: broken", path));
  });
  const RunReport report = count_to(5);
  EXPECT_EQ(report.saving.saved_in_fallback, 1);
  EXPECT_EQ(report.saving.saved, report.saves);
  EXPECT_EQ(report.saving.retries, 4);
  EXPECT_GT(report.saving.bytes, 0U);
  EXPECT_THAT(to_string(report), HasSubstr("1 in the fallback directory, 4 retries of saves"));
  EXPECT_THAT(whole_steps("second"), ElementsAre(5));
  files_.on_create({});
  EXPECT_EQ(count_to(7).resumed_from, 5);
}

TEST_F(LoopSavingTest, ThrowsTheLastErrorOnce) {
  files_.on_create([](const std::string& path) {
    if (path.find("model.ckpt-2.data-") != std::string::npos)
      throw UnknownError(fmt::format("{}: broken", path));
  });
  std::vector<float> first(10), second(10);
  Loop loop(options({StopAtStepHook({.last_step = 2})}, 2));
  loop.track("first", first);
  loop.track("second", second);
  EXPECT_THROW(loop.run([] {}), UnknownError);
  EXPECT_NE(files_.try_lock("run/.lock"), nullptr);
}

// Two names that meet only below a container: no save can store them.
TEST_F(LoopSavingTest, EndsBeforeTheFirstStepIfNoSaveCouldStoreTheState) {
  std::vector<std::vector<int>> layers = {{1}, {2}};
  int other = 5;
  int64_t steps = 0;
  Loop loop(options({StopAtStepHook({.last_step = 100})}));
  loop.track("layers", layers);
  loop.track("layers/1", other);
  EXPECT_THAT([&] { loop.run([&] { ++steps; }); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("\"layers/1\"")));
  EXPECT_EQ(steps, 0);
}

// Likewise if that comes about in the course of the run.
TEST_F(LoopSavingTest, EndsAtTheFirstSaveOfAStateThatCannotBeStored) {
  std::vector<std::vector<int>> layers = {{1}};
  int other = 5;
  int64_t steps = 0;
  Loop loop(options({StopAtStepHook({.last_step = 1000})}));
  loop.track("layers", layers);
  loop.track("layers/1", other);
  EXPECT_THAT(
      [&] {
        loop.run([&] {
          if (++steps == 3) layers.push_back({2});
        });
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("\"layers/1\"")));
  EXPECT_LE(steps, 6);
}

}  // namespace
}  // namespace crochet
