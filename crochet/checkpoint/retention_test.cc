// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/retention.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/checkpoint_history.h"

namespace crochet {
namespace {

using internal::CheckpointHistory;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kHour = 3600;

// "m-<step>", saved at this time.
CheckpointRecord record(int64_t step, double time = 0) {
  return {.prefix = fmt::format("m-{}", step), .time = time, .step = step};
}

// Adds the record, and removes at once what the policies let go, which is returned.
std::vector<std::string> add_and_sweep(CheckpointHistory& history, const CheckpointRecord& added) {
  history.add(added);
  const std::vector<std::string> removed = history.sweep();
  for (const std::string& prefix : removed) history.remove(prefix);
  return removed;
}

TEST(RetentionTest, RefusesNumbersThatKeepNothing) {
  EXPECT_THROW(keep_newest(0), InvalidArgumentError);
  EXPECT_THROW(keep_every_hours(0), InvalidArgumentError);
  EXPECT_THROW(keep_every_hours(std::numeric_limits<double>::quiet_NaN()), InvalidArgumentError);
  EXPECT_THROW(keep_every_steps(0), InvalidArgumentError);
}

TEST(RetentionTest, NewestKeepsSoMany) {
  const RetentionPolicy policy = keep_newest(2);
  EXPECT_EQ(policy(record(1), {.num_newer = 0}), Retention::kKeep);
  EXPECT_EQ(policy(record(1), {.num_newer = 1}), Retention::kKeep);
  EXPECT_EQ(policy(record(1), {.num_newer = 2}), Retention::kRemove);
}

TEST(RetentionTest, EveryHoursCountsFromTheOnePreservedBefore) {
  const RetentionPolicy policy = keep_every_hours(1.5);
  const RetentionContext context{.num_newer = 9, .last_preserved_time = 1000};
  EXPECT_EQ(policy(record(1, 1000 + 1.4 * kHour), context), Retention::kRemove);
  EXPECT_EQ(policy(record(1, 1000 + 1.5 * kHour), context), Retention::kPreserve);
}

TEST(RetentionTest, EveryStepsPreservesTheFirstBehindEachMultiple) {
  const RetentionPolicy policy = keep_every_steps(100);
  const auto at = [&](int64_t step, int64_t last) {
    return policy(record(step), {.last_preserved_step = last});
  };
  EXPECT_EQ(at(0, 0), Retention::kRemove);
  EXPECT_EQ(at(99, 0), Retention::kRemove);
  EXPECT_EQ(at(100, 0), Retention::kPreserve);
  EXPECT_EQ(at(130, 0), Retention::kPreserve);
  EXPECT_EQ(at(199, 130), Retention::kRemove);
  EXPECT_EQ(at(205, 130), Retention::kPreserve);
  EXPECT_EQ(policy({.prefix = "best"}, {}), Retention::kRemove);
}

TEST(RetentionTest, ACheckpointStaysIfAnyPolicyKeepsIt) {
  const std::vector<RetentionPolicy> policies = {keep_newest(1), keep_every_steps(10)};
  EXPECT_EQ(combine(policies, record(7), {.num_newer = 0}), Retention::kKeep);
  EXPECT_EQ(combine(policies, record(10), {.num_newer = 0}), Retention::kKeep);
  EXPECT_EQ(combine(policies, record(10), {.num_newer = 1}), Retention::kPreserve);
  EXPECT_EQ(combine(policies, record(7), {.num_newer = 1}), Retention::kRemove);
  EXPECT_EQ(combine({}, record(7), {}), Retention::kRemove);
}

TEST(CheckpointHistoryTest, RemovesAllThatIsTooMuchAtOnce) {
  CheckpointHistory history({keep_newest(2)});
  history.set({record(1), record(2), record(3), record(4)});
  EXPECT_THAT(add_and_sweep(history, record(5)), ElementsAre("m-1", "m-2", "m-3"));
  EXPECT_THAT(history.prefixes(), ElementsAre("m-4", "m-5"));
}

TEST(CheckpointHistoryTest, WhatCouldNotBeRemovedIsTriedAgain) {
  CheckpointHistory history({keep_newest(1)});
  history.add(record(1));
  history.add(record(2));
  EXPECT_THAT(history.sweep(), ElementsAre("m-1"));
  history.add(record(3));
  EXPECT_THAT(history.sweep(), ElementsAre("m-1", "m-2"));
  EXPECT_THAT(history.prefixes_without({"m-1", "m-2"}), ElementsAre("m-3"));
}

TEST(CheckpointHistoryTest, OneSavedAgainIsTheNewest) {
  CheckpointHistory history({keep_newest(2)});
  for (const int64_t step : {1, 2}) add_and_sweep(history, record(step));
  EXPECT_THAT(add_and_sweep(history, record(1)), IsEmpty());
  EXPECT_THAT(history.prefixes(), ElementsAre("m-2", "m-1"));
}

TEST(CheckpointHistoryTest, PreservedOnesLeaveTheListAndMoveTheMark) {
  CheckpointHistory history({keep_newest(1), keep_every_hours(1), keep_every_steps(100)});
  history.set_last_preserved(0, 0);
  EXPECT_THAT(add_and_sweep(history, record(50, kHour)), IsEmpty());
  EXPECT_THAT(add_and_sweep(history, record(60, 1.5 * kHour)), IsEmpty());
  EXPECT_THAT(history.prefixes(), ElementsAre("m-60"));
  EXPECT_EQ(history.last_preserved_time(), kHour);
  EXPECT_THAT(add_and_sweep(history, record(110, 1.6 * kHour)), ElementsAre("m-60"));
  EXPECT_THAT(add_and_sweep(history, record(120, 1.7 * kHour)), IsEmpty());  // 110 stays.
  EXPECT_EQ(history.last_preserved_time(), 1.6 * kHour);
}

TEST(CheckpointHistoryTest, OneOfUnknownTimeIsNeverRemoved) {
  CheckpointHistory history({keep_newest(1)});
  history.set_last_preserved(7, 0);
  history.add(record(1, std::numeric_limits<double>::infinity()));
  EXPECT_THAT(add_and_sweep(history, record(2)), IsEmpty());
  EXPECT_THAT(history.prefixes(), ElementsAre("m-2"));
  EXPECT_EQ(history.last_preserved_time(), 7);
}

TEST(CheckpointHistoryTest, TheNewestStaysWhateverThePoliciesSay) {
  CheckpointHistory history({keep_every_steps(100)});
  EXPECT_THAT(add_and_sweep(history, record(7)), IsEmpty());
  EXPECT_THAT(add_and_sweep(history, record(8)), ElementsAre("m-7"));
}

TEST(CheckpointHistoryTest, WithoutPoliciesAllStay) {
  CheckpointHistory history;
  for (int64_t step = 0; step < 10; ++step)
    EXPECT_THAT(add_and_sweep(history, record(step)), IsEmpty());
  EXPECT_EQ(history.prefixes().size(), 10u);
}

TEST(CheckpointHistoryTest, TheStepIsBehindTheLastDash) {
  EXPECT_EQ(internal::step_of_prefix("d-1/m-a-00000012"), 12);
  EXPECT_EQ(internal::step_of_prefix("d/m-"), std::nullopt);
  EXPECT_EQ(internal::step_of_prefix("d-5/m"), std::nullopt);
  EXPECT_EQ(internal::step_of_prefix("m"), std::nullopt);
}

}  // namespace
}  // namespace crochet
