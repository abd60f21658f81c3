// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A run obeys requests from outside.
#include <signal.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/control/internal/control_files.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/watched_file_system.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using internal::ControlRequest;
using internal::ControlVerb;
using testing::HasSubstr;

class LoopControlTest : public testing::Test {
 protected:
  // A run of steps of a second, that ends at step 100 unless something else ends it.
  RunReport run(const std::function<void(int64_t step)>& at_step = [](int64_t) {}) {
    Loop loop({.checkpoint = {.dir = "run", .every_steps = 20, .saver = {.max_to_keep = 0}},
               .summaries = {.every_steps = 0, .every_secs = 0, .count_every_steps = 0},
               .hooks = {StopAtStepHook({.last_step = 100})},
               .files = &files_,
               .clock = &clock_});
    int64_t count = 0;
    loop.track("count", count);
    return loop.run([&](Step& step) {
      ++count;
      clock_.advance(std::chrono::seconds(1));
      at_step(step.number());
    });
  }
  // A request that is made in this step is seen after it.
  RunReport run_and_ask(int64_t in_step, const ControlRequest& request) {
    return run([&](int64_t step) {
      if (step == in_step) control_.ask(request);
    });
  }
  std::string answer(const ControlRequest& request) {
    const auto answer = control_.answer_to(request);
    return answer ? answer->text : "no answer";
  }

  LogCapture log_;
  FakeClock clock_;
  WatchedFileSystem files_{clock_};
  internal::ControlFiles control_{files_, "run"};
};

TEST_F(LoopControlTest, Stops) {
  const ControlRequest stop{.id = "1", .verb = ControlVerb::kStop};
  const RunReport report = run_and_ask(7, stop);
  EXPECT_EQ(report.last_step, 7);
  EXPECT_EQ(report.stop.reason, "crochet stop");
  EXPECT_EQ(report.exit_code(), 0);
  EXPECT_EQ(answer(stop), "the run ends after step 7, with a checkpoint");
  EXPECT_TRUE(checkpoint_exists(files_, "run/model.ckpt-7"));
  // It was an interruption.
  EXPECT_EQ(run().last_step, 100);
}

TEST_F(LoopControlTest, StopsWithTheNextCheckpoint) {
  const ControlRequest stop{.id = "1", .verb = ControlVerb::kStop, .limit = {.when_saved = true}};
  const RunReport report = run_and_ask(23, stop);
  EXPECT_GE(report.last_step, 40);
  EXPECT_LE(report.last_step, 62) << "the save of step 60 waits for that of step 40";
  EXPECT_EQ(report.stop.reason, "crochet stop --when-saved");
  EXPECT_EQ(answer(stop), "step 23: the run ends with its next checkpoint");
}

TEST_F(LoopControlTest, ACheckpointOfAnEarlierStepIsNotTheNextOne) {
  std::atomic<bool> is_released = false;
  files_.on_create([&](const std::string& path) {
    if (path.find("ckpt-20.") != path.npos)
      wait_until("step 30", [&] { return is_released.load(); });
  });
  const RunReport report = run([&](int64_t step) {
    if (step == 23)
      control_.ask({.id = "1", .verb = ControlVerb::kStop, .limit = {.when_saved = true}});
    if (step < 30) return;
    is_released = true;
    wait_until("the checkpoint", [&] { return checkpoint_exists(files_, "run/model.ckpt-20"); });
  });
  EXPECT_GE(report.last_step, 40);
  EXPECT_LE(report.last_step, 62);
}

TEST_F(LoopControlTest, Saves) {
  const ControlRequest save{.id = "1", .verb = ControlVerb::kSave};
  const RunReport report = run_and_ask(7, save);
  EXPECT_EQ(report.last_step, 100);
  EXPECT_EQ(answer(save), "a checkpoint of step 7 is written");
  EXPECT_TRUE(log_.contains("saving step 7 as requested: crochet save"));
  EXPECT_TRUE(checkpoint_exists(files_, "run/model.ckpt-7"));
}

TEST_F(LoopControlTest, EndsAtAStep) {
  const ControlRequest limit{.id = "1", .verb = ControlVerb::kLimit, .limit = {.at_step = 50}};
  const RunReport report = run_and_ask(7, limit);
  EXPECT_EQ(report.last_step, 50);
  EXPECT_EQ(report.stop.reason, "crochet limit: at step 50");
  EXPECT_EQ(answer(limit), "step 7: the run ends at step 50");
  // A limit that was reached is over.
  EXPECT_EQ(run().last_step, 100);
}

TEST_F(LoopControlTest, AStepThatIsOverEndsTheRun) {
  const ControlRequest limit{.id = "1", .verb = ControlVerb::kLimit, .limit = {.at_step = 5}};
  EXPECT_EQ(run_and_ask(7, limit).last_step, 7);
}

TEST_F(LoopControlTest, EndsAfterATime) {
  const ControlRequest limit{.id = "1", .verb = ControlVerb::kLimit, .for_secs = 30};
  const RunReport report = run_and_ask(7, limit);
  EXPECT_GE(report.last_step, 37);
  EXPECT_LE(report.last_step, 40);
  EXPECT_THAT(answer(limit), testing::AllOf(HasSubstr("the run ends at "), HasSubstr(" UTC")));
}

TEST_F(LoopControlTest, ALimitIsReplacedAndRemoved) {
  const ControlRequest limit{.id = "1", .verb = ControlVerb::kLimit, .limit = {.at_step = 30}};
  const ControlRequest none{.id = "2", .verb = ControlVerb::kLimit};
  EXPECT_EQ(run([&](int64_t step) {
              if (step == 7) control_.ask(limit);
              if (step == 17) control_.ask(none);
            }).last_step,
            100);
  EXPECT_EQ(answer(none), "step 17: the run has no limit");
}

