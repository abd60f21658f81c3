// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/retention.h"

#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"
#include "crochet/checkpoint/format/internal/file_names.h"

namespace crochet {
namespace {

using internal::CheckpointHistory;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr double kHour = 3600;

// "m-<step>", saved at this time.
CheckpointRecord record(int64_t step, double time = 0) {
  return {.prefix = fmt::format("m-{}", step), .time = time, .step = step, .published = true};
}

// Adds the record, and removes and returns the checkpoints that the policies do not keep.
std::vector<std::string> add_and_sweep(CheckpointHistory& history, const CheckpointRecord& added) {
  history.add(added);
  const std::vector<std::string> removed = history.sweep().surplus;
  for (const std::string& prefix : removed) history.remove(prefix);
  return removed;
}

TEST(RetentionTest, RejectsNumbersThatKeepNothing) {
  EXPECT_THROW(keep_newest(0), InvalidArgumentError);
  EXPECT_THROW(keep_every_hours(0), InvalidArgumentError);
  EXPECT_THROW(keep_every_hours(std::numeric_limits<double>::quiet_NaN()), InvalidArgumentError);
  EXPECT_THROW(keep_every_steps(0), InvalidArgumentError);
}

TEST(RetentionTest, KeepNewestKeepsTheGivenNumber) {
  const RetentionPolicy policy = keep_newest(2);
  EXPECT_EQ(policy(record(1), {.num_newer = 0}), Retention::kKeep);
  EXPECT_EQ(policy(record(1), {.num_newer = 1}), Retention::kKeep);
  EXPECT_EQ(policy(record(1), {.num_newer = 2}), Retention::kRemove);
}

TEST(RetentionTest, EveryHoursCountsFromTheLastPreservedOne) {
  const RetentionPolicy policy = keep_every_hours(1.5);
  const RetentionContext context{.num_newer = 9, .last_preserved_time = 1000};
  EXPECT_EQ(policy(record(1, 1000 + 1.4 * kHour), context), Retention::kRemove);
  EXPECT_EQ(policy(record(1, 1000 + 1.5 * kHour), context), Retention::kPreserve);
}

TEST(RetentionTest, EveryStepsPreservesTheFirstAtOrAfterEachMultiple) {
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

// "m-<step>" with a loss.
CheckpointRecord with_loss(int64_t step, double loss) {
  CheckpointRecord checkpoint = record(step);
  checkpoint.metrics = {{"loss", loss}};
  return checkpoint;
}

// The checkpoints that keep_best holds.
std::vector<std::string> held(const KeepBest& best, const std::vector<CheckpointRecord>& listed) {
  std::vector<std::string> prefixes;
  for (const CheckpointRecord& checkpoint : listed)
    if (keep_best(best)(checkpoint, {.listed = listed}) == Retention::kHold)
      prefixes.push_back(checkpoint.prefix);
  return prefixes;
}

TEST(KeepBestTest, HoldsTheBestOfTheListedOnes) {
  const std::vector<CheckpointRecord> listed = {with_loss(1, 3), with_loss(2, 1), record(3),
                                                with_loss(4, 2), with_loss(5, 4)};
  EXPECT_THAT(held({"loss", 1}, listed), ElementsAre("m-2"));
  EXPECT_THAT(held({"loss", 2}, listed), ElementsAre("m-2", "m-4"));
  EXPECT_THAT(held({"loss", 2, Better::kHigher}, listed), ElementsAre("m-1", "m-5"));
  EXPECT_THAT(held({"loss", 9}, listed), ElementsAre("m-1", "m-2", "m-4", "m-5"));
  EXPECT_THAT(held({"accuracy", 9}, listed), IsEmpty());
}

TEST(KeepBestTest, OfEqualOnesTheNewerIsBetter) {
  EXPECT_THAT(held({"loss", 2}, {with_loss(1, 5), with_loss(2, 5), with_loss(3, 5)}),
              ElementsAre("m-2", "m-3"));
}

TEST(KeepBestTest, NaNAndUnsoundOnesAreNeverAmongTheBest) {
  CheckpointRecord unsound = with_loss(3, 0);
  unsound.published = false;
  EXPECT_THAT(held({"loss", 2}, {with_loss(1, std::numeric_limits<double>::quiet_NaN()),
                                 with_loss(2, std::numeric_limits<double>::infinity()), unsound,
                                 with_loss(4, 1)}),
              testing::IsSupersetOf({"m-2", "m-4"}));
}

TEST(KeepBestTest, RejectsOptionsThatKeepNothing) {
  EXPECT_THROW(keep_best({"loss", 0}), InvalidArgumentError);
  EXPECT_THROW(keep_best({"", 1}), InvalidArgumentError);
}

TEST(CheckpointHistoryTest, AHeldCheckpointIsStillPreserved) {
  CheckpointHistory history({keep_newest(1), keep_every_steps(100), keep_best({"loss", 1})});
  EXPECT_THAT(add_and_sweep(history, with_loss(100, 1)), IsEmpty());
  EXPECT_THAT(add_and_sweep(history, with_loss(150, 2)), IsEmpty());
  EXPECT_THAT(history.prefixes(), ElementsAre("m-150"));  // 100 is kept forever.
  EXPECT_THAT(add_and_sweep(history, with_loss(160, 3)), IsEmpty());
  EXPECT_THAT(add_and_sweep(history, with_loss(170, 1)), ElementsAre("m-150", "m-160"));
}

TEST(CheckpointHistoryTest, PinnedOnesStayUntilUnpinned) {
  CheckpointHistory history({keep_newest(1)});
  CheckpointRecord pinned = record(1);
  pinned.pinned = true;
  history.add(pinned);
  EXPECT_THAT(add_and_sweep(history, record(2)), IsEmpty());
  EXPECT_THAT(add_and_sweep(history, record(3)), ElementsAre("m-2"));
  history.update({record(1)});
  EXPECT_THAT(add_and_sweep(history, record(4)), ElementsAre("m-1", "m-3"));
}

TEST(CheckpointHistoryTest, TheLastSoundOneStays) {
  CheckpointHistory history({keep_newest(1)});
  CheckpointRecord foreign = record(2);
  foreign.published = false;
  history.set({record(1), foreign});
  EXPECT_THAT(history.sweep().surplus, IsEmpty());
  EXPECT_THAT(history.prefixes(), ElementsAre("m-1", "m-2"));
  history.set_verified("m-2");
  EXPECT_THAT(history.sweep().surplus, ElementsAre("m-1"));
}

TEST(CheckpointHistoryTest, UnpublishedOnesLeaveTheListAndStay) {
  CheckpointHistory history({keep_newest(1)});
  CheckpointRecord foreign = record(1);
  foreign.published = false;
  history.set({foreign, record(2)});
  EXPECT_THAT(add_and_sweep(history, record(3)), ElementsAre("m-2"));
  EXPECT_THAT(history.prefixes(), ElementsAre("m-3"));
}

TEST(CheckpointHistoryTest, RemovesAllSurplusAtOnce) {
  CheckpointHistory history({keep_newest(2)});
  history.set({record(1), record(2), record(3), record(4)});
  EXPECT_THAT(add_and_sweep(history, record(5)), ElementsAre("m-1", "m-2", "m-3"));
  EXPECT_THAT(history.prefixes(), ElementsAre("m-4", "m-5"));
}

TEST(CheckpointHistoryTest, RetriesFailedRemovals) {
  CheckpointHistory history({keep_newest(1)});
  history.add(record(1));
  history.add(record(2));
  EXPECT_THAT(history.sweep().surplus, ElementsAre("m-1"));
  history.add(record(3));
  EXPECT_THAT(history.sweep().surplus, ElementsAre("m-1", "m-2"));
  history.remove("m-1");
  history.remove("m-2");
  EXPECT_THAT(history.prefixes(), ElementsAre("m-3"));
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

TEST(CheckpointHistoryTest, TheNewestAlwaysStays) {
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

TEST(CheckpointHistoryTest, TheStepFollowsTheLastDash) {
  EXPECT_EQ(internal::step_of_prefix("d-1/m-a-00000012"), 12);
  EXPECT_EQ(internal::step_of_prefix("d/m-"), std::nullopt);
  EXPECT_EQ(internal::step_of_prefix("d-5/m"), std::nullopt);
  EXPECT_EQ(internal::step_of_prefix("m"), std::nullopt);
}

}  // namespace
}  // namespace crochet
