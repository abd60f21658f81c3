// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/time_argument.h"

#include <stdlib.h>
#include <time.h>

#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::tool {
namespace {

TEST(TimeArgumentTest, Durations) {
  EXPECT_EQ(parse_duration("90"), 90);
  EXPECT_EQ(parse_duration("90s"), 90);
  EXPECT_EQ(parse_duration("30m"), 1800);
  EXPECT_EQ(parse_duration("2h"), 7200);
  EXPECT_EQ(parse_duration("1.5h"), 5400);
  EXPECT_EQ(parse_duration("1d"), 86400);
  EXPECT_EQ(parse_duration("0"), 0);
  for (const char* const text : {"", "h", "2 h", "2hours", "-1", "nan", "inf", "1e300d", "2h3m"})
    EXPECT_THROW(parse_duration(text), InvalidArgumentError) << text;
}

class LocalTimeTest : public testing::Test {
 protected:
  // Two hours before UTC.
  LocalTimeTest() {
    ::setenv("TZ", "TST+2", 1);
    ::tzset();
  }
  ~LocalTimeTest() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  // 2026-11-29 10:00:00 local time.
  static constexpr double kNow = 1795953600;
};

TEST_F(LocalTimeTest, DatesAndTimes) {
  EXPECT_EQ(parse_time("2026-11-29 11:00", kNow), kNow + 3600);
  EXPECT_EQ(parse_time("2026-11-29T11:00:30", kNow), kNow + 3630);
  EXPECT_EQ(parse_time("2026-12-01 10:00", kNow), kNow + 2 * 86400);
  EXPECT_EQ(parse_time("11:00", kNow), kNow + 3600);
  EXPECT_EQ(parse_time("09:00", kNow), kNow + 23 * 3600);
  EXPECT_EQ(parse_time("10:00", kNow), kNow + 86400);
}

TEST_F(LocalTimeTest, WhatIsNotATimeIsAnError) {
  for (const char* const text : {"", "soon", "25:00", "2026-13-01 10:00", "2026-11-29", "11:00 x",
                                 "2026-11-29 09:59", "1999-01-01 10:00"})
    EXPECT_THROW(parse_time(text, kNow), InvalidArgumentError) << text;
}

}  // namespace
}  // namespace crochet::tool
