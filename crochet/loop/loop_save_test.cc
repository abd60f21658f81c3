// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Loop::save, outside run().
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Counts the steps of all runs, in its state.
class StepCountingHook final : public SessionRunHook {
 public:
  explicit StepCountingHook(int64_t& count) : count_(count) {}
  void after_run(SessionRunContext&, const SessionRunValues&) override { ++count_; }
  SaveableMap saveables() override { return {{"count", saveable_value(count_)}}; }

 private:
  int64_t& count_;
};

class LoopSaveTest : public testing::Test {
 protected:
  LoopOptions options(int64_t last_step) {
    return {.checkpoint = {.dir = "run", .every_steps = 5},
            .summaries = {.every_steps = 0, .count_every_steps = 0},
            .hooks = {StepCountingHook(seen_), StopAtStepHook({.last_step = last_step})},
            .files = &files_,
            .clock = &clock_};
  }
  int64_t count_to(int64_t last_step) {
    seen_ = 0;
    Loop loop(options(last_step));
    loop.track("count", count_);
    const RunReport report = loop.run([&] { ++count_; });
    return report.last_step;
  }
  int64_t stored(const std::string& prefix, const std::string& name) {
    return CheckpointReader(prefix, files_).read(name).scalar<int64_t>();
  }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_;
  int64_t count_ = 0;
  int64_t seen_ = 0;
};

TEST_F(LoopSaveTest, SavesWithoutARun) {
  count_ = 7;
  {
    Loop loop(options(3));
    loop.track("count", count_);
    EXPECT_EQ(loop.save(), "run/model.ckpt-0");
  }
  count_ = 0;
  Loop loop(options(3));
  loop.track("count", count_);
  EXPECT_EQ(loop.run([&] { ++count_; }).resumed_from, 0);
  EXPECT_EQ(count_, 10);
}

TEST_F(LoopSaveTest, SavesWhatWasChangedAfterRestore) {
  count_to(12);
  seen_ = 0;
  Loop loop(options(15));
  loop.track("count", count_);
  EXPECT_EQ(loop.restore(), 12);
  count_ = 1000;
  EXPECT_EQ(loop.save(), "run/model.ckpt-12");
  EXPECT_EQ(stored("run/model.ckpt-12", "count"), 1000);
  EXPECT_EQ(stored("run/model.ckpt-12", "global_step"), 12);
  // The state of hooks is still there.
  EXPECT_EQ(stored("run/model.ckpt-12", "hooks/StepCountingHook/count"), 12);
  EXPECT_EQ(loop.run([&] { ++count_; }).first_step, 12);
  EXPECT_EQ(count_, 1003);
  EXPECT_EQ(seen_, 15);
}

TEST_F(LoopSaveTest, SavesWhatWasChangedAfterTheRun) {
  Loop loop(options(8));
  loop.track("count", count_);
  loop.run([&] { ++count_; });
  count_ = -1;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(loop.save(), "run/model.ckpt-8");
  EXPECT_EQ(stored("run/model.ckpt-8", "count"), -1);
  EXPECT_EQ(stored("run/model.ckpt-8", "hooks/StepCountingHook/count"), 8);
  EXPECT_THAT(list_checkpoints(files_, "run", "model.ckpt"),
              ElementsAre("run/model.ckpt-0", "run/model.ckpt-5", "run/model.ckpt-8"));
  EXPECT_EQ(count_to(10), 10);
  EXPECT_EQ(count_, 1);
  EXPECT_EQ(seen_, 10);
}

TEST_F(LoopSaveTest, RefusesToSaveInAStep) {
  Loop loop(options(8));
  loop.track("count", count_);
  EXPECT_THAT([&] { loop.run([&] { loop.save(); }); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("use Step::request_save()")));
}

TEST_F(LoopSaveTest, RefusesToSaveHalfAStep) {
  Loop loop(options(8));
  loop.track("count", count_);
  EXPECT_THROW(loop.run([] { throw std::runtime_error("gone"); }), std::runtime_error);
  EXPECT_THAT([&] { loop.save(); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("after a run that failed")));
}

// Else an old step would be saved beside later ones, which the next run would restore.
TEST_F(LoopSaveTest, RefusesToSaveBesideCheckpointsThatAreNotRestored) {
  count_to(8);
  Loop loop(options(20));
  loop.track("count", count_);
  EXPECT_THAT([&] { loop.save(); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("call restore() or run() first")));
}

TEST_F(LoopSaveTest, RefusesToSaveNowhere) {
  Loop loop({});
  EXPECT_THAT([&] { loop.save(); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("no checkpoint.dir")));
}

TEST_F(LoopSaveTest, RefusesToSaveIntoAnotherRun) {
  Loop other(options(1));
  other.track("count", count_);
  int64_t mine = 0;
  Loop loop(options(8));
  loop.track("mine", mine);
  other.run([&] { EXPECT_THROW(loop.save(), FailedPreconditionError); });
}

}  // namespace
}  // namespace crochet
