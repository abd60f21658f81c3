// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/fake_clock.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace crochet {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FakeClockTest, StaysUnchangedUntilAdvanced) {
  FakeClock clock(500);
  const Clock::TimePoint start = clock.now();
  EXPECT_EQ(clock.now(), start);
  EXPECT_EQ(clock.wall_time(), 500);
  clock.advance(seconds(3));
  EXPECT_EQ(clock.now() - start, seconds(3));
  EXPECT_EQ(clock.wall_time(), 503);
}

TEST(FakeClockTest, SleepingMovesItAndIsRecorded) {
  FakeClock clock;
  const Clock::TimePoint start = clock.now();
  EXPECT_TRUE(clock.sleep_for(seconds(30)));
  EXPECT_TRUE(clock.sleep_for(seconds(1)));
  EXPECT_EQ(clock.now() - start, seconds(31));
  EXPECT_THAT(clock.sleeps(), ElementsAre(seconds(30), seconds(1)));
}

TEST(FakeClockTest, DoesNotSleepAfterAStop) {
  FakeClock clock;
  const Clock::TimePoint start = clock.now();
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(clock.sleep_for(seconds(30), stop.get_token()));
  EXPECT_EQ(clock.now(), start);
  EXPECT_THAT(clock.sleeps(), IsEmpty());
}

TEST(FakeClockTest, SetsTheWallClockIndependently) {
  FakeClock clock(500);
  const Clock::TimePoint start = clock.now();
  clock.set_wall_time(100);
  EXPECT_EQ(clock.wall_time(), 100);
  EXPECT_EQ(clock.now(), start);
}

TEST(FakeClockTest, AdvancesFromManyThreads) {
  FakeClock clock;
  const Clock::TimePoint start = clock.now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&clock] {
        for (int k = 0; k < 100; ++k) clock.sleep_for(seconds(1));
      });
  }
  EXPECT_EQ(clock.now() - start, seconds(400));
  EXPECT_EQ(clock.sleeps().size(), 400);
}

}  // namespace
}  // namespace crochet
