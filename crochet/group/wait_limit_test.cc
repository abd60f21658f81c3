// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "crochet/group/group.h"
#include "crochet/testing/fake_clock.h"

namespace crochet {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(WaitLimitTest, IsOverWhenItsTimeHasPassed) {
  FakeClock clock;
  WaitLimit limit(clock, 10);
  int num_pauses = 0;
  for (; !limit.is_over(); ++num_pauses) clock.advance(limit.pause());
  EXPECT_EQ(num_pauses, 100);
  EXPECT_EQ(limit.waited_secs(), 10);
  EXPECT_EQ(limit.pause(), Clock::Duration::zero());
}

TEST(WaitLimitTest, DoesNotCountTimeInWhichTheProcessWasSuspended) {
  FakeClock clock;
  WaitLimit limit(clock, 5);
  for (int i = 0; i < 5; ++i) {
    clock.advance(hours(3));
    EXPECT_FALSE(limit.is_over());
  }
  EXPECT_LT(limit.waited_secs(), 3);
}

TEST(WaitLimitTest, CountsPausesThatABusyMachineMakesLonger) {
  FakeClock clock;
  WaitLimit limit(clock, 5);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(limit.is_over());
    clock.advance(milliseconds(500));
  }
  EXPECT_TRUE(limit.is_over());
}

TEST(WaitLimitTest, LooksSeveralTimesInAShortLimit) {
  FakeClock clock;
  WaitLimit limit(clock, 0.01);
  clock.advance(hours(1));
  EXPECT_FALSE(limit.is_over());
  EXPECT_LT(limit.pause(), milliseconds(2));
  EXPECT_GT(limit.pause(), Clock::Duration::zero());
}

TEST(WaitLimitTest, APartCountsForTheWhole) {
  FakeClock clock;
  WaitLimit whole(clock, 3);
  for (int i = 0; i < 2; ++i) {
    WaitLimit part(whole, 2);
    while (!part.is_over()) clock.advance(part.pause());
    EXPECT_EQ(whole.waited_secs(), i == 0 ? 2 : 3);
  }
  EXPECT_TRUE(whole.is_over());
}

TEST(WaitLimitTest, SleepsNoLongerThanItsRest) {
  FakeClock clock;
  WaitLimit limit(clock, 1);
  clock.advance(milliseconds(490));
  EXPECT_FALSE(limit.is_over());
  clock.advance(milliseconds(490));
  EXPECT_FALSE(limit.is_over());
  EXPECT_EQ(limit.pause(), milliseconds(20));
  EXPECT_EQ(limit.rest(), milliseconds(20));
}

}  // namespace
}  // namespace crochet
