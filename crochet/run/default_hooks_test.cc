// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/default_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/hooks/signal_hook.h"

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

TEST(DefaultHooksTest, WritesSummariesWithoutCheckpoints) {
  EXPECT_THAT(names({.summary_dir = "logs", .save_summaries_secs = 1}),
              ElementsAre("StepCounterHook", "SummarySaverHook"));
}

TEST(DefaultHooksTest, RefusesConflictingAndNegativeIntervals) {
  EXPECT_THROW(
      names({.checkpoint_dir = "run", .save_checkpoint_secs = 1, .save_checkpoint_steps = 1}),
      InvalidArgumentError);
  EXPECT_THROW(names({.summary_dir = "run", .save_summaries_steps = 1, .save_summaries_secs = 1}),
               InvalidArgumentError);
  EXPECT_THROW(names({.log_step_count_steps = -1}), InvalidArgumentError);
  EXPECT_THROW(names({.save_checkpoint_secs = -0.5}), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
