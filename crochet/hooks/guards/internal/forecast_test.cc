// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/internal/forecast.h"

#include <cmath>

#include <gtest/gtest.h>

namespace crochet::internal {
namespace {

TEST(ForecastTest, ALineReachesItsLimit) {
  Forecast forecast;
  for (int i = 0; i < 100; ++i) forecast.add(1000 + 30 * i, 50 + 2 * i);
  EXPECT_NEAR(*forecast.secs_until(448), (448 - 248) / 2.0 * 30, 1e-6);
  EXPECT_EQ(forecast.secs_until(100), 0) << "it is there already";
}

TEST(ForecastTest, WhatDoesNotGrowReachesNothing) {
  Forecast forecast;
  EXPECT_FALSE(forecast.secs_until(1));
  for (int i = 0; i < 100; ++i) forecast.add(30 * i, 50 - i);
  EXPECT_FALSE(forecast.secs_until(1000));
  Forecast flat;
  for (int i = 0; i < 100; ++i) flat.add(30 * i, 50);
  EXPECT_FALSE(flat.secs_until(1000));
}

TEST(ForecastTest, NeedsTenSamples) {
  Forecast forecast;
  for (int i = 0; i < 9; ++i) forecast.add(i, i);
  EXPECT_FALSE(forecast.secs_until(100));
  forecast.add(9, 9);
  EXPECT_TRUE(forecast.secs_until(100));
}

// A program that grew while it started, and then no more.
TEST(ForecastTest, OnlyTheLastTwoHoursCount) {
  Forecast forecast;
  for (int i = 0; i < 100; ++i) forecast.add(30 * i, 1000 * i);
  for (int i = 100; i < 1000; ++i) forecast.add(30 * i, 100'000);
  EXPECT_FALSE(forecast.secs_until(200'000));
}

// Up and down with every step of an allocator.
TEST(ForecastTest, NoiseAroundALineIsAveraged) {
  Forecast forecast;
  for (int i = 0; i < 200; ++i) forecast.add(30 * i, 10 * i + 100 * std::sin(i));
  const double last = 10 * 199 + 100 * std::sin(199);
  EXPECT_NEAR(*forecast.secs_until(5000), (5000 - last) / 10 * 30, 1500);
}

TEST(ForecastTest, SamplesOfOneMomentAreNotALine) {
  Forecast forecast;
  for (int i = 0; i < 100; ++i) forecast.add(5, i);
  EXPECT_FALSE(forecast.secs_until(1000));
}

}  // namespace
}  // namespace crochet::internal
