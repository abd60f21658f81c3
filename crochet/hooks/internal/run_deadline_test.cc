// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/run_deadline.h"

#include <stdlib.h>

#include <chrono>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"

namespace crochet::inline v0::internal {
namespace {

using std::chrono::seconds;

class RunDeadlineTest : public testing::Test {
 protected:
  // Calls each second until the deadline says so; returns how long before the deadline that is.
  double secs_left_at_end(RunDeadline& deadline, int step_secs = 1) {
    for (int i = 0; i < 10'000; ++i) {
      if (deadline.reached()) return kAt - clock_.wall_time();
      clock_.advance(seconds(step_secs));
    }
    return -1e9;
  }

  static constexpr double kAt = 1'000'001'000;
  FakeClock clock_;  // Begins 1,000 s before.
  SaveStatistics saves_;
};

TEST_F(RunDeadlineTest, EndsAStepBeforeIt) {
  RunDeadline deadline(kAt, {}, clock_);
  EXPECT_EQ(secs_left_at_end(deadline), 1);
}

TEST_F(RunDeadlineTest, AllowsForTheSlowestSave) {
  saves_ = {.saved = 1, .published_secs = 10};
  RunDeadline deadline(
      kAt, [&] { return saves_; }, clock_);
  EXPECT_EQ(deadline.reached(), std::nullopt);
  saves_ = {.saved = 3, .published_secs = 50};  // 20 s each.
  EXPECT_EQ(deadline.reached(), std::nullopt);
  saves_ = {.saved = 4, .published_secs = 51};
  EXPECT_EQ(secs_left_at_end(deadline), 31);
}

TEST_F(RunDeadlineTest, AllowsForALongStep) {
  RunDeadline deadline(kAt, {}, clock_);
  EXPECT_EQ(secs_left_at_end(deadline, 100), 100);
}

TEST_F(RunDeadlineTest, AnExceptionalStepIsForgotten) {
  RunDeadline deadline(kAt, {}, clock_);
  EXPECT_EQ(deadline.reached(), std::nullopt);
  clock_.advance(seconds(400));
  EXPECT_EQ(secs_left_at_end(deadline), 1);
}

TEST_F(RunDeadlineTest, SaysWhy) {
  saves_ = {.saved = 1, .published_secs = 12};
  RunDeadline deadline(
      1'000'000'000, [&] { return saves_; }, clock_);
  EXPECT_EQ(deadline.reached(),
            "the deadline is 2001-09-09 01:46:40 UTC, a save takes up to 12.0 s, and a step may "
            "take 0.0 s");
}

TEST(SlurmEndTimeTest, IsThatOfTheEnvironment) {
  LogCapture log;
  ::unsetenv("SLURM_JOB_END_TIME");
  EXPECT_EQ(slurm_end_time(), std::nullopt);
  ::setenv("SLURM_JOB_END_TIME", "1764401935", 1);
  EXPECT_EQ(slurm_end_time(), 1764401935);
  for (const char* const text :
       {"soon", "12 ", "-5", "0", "99999999999999999999", "999999999999"}) {
    ::setenv("SLURM_JOB_END_TIME", text, 1);
    EXPECT_EQ(slurm_end_time(), std::nullopt) << text;
    EXPECT_TRUE(log.contains(std::string("SLURM_JOB_END_TIME is \"") + text));
  }
  ::setenv("SLURM_JOB_END_TIME", "", 1);
  EXPECT_EQ(slurm_end_time(), std::nullopt);
  ::unsetenv("SLURM_JOB_END_TIME");
}

}  // namespace
}  // namespace crochet::inline v0::internal
