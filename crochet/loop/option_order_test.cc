// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// In all options with an interval in steps or in seconds, steps come first: designated initialisers
// in another order do not compile.
#include <gtest/gtest.h>

#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/profiler_hook.h"
#include "crochet/hooks/second_or_step_timer.h"
#include "crochet/hooks/step_counter_hook.h"
#include "crochet/hooks/summary_saver_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/loop/monitored_training_session.h"

namespace crochet {
namespace {

TEST(OptionOrderTest, IsStepsThenSeconds) {
  local::Graph graph;
  const CheckpointSaverHookOptions checkpoints{.save_steps = 1, .save_secs = 2};
  const SummarySaverHookOptions summaries{.save_steps = 1, .save_secs = 2};
  const ProfilerHookOptions profiles{.save_steps = 1, .save_secs = 2};
  const StepCounterHookOptions counter{.every_n_steps = 1, .every_n_secs = 2};
  const EvaluationHookOptions evaluation{.every_n_steps = 1, .every_n_secs = 2};
  const LoggingTensorHookOptions logging{.every_n_iter = 1, .every_n_secs = 2};
  const EveryOptions every{.steps = 1, .secs = 2};
  const SecondOrStepTimerOptions timer{.every_steps = 1, .every_secs = 2};
  const LoopOptions loop{
      .checkpoint = {.every_steps = 1, .every_secs = 2},
      .summaries = {
          .every_steps = 1, .every_secs = 2, .count_every_steps = 1, .count_every_secs = 2}};
  const MonitoredTrainingSessionOptions training{.graph = graph,
                                                 .save_checkpoint_steps = 1,
                                                 .save_checkpoint_secs = 2,
                                                 .save_summaries_steps = 1,
                                                 .save_summaries_secs = 2,
                                                 .log_step_count_steps = 1};
  EXPECT_EQ(checkpoints.save_secs, summaries.save_secs);
  EXPECT_EQ(profiles.save_secs, counter.every_n_secs);
  EXPECT_EQ(evaluation.every_n_secs, logging.every_n_secs);
  EXPECT_EQ(every.secs, timer.every_secs);
  EXPECT_EQ(loop.checkpoint.every_secs, training.save_checkpoint_secs);
}

}  // namespace
}  // namespace crochet
