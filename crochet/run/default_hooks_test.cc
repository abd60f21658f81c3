// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/default_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> names(const DefaultHooksOptions& options,
                               const HookList& users_hooks = {}) {
  std::vector<std::string> names;
  for (const HookHandle& hook :
       wire_default_hooks(options, users_hooks, std::make_shared<Scaffold>()).hooks)
    names.push_back(hook->name());
  return names;
}

TEST(DefaultHooksTest, PutsTheSaverBehindTheUsersHooksAndWhatGuardsItLast) {
  EXPECT_THAT(names({.checkpoint_dir = "run"}, {SignalHook({SIGTERM}), FinalOpsHook("accuracy")}),
              ElementsAre("StepCounterHook", "SummarySaverHook", "FinalOpsHook",
                          "AsyncCheckpointSaverHook", "SignalHook"));
}

TEST(DefaultHooksTest, PutsTheChiefsOwnHooksFirst) {
  EXPECT_THAT(names({.chief_only_hooks = {FinalOpsHook("accuracy")}, .checkpoint_dir = "run"},
                    {StopAtStepHook({.last_step = 1})}),
              ElementsAre("FinalOpsHook", "StepCounterHook", "SummarySaverHook", "StopAtStepHook",
                          "AsyncCheckpointSaverHook"));
}

TEST(DefaultHooksTest, GivesWorkersTheUsersHooksOnly) {
  EXPECT_THAT(names({.is_chief = false,
                     .chief_only_hooks = {FinalOpsHook("accuracy")},
                     .checkpoint_dir = "run",
                     .summary_dir = "logs"},
                    {SignalHook({SIGTERM}), StopAtStepHook({.last_step = 1})}),
              ElementsAre("StopAtStepHook", "SignalHook"));
}

TEST(DefaultHooksTest, AddsNothingWithoutADirectory) { EXPECT_THAT(names({}), IsEmpty()); }

TEST(DefaultHooksTest, SwitchesOffWhatIsZero) {
  EXPECT_THAT(names({.checkpoint_dir = "run",
                     .save_checkpoint_secs = 0,
                     .save_summaries_steps = 0,
                     .log_step_count_steps = 0}),
              IsEmpty());
  EXPECT_THAT(
      names({.checkpoint_dir = "run", .save_summaries_steps = 0, .log_step_count_steps = 0}),
      ElementsAre("AsyncCheckpointSaverHook"));
}

// Of a pair: what is not given beside a given one is off, and so is a 0.
TEST(DefaultHooksTest, TakesOneOfAPairAsTheWholeOfIt) {
  const auto num_savers = [](std::optional<double> secs, std::optional<int64_t> steps) {
    return names({.checkpoint_dir = "run",
                  .save_checkpoint_steps = steps,
                  .save_checkpoint_secs = secs,
                  .save_summaries_steps = 0,
                  .log_step_count_steps = 0})
        .size();
  };
  const auto num_summaries = [](std::optional<double> secs, std::optional<int64_t> steps) {
    return names({.summary_dir = "run",
                  .save_summaries_steps = steps,
                  .save_summaries_secs = secs,
                  .log_step_count_steps = 0})
        .size();
  };
  const auto check = [](const auto& num_hooks) {
    EXPECT_EQ(num_hooks({}, {}), 1);
    EXPECT_EQ(num_hooks(5, {}), 1);
    EXPECT_EQ(num_hooks({}, 5), 1);
    EXPECT_EQ(num_hooks(0, {}), 0);
    EXPECT_EQ(num_hooks({}, 0), 0);
    EXPECT_EQ(num_hooks(0, 0), 0);
    EXPECT_EQ(num_hooks(5, 0), 1);
    EXPECT_EQ(num_hooks(0, 5), 1);
    EXPECT_THROW(num_hooks(5, 5), InvalidArgumentError);
  };
  check(num_savers);
  check(num_summaries);
}

TEST(DefaultHooksTest, WritesSummariesWithoutCheckpoints) {
  EXPECT_THAT(names({.summary_dir = "logs", .save_summaries_secs = 1}),
              ElementsAre("StepCounterHook", "SummarySaverHook"));
}

TEST(DefaultHooksTest, RefusesConflictingAndNegativeIntervals) {
  EXPECT_THROW(
      names({.checkpoint_dir = "run", .save_checkpoint_steps = 1, .save_checkpoint_secs = 1}),
      InvalidArgumentError);
  EXPECT_THROW(names({.summary_dir = "run", .save_summaries_steps = 1, .save_summaries_secs = 1}),
               InvalidArgumentError);
  EXPECT_THROW(names({.log_step_count_steps = -1}), InvalidArgumentError);
  EXPECT_THROW(names({.save_checkpoint_secs = -0.5}), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
