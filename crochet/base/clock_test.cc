// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/clock.h"

#include <chrono>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

namespace crochet {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ClockTest, MovesOnlyForward) {
  Clock& clock = Clock::real();
  Clock::TimePoint last = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const Clock::TimePoint now = clock.now();
    EXPECT_GE(now, last);
    last = now;
  }
}

TEST(ClockTest, TheCoarseTimeIsOfTheSameClock) {
  Clock& clock = Clock::real();
  for (int i = 0; i < 1000; ++i) {
    const Clock::TimePoint before = clock.now();
    const Clock::TimePoint coarse = clock.coarse_now();
    EXPECT_LE(coarse, clock.now());
    EXPECT_GE(coarse, before - seconds(1));
  }
}

TEST(ClockTest, ReportsWallTime) {
  const auto system_time = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const double before = system_time();
  const double now = Clock::real().wall_time();
  EXPECT_GE(now, before - 1);
  EXPECT_LE(now, system_time() + 1);
}

TEST(ClockTest, SleepsAtLeastAsLongAsAsked) {
  Clock& clock = Clock::real();
  const Clock::TimePoint start = clock.now();
  EXPECT_TRUE(clock.sleep_for(milliseconds(5)));
  EXPECT_GE(clock.now() - start, milliseconds(5));
  EXPECT_TRUE(clock.sleep_for(seconds(0)));
  EXPECT_TRUE(clock.sleep_for(seconds(-1)));
}

TEST(ClockTest, DoesNotSleepOnceAStopIsRequested) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(Clock::real().sleep_for(hours(1), stop.get_token()));
}

// These end, within the test's time limit, only because the stop wakes them.
TEST(ClockTest, EndsASleepOnStop) {
  std::jthread sleeper(
      [](const std::stop_token& stop) { EXPECT_FALSE(Clock::real().sleep_for(hours(1), stop)); });
}

TEST(ClockTest, EndsTheLongestSleepOnStop) {
  std::jthread sleeper([](const std::stop_token& stop) {
    EXPECT_FALSE(Clock::real().sleep_for(Clock::Duration::max(), stop));
  });
}

TEST(ClockTest, ConvertsSeconds) {
  EXPECT_EQ(from_seconds(1.5), milliseconds(1500));
  EXPECT_EQ(from_seconds(-2), seconds(-2));
  EXPECT_DOUBLE_EQ(to_seconds(milliseconds(250)), 0.25);
}

TEST(ClockTest, ClampsDurationsToACentury) {
  const Clock::Duration century = hours(24 * 365 * 100);
  EXPECT_EQ(from_seconds(std::numeric_limits<double>::infinity()), century);
  EXPECT_EQ(from_seconds(1e300), century);
  EXPECT_EQ(from_seconds(std::numeric_limits<double>::quiet_NaN()), Clock::Duration(0));
  EXPECT_GT(Clock::real().now() + from_seconds(1e300), Clock::real().now());
}

}  // namespace
}  // namespace crochet
