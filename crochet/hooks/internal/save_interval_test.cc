// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/save_interval.h"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::internal {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// The interval after saves that each made training wait for `blocked` seconds.
double secs_for(SaveIntervalRule rule, double blocked, double write = 0.5,
                const FailureHistory& history = {}) {
  SaveInterval interval(rule);
  interval.learn(history);
  interval.record(blocked, write, 0);
  return interval.take_change()->secs;
}

TEST(SaveIntervalTest, ABudgetIsAPartOfTheTime) {
  EXPECT_DOUBLE_EQ(secs_for({.budget_percent = 1}, 0.2), 20);
  EXPECT_DOUBLE_EQ(secs_for({.budget_percent = 5}, 0.2), 4);
}

// Young's formula.
TEST(SaveIntervalTest, TheTimeBetweenFailuresHasTheLeastLoss) {
  EXPECT_DOUBLE_EQ(secs_for({.mean_secs_between_failures = 10000}, 0.5), 100);
  EXPECT_DOUBLE_EQ(secs_for({.budget_percent = 1, .mean_secs_between_failures = 10000}, 0.5), 100);
}

TEST(SaveIntervalTest, TheTimeBetweenFailuresIsLearned) {
  EXPECT_DOUBLE_EQ(secs_for({.budget_percent = 1}, 0.5, 0.5, {.num_failures = 2, .secs = 20000}),
                   100);
  // One is an accident.
  EXPECT_DOUBLE_EQ(secs_for({.budget_percent = 1}, 0.5, 0.5, {.num_failures = 1, .secs = 20000}),
                   50);
  EXPECT_DOUBLE_EQ(
      secs_for({.mean_secs_between_failures = 10000}, 0.5, 0.5, {.num_failures = 2, .secs = 2}),
      100);
}

TEST(SaveIntervalTest, HasLimits) {
  EXPECT_EQ(secs_for({.budget_percent = 1}, 1e-6), 1);
  EXPECT_EQ(secs_for({.budget_percent = 1}, 0.1, 45), 45);  // One save at a time.
  EXPECT_EQ(secs_for({.budget_percent = 1}, 1000), 3600);
  EXPECT_EQ(secs_for({.budget_percent = 1}, 1000, 5000), 5000);
}

// Those in which steps were slower are known with the next save.
TEST(SaveIntervalTest, CountsByHowMuchStepsAreSlowed) {
  SaveInterval interval({.budget_percent = 1});
  interval.record(0.2, 1, 0);
  EXPECT_DOUBLE_EQ(interval.take_change()->secs, 20);
  interval.record(0.2, 1, 0.4);
  const auto change = interval.take_change();
  EXPECT_DOUBLE_EQ(change->secs, 40);
  EXPECT_EQ(change->text,
            "a checkpoint is saved every 40 s: a save makes training wait 0.2 s, slows it by 0.2 s "
            "and takes 1 s; 1 % of the time may be for saves");
}

TEST(SaveIntervalTest, IgnoresASmallChange) {
  SaveInterval interval({.budget_percent = 1});
  EXPECT_FALSE(interval.take_change());
  interval.record(0.2, 1, 0);
  EXPECT_TRUE(interval.take_change());
  EXPECT_FALSE(interval.take_change());
  interval.record(0.22, 1, 0);
  EXPECT_FALSE(interval.take_change());
  interval.record(2, 1, 0);
  EXPECT_TRUE(interval.take_change());
}

TEST(SaveIntervalTest, WithoutARuleNothingChanges) {
  SaveInterval interval({});
  interval.record(1, 1, 1);
  EXPECT_FALSE(interval.take_change());
}

TEST(SaveIntervalTest, RefusesOptions) {
  const auto refuses = [](const SaveIntervalRule& rule, const char* text) {
    EXPECT_THAT([&] { check_interval_rule(rule, "checkpoint."); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(text)));
  };
  refuses({.budget_percent = 0}, "checkpoint.budget_percent is 0");
  refuses({.budget_percent = 51}, "at most 50");
  refuses({.mean_secs_between_failures = -1}, "checkpoint.mean_secs_between_failures is -1");
}

class FailuresTest : public testing::Test {
 protected:
  void add(int life, const char* event, double steady, const char* more = "") {
    text_ += fmt::format(R"({{"event":"{}","life":{},"step":1,"time":5,"steady":{}{}}})"
                         "\n",
                         event, life, steady, more);
    replace_file(files_, "run/events.jsonl", text_);
  }

  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  std::string text_;
};

TEST_F(FailuresTest, AreLivesThatDidNotEndByThemselves) {
  files_.create_directories("run");
  EXPECT_EQ(failures_of(files_, "run").num_failures, 0);
  add(1, "start", 100);
  add(1, "progress", 160);  // Killed.
  add(2, "start", 10);      // After a boot.
  add(2, "end", 50, R"(,"why":"error")");
  add(3, "start", 60);
  add(3, "end", 90, R"(,"why":"stop")");
  const FailureHistory history = failures_of(files_, "run");
  EXPECT_EQ(history.num_failures, 2);
  EXPECT_EQ(history.secs, 60 + 40 + 30);
}

}  // namespace
}  // namespace crochet::internal
