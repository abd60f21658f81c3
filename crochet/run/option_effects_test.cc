// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a loop says of options, values and state that would not do what their author expects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/run/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void expect_refused(const LoopOptions& options, const std::string& message) {
  EXPECT_THAT([&] { Loop loop(options); }, ThrowsMessage<InvalidArgumentError>(message));
}

TEST(OptionEffectsTest, CheckpointOptionsNeedADirectory) {
  expect_refused({.save_checkpoint_secs = 30, .keep_best = KeepBest{"loss", 1}},
                 "LoopOptions: save_checkpoint_secs = 30 and keep_best have no effect without "
                 "checkpoint_dir");
  expect_refused({.checkpoint_basename = "m",
                  .checkpoint_format = CheckpointFormat::kSafetensors,
                  .save_checkpoint_steps = 5,
                  .saving_listeners = {nullptr},
                  .checkpoint_metrics = {MetricSource{}},
                  .fallback_dir = "other",
                  .lock_directory = false,
                  .deadline_secs = 2.5,
                  .max_to_keep = 3,
                  .keep_checkpoint_every_n_hours = 1,
                  .keep_checkpoint_every_n_steps = 2},
                 "LoopOptions: checkpoint_basename, checkpoint_format, save_checkpoint_steps = 5, "
                 "saving_listeners, checkpoint_metrics, fallback_dir, lock_directory, "
                 "deadline_secs = 2.5, max_to_keep = 3, keep_checkpoint_every_n_hours = 1 and "
                 "keep_checkpoint_every_n_steps = 2 have no effect without checkpoint_dir");
  expect_refused({.restore = {.which = Checkpoint::at_step(5)}},
                 "LoopOptions: restore.which has no effect without checkpoint_dir");
}

TEST(OptionEffectsTest, CurvesNeedADirectory) {
  expect_refused({.save_summaries_steps = 10},
                 "LoopOptions: save_summaries_steps = 10 has no effect without checkpoint_dir or "
                 "summary_dir");
  MemoryFileSystem files;
  EXPECT_NO_THROW(Loop({.save_summaries_steps = 10, .summary_dir = "curves", .files = &files}));
}

TEST(OptionEffectsTest, WhatIsSwitchedOffNeedsNone) {
  EXPECT_NO_THROW(
      Loop({.save_checkpoint_steps = 0, .save_summaries_steps = 0, .log_step_count_steps = 0}));
}

TEST(OptionEffectsTest, ALoopThatTracksNothingSaysSo) {
  const LogCapture log;
  constexpr const char* kWarning = "Loop: nothing is tracked";
  MemoryFileSystem files;
  Loop({.hooks = {StopAtStepHook({.last_step = 1})}}).run([] {});
  EXPECT_FALSE(log.contains(kWarning)) << "it saves nothing";
  const auto options = [&] {
    return LoopOptions{
        .checkpoint_dir = "run", .hooks = {StopAtStepHook({.last_step = 1})}, .files = &files};
  };
  Loop(options()).run([] {});
  EXPECT_TRUE(log.contains(kWarning));
}

TEST(OptionEffectsTest, ANameIsGivenToOneValue) {
  Loop loop({});
  loop.scalar("loss", [] { return 1.0; });
  EXPECT_THAT([&] { loop.value("loss", [] { return 2.0; }); },
              ThrowsMessage<AlreadyExistsError>(HasSubstr("Loop: \"loss\" is the name of two")));
}

}  // namespace
}  // namespace crochet
