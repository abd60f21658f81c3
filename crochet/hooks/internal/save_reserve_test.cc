// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/save_reserve.h"

#include <chrono>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/fake_clock.h"

namespace crochet::inline v0::internal {
namespace {

using std::chrono::seconds;

class SaveReserveTest : public testing::Test {
 protected:
  std::optional<std::string> ask(bool is_saving = false, bool saves_now = false, int runs = 1) {
    return reserve_.reason_to_stop(stop_, saves_, is_saving, saves_now, runs, clock_);
  }
  // Asks each second until it is time to stop; returns how much is left then.
  double secs_left_at_stop(bool is_saving = false, bool saves_now = false, int runs = 1) {
    for (int i = 0; i < 2000; ++i) {
      if (ask(is_saving, saves_now, runs)) return stop_.time - clock_.wall_time();
      clock_.advance(seconds(1));
    }
    return -1e9;
  }

  FakeClock clock_;
  StopBefore stop_ = {.time = clock_.wall_time() + 1000, .run_secs = 1};
  SaveStatistics saves_ = {.saved = 1, .published_secs = 10};
  SaveReserve reserve_;
};

TEST_F(SaveReserveTest, LeavesTimeForASaveAndAStep) { EXPECT_EQ(secs_left_at_stop(), 16); }

TEST_F(SaveReserveTest, LeavesTimeForALongStep) {
  stop_.run_secs = 100;
  EXPECT_EQ(secs_left_at_stop(), 115);
}

TEST_F(SaveReserveTest, LeavesTimeForSavesBefore) { EXPECT_EQ(secs_left_at_stop(true, true), 36); }

TEST_F(SaveReserveTest, LeavesTimeForEachStepOfAGroup) {
  EXPECT_EQ(secs_left_at_stop(false, false, 2), 17);
}

TEST_F(SaveReserveTest, IsOfTheSlowestSave) {
  EXPECT_EQ(ask(), std::nullopt);
  saves_ = {.saved = 3, .published_secs = 50};  // 20 s each.
  EXPECT_EQ(ask(), std::nullopt);
  saves_ = {.saved = 4, .published_secs = 51};
  EXPECT_EQ(secs_left_at_stop(), 31);
}

TEST_F(SaveReserveTest, BeforeTheFirstSaveIsAMinute) {
  saves_ = {};
  EXPECT_EQ(secs_left_at_stop(true), 61);
  EXPECT_EQ(ask(), "no save has ended so far, and 61.0 s are left");
}

TEST_F(SaveReserveTest, BeforeTheFirstSaveIsHalfOfAShortTime) {
  saves_ = {};
  stop_.time = clock_.wall_time() + 20;
  EXPECT_EQ(secs_left_at_stop(), 11);
}

TEST_F(SaveReserveTest, AFirstSaveThatIsMadeNowIsTheLastOneIfTimeIsShort) {
  saves_ = {};
  EXPECT_EQ(secs_left_at_stop(false, true), 121);
}

TEST_F(SaveReserveTest, SaysWhy) {
  stop_.time = clock_.wall_time();
  EXPECT_EQ(ask(), "a save takes up to 10.0 s, and a step may take 1.0 s");
}

}  // namespace
}  // namespace crochet::inline v0::internal
