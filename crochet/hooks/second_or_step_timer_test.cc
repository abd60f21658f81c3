// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/second_or_step_timer.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"

namespace crochet {
namespace {

// BH-1, BH-2: exactly one interval.
TEST(SecondOrStepTimerTest, RequiresExactlyOneInterval) {
  EXPECT_THROW(SecondOrStepTimer({.every_steps = 10, .every_secs = 2.0}), InvalidArgumentError);
  EXPECT_THROW(SecondOrStepTimer({}), InvalidArgumentError);
}

TEST(SecondOrStepTimerTest, ErrorsNameTheOptionsOfTheOwner) {
  const auto refused = [](std::optional<int64_t> steps, std::optional<double> secs,
                          const char* message) {
    EXPECT_THAT(
        [&] {
          SecondOrStepTimer({.every_steps = steps,
                             .every_secs = secs,
                             .owner = "SaverHook",
                             .steps_option = "save_steps",
                             .secs_option = "save_secs"});
        },
        testing::ThrowsMessage<InvalidArgumentError>(message));
  };
  refused(10, 2,
          "SaverHook: save_steps is 10 and save_secs is 2: exactly one of them may be given");
  refused({}, {}, "SaverHook: exactly one of save_steps and save_secs must be given");
  refused(-1, {}, "SaverHook: save_steps is -1, expected 1 or more");
  refused({}, -0.5, "SaverHook: save_secs is -0.5, expected more than 0");
}

TEST(SecondOrStepTimerTest, RejectsIntervalsThatAreNotAboveZero) {
  for (const double secs : {0.0, -1.0, std::nan("")})
    EXPECT_THROW(SecondOrStepTimer({.every_secs = secs}), InvalidArgumentError) << secs;
  for (const int64_t steps : {0, -1})
    EXPECT_THROW(SecondOrStepTimer({.every_steps = steps}), InvalidArgumentError) << steps;
}

// BH-3: the first query fires, the same step never again, another once the time has passed.
TEST(SecondOrStepTimerTest, TriggersEveryNSeconds) {
  FakeClock clock;
  SecondOrStepTimer timer({.every_secs = 1.0, .clock = &clock});
  EXPECT_TRUE(timer.should_trigger_for_step(1));
  timer.update_last_triggered_step(1);
  EXPECT_FALSE(timer.should_trigger_for_step(1));
  EXPECT_FALSE(timer.should_trigger_for_step(2));
  clock.advance(std::chrono::seconds(1));
  EXPECT_FALSE(timer.should_trigger_for_step(1));
  EXPECT_TRUE(timer.should_trigger_for_step(2));
}

TEST(SecondOrStepTimerTest, MeasuresShortIntervalsExactly) {
  class LateClock final : public Clock {
   public:
    TimePoint now() const override { return exact.now(); }
    TimePoint coarse_now() const override { return now() - std::chrono::milliseconds(10); }
    double wall_time() const override { return exact.wall_time(); }
    bool sleep_for(Duration duration, const std::stop_token& stop) override {
      return exact.sleep_for(duration, stop);
    }

    FakeClock exact;
  };
  LateClock clock;
  SecondOrStepTimer half({.every_secs = 0.5, .clock = &clock});
  SecondOrStepTimer two({.every_secs = 2, .clock = &clock});
  half.update_last_triggered_step(1);
  two.update_last_triggered_step(1);
  clock.exact.advance(std::chrono::milliseconds(500));
  EXPECT_TRUE(half.should_trigger_for_step(2));
  clock.exact.advance(std::chrono::milliseconds(1500));
  EXPECT_FALSE(two.should_trigger_for_step(2));
  clock.exact.advance(std::chrono::milliseconds(10));
  EXPECT_TRUE(two.should_trigger_for_step(2));
}

// BH-4: every three steps.
TEST(SecondOrStepTimerTest, TriggersEveryNSteps) {
  SecondOrStepTimer timer({.every_steps = 3});
  EXPECT_TRUE(timer.should_trigger_for_step(17));
  timer.update_last_triggered_step(17);
  EXPECT_FALSE(timer.should_trigger_for_step(17));
  EXPECT_FALSE(timer.should_trigger_for_step(18));
  EXPECT_FALSE(timer.should_trigger_for_step(19));
  EXPECT_TRUE(timer.should_trigger_for_step(20));
  EXPECT_FALSE(timer.should_trigger_for_step(16));
}

// BH-5: the time and steps between two triggers.
TEST(SecondOrStepTimerTest, ReturnsTheElapsedTimeAndSteps) {
  FakeClock clock;
  SecondOrStepTimer timer({.every_steps = 1, .clock = &clock});
  EXPECT_EQ(timer.last_triggered_step(), std::nullopt);
  EXPECT_FALSE(timer.update_last_triggered_step(1));
  clock.advance(std::chrono::milliseconds(1500));
  const auto elapsed = timer.update_last_triggered_step(5);
  EXPECT_DOUBLE_EQ(elapsed->secs, 1.5);
  EXPECT_EQ(elapsed->steps, 4);
  EXPECT_EQ(timer.last_triggered_step(), 5);
  EXPECT_EQ(timer.update_last_triggered_step(3)->steps, -2);
}

TEST(SecondOrStepTimerTest, ForgetsTheLastTriggerWhenReset) {
  SecondOrStepTimer timer({.every_steps = 100});
  timer.update_last_triggered_step(1);
  timer.reset();
  EXPECT_TRUE(timer.should_trigger_for_step(1));
  EXPECT_FALSE(timer.update_last_triggered_step(2));
}

TEST(SecondOrStepTimerTest, AcceptsTheLongestIntervals) {
  SecondOrStepTimer steps({.every_steps = std::numeric_limits<int64_t>::max()});
  steps.update_last_triggered_step(5);
  EXPECT_FALSE(steps.should_trigger_for_step(6));
  SecondOrStepTimer secs({.every_secs = 1e300});
  secs.update_last_triggered_step(5);
  EXPECT_FALSE(secs.should_trigger_for_step(6));
}

}  // namespace
}  // namespace crochet
