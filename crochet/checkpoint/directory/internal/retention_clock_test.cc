// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/retention_clock.h"

#include <limits>

#include <gtest/gtest.h>

#include "crochet/testing/fake_clock.h"

namespace crochet::internal {
namespace {

constexpr double kNow = 1'700'000'000;
constexpr double kYear = 365.25 * 24 * 3600;

TEST(RetentionClockTest, ContinuesFromTimesOfAnEarlierProcess) {
  FakeClock clock(kNow);
  RetentionClock time(clock);
  EXPECT_EQ(time.now(), kNow);
  time.catch_up(kNow + 20 * kYear);
  EXPECT_EQ(time.now(), kNow + 20 * kYear);
  clock.set_wall_time(0);
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(time.now(), kNow + 20 * kYear + 5);
}

TEST(RetentionClockTest, AClockWithoutABatteryTrustsTheFiles) {
  FakeClock clock(0);
  RetentionClock time(clock);
  time.catch_up(kNow);
  EXPECT_EQ(time.now(), kNow);
}

TEST(RetentionClockTest, NeverDecreasesAndIgnoresImplausibleTimes) {
  FakeClock clock(kNow);
  RetentionClock time(clock);
  for (const double written :
       {253'402'300'799.0, kNow + 101 * kYear, std::numeric_limits<double>::infinity(),
        std::numeric_limits<double>::quiet_NaN(), 1e300, 0.0, -1.0, -1e300}) {
    time.catch_up(written);
    EXPECT_EQ(time.now(), kNow) << written;
  }
  EXPECT_EQ(time.plausible(253'402'300'799.0), kNow);
  EXPECT_EQ(time.plausible(kNow - 1), kNow - 1);
  EXPECT_EQ(time.plausible(kNow + 1), kNow + 1);
}

}  // namespace
}  // namespace crochet::internal