// For a run that starts later, and for later lives of one that is killed.
TEST_F(LoopControlTest, ALimitHoldsForLaterLives) {
  files_.create_directories("run");
  control_.ask({.id = "1", .verb = ControlVerb::kLimit, .limit = {.at_step = 50}});
  EXPECT_THROW(run([](int64_t step) {
                 if (step == 10) throw std::runtime_error("killed");
               }),
               std::runtime_error);
  EXPECT_EQ(run().last_step, 50);
}

TEST_F(LoopControlTest, ReportsItsStatus) {
  const ControlRequest status{.id = "1", .verb = ControlVerb::kStatus};
  run([&](int64_t step) {
    if (step == 2) control_.ask({.id = "0", .verb = ControlVerb::kLimit, .limit = {.at_step = 90}});
    if (step == 7) control_.ask(status);
  });
  EXPECT_EQ(answer(status), "step 7, 1 steps/s since step 0; ends at step 90");
}

TEST_F(LoopControlTest, GarbageIsIgnored) {
  const RunReport report = run([&](int64_t step) {
    if (step == 7) files_.create("run/control.json")->append("garbage");
  });
  EXPECT_EQ(report.last_step, 100);
  EXPECT_TRUE(log_.contains("a request to the run is ignored"));
}

// --- The end of the allocation.

// True while a checkpoint is being written.
class Saving final : public CheckpointSaverListener {
 public:
  explicit Saving(bool& is_saving) : is_saving_(is_saving) {}
  void before_save(Session&, int64_t) override { is_saving_ = true; }
  bool after_save(Session&, int64_t) override {
    is_saving_ = false;
    return false;
  }

 private:
  bool& is_saving_;
};

class LoopDeadlineTest : public LoopControlTest {
 protected:
  ~LoopDeadlineTest() override { ::unsetenv("SLURM_JOB_END_TIME"); }

  // A run of steps of a second. The clock does not advance while one of its checkpoints is being
  // written, which takes `save_secs` seconds. Returns the time of the last step.
  double run(double save_secs, std::optional<double> deadline) {
    FailingFileSystem slow(files_);
    slow.watch([&](const std::string& operation) {
      if (operation.starts_with("create_large")) clock_.advance(from_seconds(save_secs));
    });
    bool is_saving = false;
    Loop loop({.checkpoint = {.dir = "run",
                              .every_secs = 10000,
                              .listeners = {std::make_shared<Saving>(is_saving)}},
               .summaries = {.every_steps = 0, .every_secs = 0, .count_every_steps = 0},
               .hooks = {StopAfterHook({.secs = 500, .clock = &clock_})},
               .ending = {.deadline = deadline},
               .files = &slow,
               .clock = &clock_});
    int64_t count = 0;
    loop.track("count", count);
    double last_step_time = 0;
    report_ = loop.run([&] {
      ++count;
      if (!is_saving) clock_.advance(std::chrono::seconds(1));
      last_step_time = clock_.wall_time();
    });
    return last_step_time;
  }

  RunReport report_;
};

TEST_F(LoopDeadlineTest, EndsAStepBeforeIt) {
  const double deadline = clock_.wall_time() + 100.5;
  const double left = deadline - run(0, deadline);
  EXPECT_GE(left, 0.5);
  EXPECT_LE(left, 8.5);  // After many short steps, it looks once in eight steps.
  EXPECT_EQ(report_.stop.who, "crochet");
  EXPECT_EQ(report_.exit_code(), 128 + SIGTERM);  // Start it again.
  EXPECT_THAT(report_.stop.reason, HasSubstr("the deadline is 2001-09-09 01:48:20 UTC"));
  EXPECT_TRUE(checkpoint_exists(files_, fmt::format("run/model.ckpt-{}", report_.last_step)));
  // It was an interruption.
  const int64_t last_step = report_.last_step;
  run(0, 0);
  EXPECT_EQ(report_.first_step, last_step);
  EXPECT_GT(report_.last_step, last_step);
}

TEST_F(LoopDeadlineTest, AllowsForTheTimeOfASave) {
  const double deadline = clock_.wall_time() + 200;
  const double left = deadline - run(8, deadline);
  EXPECT_GE(left, 8 * 1.5);
  EXPECT_LE(left, 8 * 1.5 + 8);
  EXPECT_LT(clock_.wall_time(), deadline);
}

TEST_F(LoopDeadlineTest, IsTheEndOfTheAllocationInSlurm) {
  const double end = clock_.wall_time() + 100;
  ::setenv("SLURM_JOB_END_TIME", fmt::format("{:.0f}", end).c_str(), 1);
  EXPECT_LE(end - run(0, {}), 8);
  EXPECT_LT(clock_.wall_time(), end);
  run(0, 0);
  EXPECT_EQ(report_.stop.who, "StopAfterHook");
}

TEST_F(LoopDeadlineTest, HoldsForARunThatSavesNothing) {
  const double deadline = clock_.wall_time() + 100;
  Loop loop({.ending = {.deadline = deadline}, .clock = &clock_});
  const RunReport report = loop.run([&] { clock_.advance(std::chrono::seconds(1)); });
  EXPECT_EQ(report.stop.who, "crochet");
  EXPECT_GE(deadline - clock_.wall_time(), 1);
  EXPECT_LE(deadline - clock_.wall_time(), 2);
}

TEST_F(LoopDeadlineTest, IsInSeconds) {
  EXPECT_THAT([] { Loop({.ending = {.deadline = 1.7e12}}); },
              testing::ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("ending.deadline is 1700000000000, expected seconds since 1970")));
}

}  // namespace
}  // namespace crochet
