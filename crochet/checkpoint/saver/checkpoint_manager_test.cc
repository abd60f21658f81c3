// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/checkpoint_manager.h"

#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"

namespace crochet {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;
using testing::ThrowsMessage;

class CheckpointManagerTest : public testing::Test {
 protected:
  CheckpointManager manager(std::optional<int> max_to_keep,
                            std::optional<double> keep_every_n_hours = {}) {
    return CheckpointManager({.directory = "d",
                              .max_to_keep = max_to_keep,
                              .keep_checkpoint_every_n_hours = keep_every_n_hours,
                              .saver = {.files = &files_, .clock = &clock_}});
  }
  bool exists(int64_t number) {
    return checkpoint_exists(files_, fmt::format("d/ckpt-{}", number));
  }
  CheckpointState state() { return get_checkpoint_state(files_, "d").value(); }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_{10'000};
  ScriptedGraph graph_;
  std::unique_ptr<Session> session_ = graph_.new_session("");
};

TEST_F(CheckpointManagerTest, RejectsOptionsOutOfRange) {
  EXPECT_THAT([&] { manager(0); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("max_to_keep is 0")));
  EXPECT_THROW(manager(-1), InvalidArgumentError);
  EXPECT_THROW(manager(1, -1.0), InvalidArgumentError);
  EXPECT_THROW(CheckpointManager({}), InvalidArgumentError);
}

// CM-13
TEST_F(CheckpointManagerTest, DeletesTheOldestBeyondMaxToKeep) {
  auto keeping = manager(3);
  for (int i = 0; i < 4; ++i) keeping.save(*session_);
  EXPECT_FALSE(exists(1));
  for (const int64_t number : {2, 3, 4}) EXPECT_TRUE(exists(number)) << number;
  EXPECT_THAT(keeping.checkpoints(), ElementsAre("d/ckpt-2", "d/ckpt-3", "d/ckpt-4"));
  EXPECT_THAT(state().all_model_checkpoint_paths, ElementsAre("d/ckpt-2", "d/ckpt-3", "d/ckpt-4"));
}

TEST_F(CheckpointManagerTest, KeepsAndListsAllWithoutMaxToKeep) {
  auto keeping = manager({});
  EXPECT_EQ(keeping.latest_checkpoint(), std::nullopt);
  for (int i = 0; i < 12; ++i) keeping.save(*session_);
  EXPECT_EQ(keeping.checkpoints().size(), 12u);
  EXPECT_EQ(state().all_model_checkpoint_paths.size(), 12u);
  EXPECT_TRUE(exists(1));
}

// CM-15
TEST_F(CheckpointManagerTest, TimesAndTheLastPreservedOneSurviveRestarts) {
  clock_.set_wall_time(3);
  auto first = manager(2);
  clock_.advance(seconds(9'997));
  first.save(*session_);
  EXPECT_THAT(state().all_model_checkpoint_timestamps, ElementsAre(10'000));
  clock_.advance(seconds(3610));
  first.save(*session_);
  EXPECT_THAT(state().all_model_checkpoint_timestamps, ElementsAre(10'000, 13'610));
  EXPECT_THAT(first.checkpoints(), ElementsAre("d/ckpt-1", "d/ckpt-2"));
  EXPECT_EQ(first.latest_checkpoint(), "d/ckpt-2");

  auto second = manager(2, 1.5);
  EXPECT_THAT(second.checkpoints(), ElementsAre("d/ckpt-1", "d/ckpt-2"));
  clock_.advance(seconds(720));
  second.save(*session_);
  EXPECT_TRUE(exists(1) && exists(2));
  EXPECT_THAT(second.checkpoints(), ElementsAre("d/ckpt-2", "d/ckpt-3"));
  EXPECT_THAT(state().last_preserved_timestamp, Optional(10'000));
  clock_.advance(seconds(1800));
  second.save(*session_);
  EXPECT_TRUE(exists(1));
  EXPECT_FALSE(exists(2));
  EXPECT_THAT(second.checkpoints(), ElementsAre("d/ckpt-3", "d/ckpt-4"));
  const double fourth_time = clock_.wall_time();
  clock_.advance(seconds(1800));
  second.save(*session_);
  EXPECT_THAT(second.checkpoints(), ElementsAre("d/ckpt-4", "d/ckpt-5"));
  EXPECT_THAT(state().last_preserved_timestamp, Optional(10'000));

  auto third = manager(2, 1.5);
  EXPECT_EQ(third.latest_checkpoint(), "d/ckpt-5");
  clock_.advance(seconds(10));
  third.save(*session_);
  EXPECT_THAT(state().last_preserved_timestamp, Optional(fourth_time));
  EXPECT_TRUE(exists(1) && exists(4) && exists(5) && exists(6));
  EXPECT_FALSE(exists(2) || exists(3));
  EXPECT_THAT(third.checkpoints(), ElementsAre("d/ckpt-5", "d/ckpt-6"));
}

// CM-17: TensorFlow then forgets its list; here nothing changes.
TEST_F(CheckpointManagerTest, AClockThatWentBackChangesNothing) {
  auto first = manager(1, 1.0);
  for (int i = 0; i < 3; ++i) {
    first.save(*session_);
    if (i < 2) clock_.advance(seconds(3600));
  }
  EXPECT_FALSE(exists(1));
  EXPECT_TRUE(exists(2) && exists(3));
  EXPECT_THAT(first.checkpoints(), ElementsAre("d/ckpt-3"));
  EXPECT_THAT(state().last_preserved_timestamp, Optional(13'600));

  clock_.set_wall_time(5'000);
  auto second = manager(1);
  EXPECT_FALSE(log_.contains("last preserved"));
  EXPECT_EQ(second.latest_checkpoint(), "d/ckpt-3");
  EXPECT_THAT(second.checkpoints(), ElementsAre("d/ckpt-3"));
  for (const int64_t number : {4, 5}) {
    clock_.advance(seconds(10));
    EXPECT_EQ(second.save(*session_), fmt::format("d/ckpt-{}", number));
    EXPECT_TRUE(exists(2));
    EXPECT_FALSE(exists(number - 1));
    EXPECT_THAT(second.checkpoints(), ElementsAre(fmt::format("d/ckpt-{}", number)));
  }
  EXPECT_THAT(state().last_preserved_timestamp, Optional(13'600));
  EXPECT_THAT(state().all_model_checkpoint_timestamps, ElementsAre(17'220));
}

// Jumps of the wall clock, back and forth, within a process and between two: the same checkpoints
// are kept as with a steady clock.
TEST_F(CheckpointManagerTest, ClockJumpsChangeNothing) {
  const auto what_stays = [](const std::vector<double>& steps) {
    MemoryFileSystem files;
    FakeClock clock(10'000);
    ScriptedGraph graph;
    const auto session = graph.new_session("");
    for (const double step : steps) {
      CheckpointManager manager({.directory = "d",
                                 .max_to_keep = 2,
                                 .keep_checkpoint_every_n_hours = 1,
                                 .saver = {.files = &files, .clock = &clock}});
      for (int i = 0; i < 3; ++i) {
        clock.advance(seconds(1'500));
        manager.save(*session);
        if (i == 1) clock.set_wall_time(clock.wall_time() + step);
      }
    }
    return list_checkpoints(files, "d", "ckpt");
  };
  const std::vector<std::string> expected = what_stays({0, 0, 0, 0});
  EXPECT_GT(expected.size(), 4u);  // Some are preserved.
  EXPECT_EQ(what_stays({-9'000, 4'000, -9'000, 2'000}), expected);
}

// Its savers write the same time into sidecars, for use if the state file is lost.
TEST_F(CheckpointManagerTest, SidecarsHaveTheTimeOfTheState) {
  manager(2).save(*session_);
  clock_.set_wall_time(3);
  manager(2).save(*session_);
  EXPECT_THAT(state().all_model_checkpoint_timestamps, ElementsAre(10'000, 10'000));
  EXPECT_EQ(read_sidecar(files_, "d/ckpt-2")->retention_time, 10'000);
}

// A time at which nothing can have been saved is an error in the file.
TEST_F(CheckpointManagerTest, IgnoresAnImpossibleTime) {
  manager(2).save(*session_);
  update_checkpoint_state(
      files_, "d", "d/ckpt-1", {"d/ckpt-1"},
      {.all_model_checkpoint_timestamps = {10'000}, .last_preserved_timestamp = 1e300});
  auto second = manager(1);
  EXPECT_TRUE(log_.contains("the last preserved checkpoint"));
  second.save(*session_);
  EXPECT_TRUE(exists(1) && exists(2));
  EXPECT_THAT(state().all_model_checkpoint_timestamps, ElementsAre(10'000));
}

// CM-18
TEST_F(CheckpointManagerTest, AcceptsNumbersAndStillCounts) {
  auto numbered = manager(2);
  std::string path;
  for (int i = 0; i < 5; ++i) {
    path = numbered.save(*session_, 2 * read_global_step(*session_));
    EXPECT_THAT(path, testing::EndsWith(fmt::format("-{}", 2 * i)));
    session_->run(graph_.train());
  }
  EXPECT_EQ(numbered.save_counter(), 5);
  const std::string last = numbered.save(*session_, 32);
  EXPECT_EQ(last, "d/ckpt-32");
  EXPECT_EQ(numbered.latest_checkpoint(), last);
  EXPECT_EQ(latest_checkpoint(files_, "d"), last);
  EXPECT_THAT(state().all_model_checkpoint_paths, ElementsAre(path, last));
}

// CM-19
TEST_F(CheckpointManagerTest, TheNameIsAnOption) {
  CheckpointManager manager(
      {.directory = "d", .checkpoint_name = "best", .saver = {.files = &files_}});
  EXPECT_EQ(manager.save(*session_, 7), "d/best-7");
  EXPECT_EQ(CheckpointManager({.directory = "e", .saver = {.files = &files_}}).save(*session_, 7),
            "e/ckpt-7");
}

TEST_F(CheckpointManagerTest, OverwritesNothingAfterARestart) {
  manager(5).save(*session_, 41);
  auto restarted = manager(5);
  EXPECT_EQ(restarted.save_counter(), 41);
  EXPECT_EQ(restarted.save(*session_), "d/ckpt-42");
}

TEST_F(CheckpointManagerTest, ContinuesADirectoryOfASaver) {
  Saver saver({.files = &files_, .clock = &clock_});
  for (const int64_t step : {1, 2}) saver.save(*session_, "d/ckpt", step);
  clock_.advance(seconds(1));
  auto taken_over = manager(2);
  EXPECT_THAT(taken_over.checkpoints(), ElementsAre("d/ckpt-1", "d/ckpt-2"));
  taken_over.save(*session_);
  EXPECT_FALSE(exists(1));
}

TEST_F(CheckpointManagerTest, ListsNoMissingCheckpoint) {
  auto first = manager(5);
  for (int i = 0; i < 2; ++i) first.save(*session_);
  clock_.advance(seconds(1));
  remove_checkpoint(files_, "d/ckpt-1");
  EXPECT_THAT(manager(5).checkpoints(), ElementsAre("d/ckpt-2"));
}

TEST_F(CheckpointManagerTest, RestoresThroughItsSaver) {
  session_->run(graph_.train());
  auto saving = manager(5);
  saving.save(*session_);
  const auto restored = graph_.new_session("");
  saving.saver().restore(*restored, *saving.latest_checkpoint());
  EXPECT_EQ(read_global_step(*restored), 1);
}

// Whatever fails, the newest intact checkpoint exists, as do all listed ones.
TEST_F(CheckpointManagerTest, AFailedOperationLosesNoCheckpoint) {
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    FailingFileSystem files(disk);
    CheckpointManager saving(
        {.directory = "d", .max_to_keep = 1, .saver = {.files = &files, .clock = &clock_}});
    saving.save(*session_);
    files.fail_operation(files.num_operations() + n, Code::kResourceExhausted);
    try {
      saving.save(*session_);
    } catch (const ResourceExhaustedError&) {
    }
    const auto left = list_checkpoints(disk, "d", "ckpt");
    ASSERT_FALSE(left.empty()) << n;
    for (const std::string& prefix : left) CheckpointReader(prefix, disk).verify();
    EXPECT_TRUE(latest_checkpoint(disk, "d").has_value()) << n;
    if (files.num_failures() == 0) break;
  }
}

// C1: the state file of a run may name checkpoints of any name, anywhere.
TEST_F(CheckpointManagerTest, IgnoresOtherCheckpointsInTheStateFile) {
  Saver others({.max_to_keep = 0, .files = &files_, .clock = &clock_});
  others.save(*session_, "d/model.ckpt", 1);
  others.save(*session_, "other/ckpt", 2);
  replace_file(files_, "d/checkpoint",
               "model_checkpoint_path: \"model.ckpt-1\"\n"
               "all_model_checkpoint_paths: \"/other/ckpt-2\"\n"
               "all_model_checkpoint_paths: \"../other/ckpt-2\"\n"
               "all_model_checkpoint_paths: \"model.ckpt-1\"\n"
               "# removing: \"../other/ckpt-2\"\n");
  auto managing = manager(1);
  EXPECT_EQ(managing.latest_checkpoint(), std::nullopt);
  EXPECT_THAT(managing.checkpoints(), IsEmpty());
  for (int i = 0; i < 3; ++i) managing.save(*session_);
  EXPECT_THAT(managing.checkpoints(), ElementsAre("d/ckpt-3"));
  EXPECT_TRUE(checkpoint_exists(files_, "d/model.ckpt-1"));
  EXPECT_TRUE(checkpoint_exists(files_, "other/ckpt-2"));
}

TEST_F(CheckpointManagerTest, TheNewestIsTheOneInTheStateFile) {
  auto first = manager(5);
  first.save(*session_, 5);
  first.save(*session_, 3);
  EXPECT_EQ(manager(5).latest_checkpoint(), "d/ckpt-3");
}

TEST_F(CheckpointManagerTest, FailsAfterTheHighestNumber) {
  auto numbered = manager(5);
  numbered.save(*session_, std::numeric_limits<int64_t>::max());
  EXPECT_THROW(manager(5).save(*session_), OutOfRangeError);
  EXPECT_NO_THROW(manager(5).save(*session_, 1));
}

}  // namespace
}  // namespace crochet
