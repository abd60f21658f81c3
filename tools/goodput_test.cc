// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/goodput.h"

#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "crochet/testing/memory_file_system.h"

namespace crochet::tool {
namespace {

class GoodputTest : public testing::Test {
 protected:
  GoodputTest() { files_.create_directories("run"); }

  // Adds an event at these seconds since the beginning of life 1; the machine of another life has
  // been up for another time.
  void add(int life, const std::string& event, int64_t step, double time,
           const std::string& fields = "") {
    text_ += fmt::format(R"({{"event":"{}","life":{},"step":{},"time":{},"steady":{}{}}})", event,
                         life, step, 1e9 + time, 5000.0 * life + time, fields) +
             "\n";
  }
  Goodput goodput() {
    replace_file(files_, "run/events.jsonl", text_);
    return goodput_of(internal::read_journal(files_, "run"));
  }

  MemoryFileSystem files_;
  std::string text_;
};

TEST_F(GoodputTest, TheStepsHaveWhatIsLeft) {
  add(1, "start", 0, 0);
  add(1, "progress", 1, 3, R"(,"setup_secs":2)");
  add(1, "save", 50, 40);
  add(1, "progress", 100, 103,
      R"(,"setup_secs":2,"saving_secs":5,"slowed_secs":4,"evaluation_secs":10,"waiting_secs":3,)"
      R"("hooks_secs":8,"hooks/A":6,"hooks/B":2)");
  add(1, "end", 150, 153,
      R"(,"setup_secs":2,"saving_secs":6,"slowed_secs":4,"evaluation_secs":20,"waiting_secs":3,)"
      R"("hooks_secs":9,"hooks/A":7,"hooks/B":2)");
  const Goodput sums = goodput();
  EXPECT_DOUBLE_EQ(sums.total(), 153);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kRestore), 2);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kSaving), 6);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kSlowed), 4);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kEvaluation), 20);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kWaiting), 3);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kHooks), 9);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kSteps), 153 - 44);
  EXPECT_DOUBLE_EQ(sums.part(), (153.0 - 44) / 153);
  EXPECT_EQ(sums.by_hook, (std::map<std::string, double>{{"A", 7}, {"B", 2}}));
  EXPECT_EQ(sums.steps, 150);
  EXPECT_EQ(sums.repeated_steps, 0);
}

// Life 1 is killed at step 100, and life 2 continues from step 60.
TEST_F(GoodputTest, OnlyStepsMadeForTheFirstTimeAreGoodput) {
  add(1, "start", 0, 0);
  add(1, "progress", 1, 1, R"(,"setup_secs":0)");
  add(1, "progress", 100, 100, R"(,"setup_secs":0)");
  add(2, "start", 0, 130);
  add(2, "warning", 60, 135);  // Of what is lost: the journal knows the step already.
  add(2, "restore", 60, 135);
  add(2, "progress", 61, 136, R"(,"setup_secs":5)");
  add(2, "progress", 160, 235, R"(,"setup_secs":5)");
  add(2, "end", 200, 275, R"(,"setup_secs":5)");
  const Goodput sums = goodput();
  EXPECT_DOUBLE_EQ(sums.total(), 275);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kDown), 30);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kRestore), 5);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kRepeated), 40);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kSteps), 200);
  EXPECT_EQ(sums.steps, 200);
  EXPECT_EQ(sums.repeated_steps, 40);
}

TEST_F(GoodputTest, ARecoveryRepeatsStepsToo) {
  add(1, "start", 0, 0);
  add(1, "progress", 1, 1, R"(,"setup_secs":0)");
  add(1, "recovery", 50, 50);
  add(1, "restore", 30, 52);
  add(1, "progress", 100, 122, R"(,"setup_secs":2)");
  const Goodput sums = goodput();
  EXPECT_DOUBLE_EQ(sums.total(), 122);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kRestore), 2);
  EXPECT_EQ(sums.repeated_steps, 20);
  EXPECT_EQ(sums.steps, 100);
  EXPECT_NEAR(sums.of(TimeUse::kRepeated), 119.0 * 20 / 119, 1e-9);
}

TEST_F(GoodputTest, ALifeWithoutAStepWasOnlyARestore) {
  add(1, "start", 0, 0);
  add(1, "progress", 1, 1, R"(,"setup_secs":0)");
  add(1, "end", 10, 11, R"(,"setup_secs":0)");
  add(2, "start", 0, 21);
  add(2, "restore", 10, 24);
  add(2, "warning", 10, 25);
  const Goodput sums = goodput();
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kRestore), 4);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kDown), 10);
  EXPECT_DOUBLE_EQ(sums.total(), 25);
}

// The checkpoint of another run: its steps are not ours.
TEST_F(GoodputTest, ARunThatBeginsAtALaterStepHasNotRepeatedThem) {
  add(1, "start", 0, 0);
  add(1, "restore", 5000, 2);
  add(1, "progress", 5001, 3, R"(,"setup_secs":2)");
  add(1, "end", 5100, 102, R"(,"setup_secs":2)");
  EXPECT_EQ(goodput().repeated_steps, 0);
  EXPECT_EQ(goodput().steps, 100);
}

// Of short steps, hooks are measured in a sample: early in a run that may be more than there was.
TEST_F(GoodputTest, WhatWasMeasuredIsNeverMoreThanTheTime) {
  add(1, "start", 0, 0);
  add(1, "progress", 1, 2, R"(,"setup_secs":1,"hooks_secs":9)");
  const Goodput sums = goodput();
  EXPECT_DOUBLE_EQ(sums.total(), 2);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kSteps), 0);
  EXPECT_DOUBLE_EQ(sums.of(TimeUse::kHooks), 1.8);
}

// Somebody has set the clock within a life, and between two.
TEST_F(GoodputTest, AClockThatJumpsChangesNoLifeAndNoTimeIsNegative) {
  text_ = R"({"event":"start","life":1,"step":0,"time":1000,"steady":10})"
          "\n"
          R"({"event":"progress","life":1,"step":5,"time":90000,"steady":20,"setup_secs":0})"
          "\n"
          R"({"event":"start","life":2,"step":0,"time":500,"steady":1})"
          "\n"
          R"({"event":"progress","life":2,"step":9,"time":510,"steady":11,"setup_secs":0})"
          "\n";
  EXPECT_DOUBLE_EQ(goodput().total(), 20);
}

TEST_F(GoodputTest, AStrangersNumbersStayFinite) {
  for (const char* const number : {"1e308", "-1e308", "-5", "1e17"}) {
    text_.clear();
    add(1, "start", 0, 0);
    add(1, "progress", 1, 2,
        fmt::format(R"(,"setup_secs":{0},"hooks_secs":{0},"hooks/A":{0})", number));
    text_ += fmt::format(
        R"({{"event":"progress","life":1,"step":9,"time":{0},"steady":{0},"setup_secs":{0}}})"
        "\n",
        number);
    text_ += fmt::format(R"({{"event":"start","life":7,"step":9,"time":{0},"steady":{0}}})"
                         "\n",
                         number);
    const Goodput sums = goodput();
    EXPECT_TRUE(std::isfinite(sums.total())) << number;
    EXPECT_GE(sums.total(), 0) << number;
    EXPECT_GE(sums.part(), 0) << number;
    EXPECT_LE(sums.part(), 1) << number;
    for (const double secs : sums.secs) EXPECT_GE(secs, 0) << number;
  }
}

TEST_F(GoodputTest, AnEmptyJournalHasNoTime) {
  EXPECT_EQ(goodput().total(), 0);
  EXPECT_EQ(goodput().part(), 1);
}

}  // namespace
}  // namespace crochet::tool
