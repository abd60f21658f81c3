// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a loop says of options, values and state that would not do what their author expects.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void expect_refused(const LoopOptions& options, const std::string& message) {
  EXPECT_THAT([&] { Loop loop(options); }, ThrowsMessage<InvalidArgumentError>(message));
}

TEST(OptionChecksTest, CheckpointOptionsNeedADirectory) {
  expect_refused({.checkpoint = {.every_secs = 30, .saver = {.keep_best = KeepBest{"loss", 1}}}},
                 "LoopOptions: checkpoint.every_secs = 30 and checkpoint.saver.keep_best have no "
                 "effect without checkpoint.dir");
  const SaverOptions saver{.var_list = {"w"},
                           .filter = [](std::string_view) { return true; },
                           .format = CheckpointFormat::kSafetensors,
                           .num_shards = 2,
                           .share_unchanged = false,
                           .max_to_keep = 3,
                           .keep_checkpoint_every_n_hours = 1,
                           .keep_checkpoint_every_n_steps = 2,
                           .retention = {keep_newest(1)},
                           .pad_step_number = true,
                           .latest_filename = "latest",
                           .write_state = false,
                           .fallback_dir = "other",
                           .check_free_space = false,
                           .record_command_line = false};
  expect_refused({.checkpoint = {.basename = "m",
                                 .every_steps = 5,
                                 .listeners = {nullptr},
                                 .copy_threads = 2,
                                 .saving = {.metrics = {MetricSource{}},
                                            .overlap = SaveOverlapPolicy::kSkip,
                                            .on_error = SaveErrorPolicy::kStop,
                                            .deadline_secs = 2.5,
                                            .lock_directory = false},
                                 .saver = saver}},
                 "LoopOptions: checkpoint.basename, checkpoint.every_steps = 5, "
                 "checkpoint.listeners, checkpoint.saving.metrics, checkpoint.saving.overlap, "
                 "checkpoint.saving.on_error, checkpoint.saving.deadline_secs = 2.5, "
                 "checkpoint.saving.lock_directory, checkpoint.copy_threads = 2, "
                 "checkpoint.saver.var_list, checkpoint.saver.filter, checkpoint.saver.format, "
                 "checkpoint.saver.num_shards, checkpoint.saver.share_unchanged, "
                 "checkpoint.saver.max_to_keep = 3, "
                 "checkpoint.saver.keep_checkpoint_every_n_hours = 1, "
                 "checkpoint.saver.keep_checkpoint_every_n_steps = 2, checkpoint.saver.retention, "
                 "checkpoint.saver.pad_step_number, checkpoint.saver.latest_filename, "
                 "checkpoint.saver.write_state, checkpoint.saver.fallback_dir, "
                 "checkpoint.saver.check_free_space and "
                 "checkpoint.saver.record_command_line have no effect without checkpoint.dir");
  expect_refused({.restore = {.which = CheckpointChoice::at_step(5)}},
                 "LoopOptions: restore.which has no effect without checkpoint.dir");
}

TEST(OptionChecksTest, OptionsOfGraphsAreRefused) {
  expect_refused({.checkpoint = {.dir = "run",
                                 .saver = {.writer = StateWriter::kCrochet,
                                           .unsaved_state = UnsavedState::kWarn,
                                           .write_meta_graph = false,
                                           .allow_empty = true,
                                           .defer_build = true}}},
                 "LoopOptions: checkpoint.saver.writer, checkpoint.saver.unsaved_state, "
                 "checkpoint.saver.write_meta_graph, checkpoint.saver.allow_empty and "
                 "checkpoint.saver.defer_build have no effect without a graph of your own: see "
                 "train()");
}

TEST(OptionChecksTest, ListenersExist) {
  expect_refused({.checkpoint = {.dir = "run", .listeners = {nullptr}}},
                 "LoopOptions: checkpoint.listeners has a null pointer");
}

