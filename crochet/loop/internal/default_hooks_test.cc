// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/internal/default_hooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/engines/local/graph.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

class DefaultHooksTest : public testing::Test {
 protected:
  // Of all but ControlHook.
  std::vector<std::string> names(const internal::TrainingRun& run) {
    std::vector<std::string> names = all_names(run);
    std::erase(names, "crochet");
    return names;
  }
  std::vector<std::string> all_names(const internal::TrainingRun& run) {
    std::vector<std::string> names;
    for (const HookHandle& hook : internal::wire_default_hooks(run, std::make_shared<Scaffold>()))
      names.push_back(hook->name());
    return names;
  }

  local::Graph graph_;
};

TEST_F(DefaultHooksTest, PutsTheSaverAfterTheUsersHooksAndSignalHooksLast) {
  EXPECT_THAT(names({.graph = graph_,
                     .checkpoint = {.dir = "run"},
                     .hooks = {SignalHook({SIGTERM}), FinalOpsHook("accuracy")}}),
              ElementsAre("StepCounterHook", "SummarySaverHook", "FinalOpsHook",
                          "AsyncCheckpointSaverHook", "SignalHook"));
}

TEST_F(DefaultHooksTest, PutsTheChiefsOwnHooksFirst) {
  EXPECT_THAT(names({.graph = graph_,
                     .checkpoint = {.dir = "run"},
                     .hooks = {StopAtStepHook({.last_step = 1})},
                     .chief_only_hooks = {FinalOpsHook("accuracy")}}),
              ElementsAre("FinalOpsHook", "StepCounterHook", "SummarySaverHook", "StopAtStepHook",
                          "AsyncCheckpointSaverHook"));
}

TEST_F(DefaultHooksTest, GivesWorkersOnlyTheUsersHooks) {
  EXPECT_THAT(names({.graph = graph_,
                     .is_chief = false,
                     .checkpoint = {.dir = "run"},
                     .summaries = {.dir = "logs"},
                     .hooks = {SignalHook({SIGTERM}), StopAtStepHook({.last_step = 1})},
                     .chief_only_hooks = {FinalOpsHook("accuracy")}}),
              ElementsAre("StopAtStepHook", "SignalHook"));
}

TEST_F(DefaultHooksTest, AddsNothingWithoutADirectory) {
  EXPECT_THAT(names({.graph = graph_}), IsEmpty());
}

// In the chief of a run with a directory.
TEST_F(DefaultHooksTest, ARunTakesRequestsFromOutside) {
  EXPECT_THAT(all_names({.graph = graph_, .checkpoint = {.dir = "run"}}), Contains("crochet"));
  EXPECT_THAT(all_names({.graph = graph_}), Not(Contains("crochet")));
  EXPECT_THAT(all_names({.graph = graph_, .is_chief = false, .checkpoint = {.dir = "run"}}),
              Not(Contains("crochet")));
}

TEST_F(DefaultHooksTest, AZeroIntervalSwitchesTheHookOff) {
  EXPECT_THAT(names({.graph = graph_,
                     .checkpoint = {.dir = "run", .every_secs = 0},
                     .summaries = {.every_steps = 0, .count_every_steps = 0}}),
              IsEmpty());
  EXPECT_THAT(names({.graph = graph_,
                     .checkpoint = {.dir = "run"},
                     .summaries = {.every_steps = 0, .count_every_steps = 0}}),
              ElementsAre("AsyncCheckpointSaverHook"));
}

// If one of a pair is given, the other one's default is off; 0 is off, too.
TEST_F(DefaultHooksTest, OneIntervalOfAPairReplacesTheOther) {
  const auto num_savers = [this](std::optional<double> secs, std::optional<int64_t> steps) {
    return names({.graph = graph_,
                  .checkpoint = {.dir = "run", .every_steps = steps, .every_secs = secs},
                  .summaries = {.every_steps = 0, .count_every_steps = 0}})
        .size();
  };
  const auto num_summaries = [this](std::optional<double> secs, std::optional<int64_t> steps) {
    return names({.graph = graph_,
                  .summaries = {.dir = "run",
                                .every_steps = steps,
                                .every_secs = secs,
                                .count_every_steps = 0}})
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
  };
  check(num_savers);
  check(num_summaries);
}

TEST_F(DefaultHooksTest, WritesSummariesWithoutCheckpoints) {
  EXPECT_THAT(names({.graph = graph_, .summaries = {.dir = "logs", .every_secs = 1}}),
              ElementsAre("StepCounterHook", "SummarySaverHook"));
}

TEST_F(DefaultHooksTest, CountsStepsBySecondsIfAsked) {
  const auto num_counters = [this](std::optional<double> secs, std::optional<int64_t> steps) {
    return names({.graph = graph_,
                  .summaries = {.dir = "run",
                                .every_steps = 0,
                                .count_every_steps = steps,
                                .count_every_secs = secs}})
        .size();
  };
  EXPECT_EQ(num_counters(2, {}), 1);
  EXPECT_EQ(num_counters(0, {}), 0);
  EXPECT_EQ(num_counters(0, 5), 1);
}

}  // namespace
}  // namespace crochet
