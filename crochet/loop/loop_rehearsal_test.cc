// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A resume is rehearsed before the first step.
#include <memory>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/group/group.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

class LoopRehearsalTest : public testing::Test {
 protected:
  LoopOptions options(int64_t last_step = 5) {
    return {.checkpoint = {.dir = "run", .every_steps = 2},
            .hooks = {StopAtStepHook({.last_step = last_step})},
            .debug = {.rehearsal_steps = 3},
            .files = &files_,
            .clock = &clock_};
  }
  bool left_no_trace() {
    for (const std::string& name : files_.list("run"))
      if (name.find("rehearsal") != std::string::npos) return false;
    return true;
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
};

TEST_F(LoopRehearsalTest, LeavesTheRunAsItWouldBeWithoutIt) {
  std::mt19937 generator(7), expected(7);
  int64_t num_calls = 0;
  std::vector<uint32_t> drawn;
  for (const int64_t last : {5, 9}) {
    Loop loop(options(last));
    loop.track("generator", generator);
    loop.track("drawn", drawn);
    const RunReport report = loop.run([&] {
      ++num_calls;
      drawn.push_back(generator());
    });
    EXPECT_EQ(report.last_step, last);
  }
  EXPECT_EQ(num_calls, 9 + 2 * 6);
  ASSERT_EQ(drawn.size(), 9);
  for (const uint32_t number : drawn) EXPECT_EQ(number, expected());
  EXPECT_TRUE(log_.contains("rehearsed 3 steps"));
  EXPECT_TRUE(left_no_trace());
  EXPECT_EQ(latest_checkpoint(files_, "run"), "run/model.ckpt-9");
}

TEST_F(LoopRehearsalTest, NamesTheFirstValueThatDependsOnWhatIsNotTracked) {
  std::mt19937 generator(7);
  std::vector<double> noise(4);
  int64_t count = 0;
  Loop loop(options());
  loop.track("noise", noise);
  loop.track("count", count);
  EXPECT_THAT(
      [&] {
        loop.run([&] {
          ++count;
          noise[2] = generator();
        });
      },
      ThrowsMessage<FailedPreconditionError>(
          AllOf(HasSubstr("the rehearsal failed: \"noise\" differs: its element 2 of 4"),
                HasSubstr("something that is not tracked"))));
  EXPECT_EQ(count, 0);
  EXPECT_TRUE(left_no_trace());
}

TEST_F(LoopRehearsalTest, NamesAValueOfAnotherSize) {
  std::vector<int64_t> seen;
  int64_t position = 0;
  Loop loop(options());
  loop.track("seen", seen);
  EXPECT_THAT(
      [&] {
        loop.run([&] {
          if (++position % 2 == 0) seen.push_back(position);
        });
      },
      ThrowsMessage<FailedPreconditionError>(
          HasSubstr("\"seen\" differs: int64 [1] = 2 and int64 [2]")));
}

// A reader at its end must not look as if nothing differed.
TEST_F(LoopRehearsalTest, NoticesDataThatEndsEarlierTheSecondTime) {
  int64_t position = 0;
  int64_t sum = 0;
  Loop loop(options());
  loop.track("sum", sum);
  EXPECT_THROW(loop.run([&] {
    if (position == 4) throw OutOfRangeError("no more data");
    sum += ++position;
  }),
               FailedPreconditionError);
}

TEST_F(LoopRehearsalTest, ForgetsWhatItsStepsRequest) {
  int64_t count = 0;
  Loop loop(options());
  loop.track("count", count);
  const RunReport report = loop.run([&](Step& step) {
    ++count;
    step.request_save();
    if (count == 2 && step.number() == 2) return LoopAction::kContinue;
    if (count == 3) step.request_stop("three");
    return LoopAction::kContinue;
  });
  EXPECT_EQ(report.last_step, 3);
  EXPECT_EQ(report.stop.reason, "three");
}

TEST_F(LoopRehearsalTest, SkipsAsTheRunDoes) {
  int64_t count = 0;
  int64_t attempts = 0;
  Loop loop(options());
  loop.track("count", count);
  loop.track("attempts", attempts);
  const RunReport report = loop.run([&] {
    if (++attempts % 3 == 0) return LoopAction::kSkip;
    ++count;
    return LoopAction::kContinue;
  });
  EXPECT_EQ(report.last_step, 5);
  EXPECT_EQ(report.skipped_steps, 2);
}

TEST_F(LoopRehearsalTest, AFinishedRunMakesNoStepForIt) {
  int64_t count = 0;
  for (int start = 0; start < 2; ++start) {
    int64_t num_calls = 0;
    Loop loop(options());
    loop.track("count", count);
    loop.run([&] {
      ++count;
      ++num_calls;
    });
    EXPECT_EQ(num_calls, start == 0 ? 11 : 0);
  }
}

TEST_F(LoopRehearsalTest, AnErrorOfAStepLeavesTheStateAsItWas) {
  int64_t count = 0;
  Loop loop(options());
  loop.track("count", count);
  EXPECT_THROW(loop.run([&] {
    if (++count == 2) throw DataLossError("a broken sample");
  }),
               DataLossError);
  EXPECT_EQ(count, 0);
  EXPECT_TRUE(left_no_trace());
  EXPECT_EQ(latest_checkpoint(files_, "run"), "run/model.ckpt-0");
}

TEST_F(LoopRehearsalTest, RejectsOptionsThatCannotWork) {
  LoopOptions none = options();
  none.checkpoint.dir = "";
  none.checkpoint.every_steps.reset();
  EXPECT_THAT([&] { Loop{none}; },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("debug.rehearsal_steps = 3 has no effect without checkpoint.dir")));
  LoopOptions negative = options();
  negative.debug.rehearsal_steps = -1;
  EXPECT_THROW(Loop{negative}, InvalidArgumentError);
  LoopOptions grouped = options();
  grouped.ranks.group = std::make_shared<SingleGroup>();
  EXPECT_THAT([&] { Loop{grouped}; },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("rehearsal_steps: not with a group")));
}

}  // namespace
}  // namespace crochet