TEST(OptionChecksTest, CurvesNeedADirectory) {
  expect_refused({.summaries = {.every_steps = 10}},
                 "LoopOptions: summaries.every_steps = 10 has no effect without checkpoint.dir or "
                 "summaries.dir");
  MemoryFileSystem files;
  EXPECT_NO_THROW(Loop({.summaries = {.dir = "curves", .every_steps = 10}, .files = &files}));
}

TEST(OptionChecksTest, WhatIsSwitchedOffNeedsNone) {
  EXPECT_NO_THROW(Loop(
      {.checkpoint = {.every_steps = 0}, .summaries = {.every_steps = 0, .count_every_steps = 0}}));
}

// Each message begins with the option's path.
TEST(OptionChecksTest, AnIntervalIsInStepsOrInSeconds) {
  const auto refused = [](const char* path, LoopOptions options, const std::string& both) {
    options.checkpoint.dir = "run";
    EXPECT_THAT([&] { Loop loop(options); },
                ThrowsMessage<InvalidArgumentError>(fmt::format("LoopOptions: {0}", both)))
        << path;
  };
  refused("checkpoint", {.checkpoint = {.every_steps = 1, .every_secs = 2}},
          "checkpoint.every_steps is 1 and checkpoint.every_secs is 2: at most one of them may be "
          "given");
  refused("summaries", {.summaries = {.every_steps = 3, .every_secs = 4}},
          "summaries.every_steps is 3 and summaries.every_secs is 4: at most one of them may be "
          "given");
  refused("count", {.summaries = {.count_every_steps = 5, .count_every_secs = 6}},
          "summaries.count_every_steps is 5 and summaries.count_every_secs is 6: at most one of "
          "them may be given");
}

TEST(OptionChecksTest, NumbersOutOfRangeAreNamedByTheirPath) {
  const auto refused = [](LoopOptions options, const std::string& message) {
    options.checkpoint.dir = "run";
    EXPECT_THAT([&] { Loop loop(options); },
                ThrowsMessage<InvalidArgumentError>("LoopOptions: " + message));
  };
  refused({.checkpoint = {.copy_threads = -1}},
          "checkpoint.copy_threads is -1, expected 0 or more");
  refused({.checkpoint = {.saving = {.deadline_secs = -1}}},
          "checkpoint.saving.deadline_secs is -1, expected 0 or more");
  refused({.checkpoint = {.saver = {.max_to_keep = -1}}},
          "checkpoint.saver: max_to_keep is -1, expected 0 or more");
  refused({.ranks = {.agree_every_n_steps = 0}},
          "ranks.agree_every_n_steps is 0, expected more than 0");
  refused({.ranks = {.timeout_secs = 0}}, "ranks.timeout_secs is 0, expected more than 0");
  refused({.ending = {.stop_grace_period_secs = -1}},
          "ending.stop_grace_period_secs is -1, expected 0 or more");
  refused({.debug = {.rehearsal_steps = -1}}, "debug.rehearsal_steps is -1, expected 0 or more");
}

TEST(OptionChecksTest, ALoopThatTracksNothingSaysSo) {
  const LogCapture log;
  constexpr const char* kWarning = "Loop: nothing is tracked";
  MemoryFileSystem files;
  Loop({.hooks = {StopAtStepHook({.last_step = 1})}}).run([] {});
  EXPECT_FALSE(log.contains(kWarning)) << "it saves nothing";
  const auto options = [&] {
    return LoopOptions{
        .checkpoint = {.dir = "run"}, .hooks = {StopAtStepHook({.last_step = 1})}, .files = &files};
  };
  Loop(options()).run([] {});
  EXPECT_TRUE(log.contains(kWarning));
}

TEST(OptionChecksTest, ANameIsGivenToOneValue) {
  Loop loop({});
  loop.scalar("loss", [] { return 1.0; });
  EXPECT_THAT([&] { loop.value("loss", [] { return 2.0; }); },
              ThrowsMessage<AlreadyExistsError>(HasSubstr("Loop: \"loss\" is the name of two")));
}

}  // namespace
}  // namespace crochet
