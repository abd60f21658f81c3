// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/c/internal/named_options.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::internal {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;
using testing::ThrowsMessage;

TEST(NamedOptionsTest, SetNumbersTextsSwitchesAndChoices) {
  LoopOptions options;
  set_option(options, "checkpoint.every_steps", "100");
  set_option(options, "checkpoint.every_secs", "2.5");
  set_option(options, "checkpoint.fast_dir", "/dev/shm/x y");
  set_option(options, "checkpoint.basename", "state");
  set_option(options, "checkpoint.saver.share_unchanged", "false");
  set_option(options, "checkpoint.saver.format", "safetensors");
  set_option(options, "checkpoint.saver.max_to_keep", "0");
  set_option(options, "checkpoint.saver.keep_best", "top 1 accuracy higher");
  set_option(options, "checkpoint.saving.overlap", "newest_wins");
  EXPECT_THAT(options.checkpoint.every_steps, Optional(100));
  EXPECT_THAT(options.checkpoint.every_secs, Optional(2.5));
  EXPECT_EQ(options.checkpoint.fast_dir, "/dev/shm/x y");
  EXPECT_EQ(options.checkpoint.basename.str(), "state");
  EXPECT_FALSE(options.checkpoint.saver.share_unchanged);
  EXPECT_EQ(options.checkpoint.saver.format, CheckpointFormat::kSafetensors);
  EXPECT_EQ(options.checkpoint.saver.max_to_keep, 0);
  EXPECT_THAT(options.checkpoint.saver.keep_best,
              Optional(KeepBest{.metric = "top 1 accuracy", .better = Better::kHigher}));
  EXPECT_EQ(options.checkpoint.saving.overlap, SaveOverlapPolicy::kNewestWins);
}

TEST(NamedOptionsTest, AnUnknownOneIsRefusedWithAllThatThereAre) {
  LoopOptions options;
  EXPECT_THAT(
      [&] { set_option(options, "checkpoint.every_step", "100"); },
      ThrowsMessage<InvalidArgumentError>(AllOf(
          HasSubstr("\"checkpoint.every_step\" is not the name of an option, expected one of"),
          HasSubstr("checkpoint.every_steps"))));
  EXPECT_THAT([&] { named_hook("StopHook", ""); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("StopAtStepHook")));
}

TEST(NamedOptionsTest, ATextThatIsNoSuchValueIsRefused) {
  LoopOptions options;
  const std::vector<std::pair<std::string, std::string>> bad = {
      {"checkpoint.every_steps", "1.5"},
      {"checkpoint.every_steps", ""},
      {"checkpoint.every_steps", "99999999999999999999"},
      {"checkpoint.every_secs", "2 s"},
      {"checkpoint.basename", "a/b"},
      {"checkpoint.saver.share_unchanged", "yes"},
      {"checkpoint.saver.format", "hdf5"},
      {"checkpoint.saver.max_to_keep", "99999999999"},
      {"checkpoint.saver.keep_best", "accuracy"},
      {"checkpoint.saving.overlap", "none"},
  };
  for (const auto& each : bad)
    EXPECT_THAT([&] { set_option(options, each.first, each.second); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(each.first)))
        << each.second;
  for (const auto& [name, argument] :
       std::vector<std::pair<std::string, std::string>>{{"StopAtStepHook", "soon"},
                                                        {"StopAtStepHook", "-1"},
                                                        {"StopAfterHook", "0"},
                                                        {"SignalHook", "SIGKILL"},
                                                        {"SignalHook", ""},
                                                        {"LoggingTensorHook", ""}})
    EXPECT_THROW(named_hook(name, argument), InvalidArgumentError) << name;
}

}  // namespace
}  // namespace crochet::internal
