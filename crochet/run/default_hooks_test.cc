// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/default_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/local/graph.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class DefaultHooksTest : public testing::Test {
 protected:
  std::vector<std::string> names(const MonitoredTrainingSessionOptions& options) {
    std::vector<std::string> names;
    for (const HookHandle& hook :
         internal::wire_default_hooks(options, std::make_shared<Scaffold>(), nullptr))
      names.push_back(hook->name());
    return names;
  }

  local::Graph graph_;
};

TEST_F(DefaultHooksTest, PutsTheSaverAfterTheUsersHooksAndSignalHooksLast) {
  EXPECT_THAT(names({.graph = graph_,
                     .checkpoint_dir = "run",
                     .hooks = {SignalHook({SIGTERM}), FinalOpsHook("accuracy")}}),
              ElementsAre("StepCounterHook", "SummarySaverHook", "FinalOpsHook",
                          "AsyncCheckpointSaverHook", "SignalHook"));
}

TEST_F(DefaultHooksTest, PutsTheChiefsOwnHooksFirst) {
  EXPECT_THAT(names({.graph = graph_,
                     .checkpoint_dir = "run",
                     .hooks = {StopAtStepHook({.last_step = 1})},
                     .chief_only_hooks = {FinalOpsHook("accuracy")}}),
              ElementsAre("FinalOpsHook", "StepCounterHook", "SummarySaverHook", "StopAtStepHook",
                          "AsyncCheckpointSaverHook"));
}

TEST_F(DefaultHooksTest, GivesWorkersOnlyTheUsersHooks) {
  EXPECT_THAT(names({.graph = graph_,
                     .is_chief = false,
                     .checkpoint_dir = "run",
                     .hooks = {SignalHook({SIGTERM}), StopAtStepHook({.last_step = 1})},
                     .chief_only_hooks = {FinalOpsHook("accuracy")},
                     .summary_dir = "logs"}),
              ElementsAre("StopAtStepHook", "SignalHook"));
}

TEST_F(DefaultHooksTest, AddsNothingWithoutADirectory) {
  EXPECT_THAT(names({.graph = graph_}), IsEmpty());
}

TEST_F(DefaultHooksTest, AZeroIntervalSwitchesTheHookOff) {
  EXPECT_THAT(names({.graph = graph_,
                     .checkpoint_dir = "run",
                     .save_checkpoint_secs = 0,
                     .save_summaries_steps = 0,
                     .log_step_count_steps = 0}),
              IsEmpty());
  EXPECT_THAT(names({.graph = graph_,
                     .checkpoint_dir = "run",
                     .save_summaries_steps = 0,
                     .log_step_count_steps = 0}),
              ElementsAre("AsyncCheckpointSaverHook"));
}

// If one of a pair is given, the other one's default is off; 0 is off, too.
TEST_F(DefaultHooksTest, OneIntervalOfAPairReplacesTheOther) {
  const auto num_savers = [this](std::optional<double> secs, std::optional<int64_t> steps) {
    return names({.graph = graph_,
                  .checkpoint_dir = "run",
                  .save_checkpoint_steps = steps,
                  .save_checkpoint_secs = secs,
                  .save_summaries_steps = 0,
                  .log_step_count_steps = 0})
        .size();
  };
  const auto num_summaries = [this](std::optional<double> secs, std::optional<int64_t> steps) {
    return names({.graph = graph_,
                  .save_summaries_steps = steps,
                  .save_summaries_secs = secs,
                  .log_step_count_steps = 0,
                  .summary_dir = "run"})
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

TEST_F(DefaultHooksTest, WritesSummariesWithoutCheckpoints) {
  EXPECT_THAT(names({.graph = graph_, .save_summaries_secs = 1, .summary_dir = "logs"}),
              ElementsAre("StepCounterHook", "SummarySaverHook"));
}

TEST_F(DefaultHooksTest, CountsStepsBySecondsIfAsked) {
  const auto num_counters = [this](std::optional<double> secs, std::optional<int64_t> steps) {
    return names({.graph = graph_,
                  .save_summaries_steps = 0,
                  .log_step_count_steps = steps,
                  .log_step_count_secs = secs,
                  .summary_dir = "run"})
        .size();
  };
  EXPECT_EQ(num_counters(2, {}), 1);
  EXPECT_EQ(num_counters(0, {}), 0);
  EXPECT_EQ(num_counters(0, 5), 1);
  EXPECT_THROW(num_counters(2, 5), InvalidArgumentError);
}

TEST_F(DefaultHooksTest, NamesTheIntervalsThatExcludeEachOther) {
  EXPECT_THAT(
      [this] {
        names({.graph = graph_, .save_checkpoint_steps = 10, .save_checkpoint_secs = 2.5});
      },
      testing::ThrowsMessage<InvalidArgumentError>(
          "save_checkpoint_steps is 10 and save_checkpoint_secs is 2.5: at most one of them may "
          "be given"));
}

TEST_F(DefaultHooksTest, RejectsConflictingAndNegativeIntervals) {
  EXPECT_THROW(names({.graph = graph_,
                      .checkpoint_dir = "run",
                      .save_checkpoint_steps = 1,
                      .save_checkpoint_secs = 1}),
               InvalidArgumentError);
  EXPECT_THROW(names({.graph = graph_,
                      .save_summaries_steps = 1,
                      .save_summaries_secs = 1,
                      .summary_dir = "run"}),
               InvalidArgumentError);
  EXPECT_THROW(names({.graph = graph_, .log_step_count_steps = -1}), InvalidArgumentError);
  EXPECT_THROW(names({.graph = graph_, .save_checkpoint_secs = -0.5}), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
