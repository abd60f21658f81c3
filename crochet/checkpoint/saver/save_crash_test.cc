// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/attack_count.h"

namespace crochet {
namespace {

// Everything that a power cut may do to names and bytes that are not synced.
std::vector<PowerCut> all_power_cuts() {
  std::vector<PowerCut> cuts;
  for (const UnsyncedNames names : {UnsyncedNames::kLost, UnsyncedNames::kKept})
    for (const UnsyncedBytes bytes :
         {UnsyncedBytes::kLost, UnsyncedBytes::kHalf, UnsyncedBytes::kZeroed, UnsyncedBytes::kKept})
      cuts.push_back({names, bytes});
  return cuts;
}

class SaveCrashTest : public testing::TestWithParam<std::tuple<PowerCut, CheckpointFormat>> {
 protected:
  SaveCrashTest() { graph_.variable("w", Tensor::from<float>(std::vector<float>(100, 1))); }

  void save(FileSystem& files, int max_to_keep, int64_t step) {
    // One data file and several.
    Saver saver({.format = std::get<CheckpointFormat>(GetParam()),
                 .num_shards = max_to_keep == 1 ? 1 : 2,
                 .max_to_keep = max_to_keep,
                 .files = &files});
    const auto session = graph_.new_session("");
    saver.restore_newest(*session, "d", "model.ckpt");
    for (int64_t at = read_global_step(*session); at < step; ++at) session->run(graph_.train());
    saver.save(*session, "d/model.ckpt", step);
  }

  // The step that a new process restores; -1 for none.
  int64_t restored_step(FileSystem& files) {
    Saver saver({.files = &files});
    const auto session = graph_.new_session("");
    if (!saver.restore_newest(*session, "d", "model.ckpt")) return -1;
    return read_global_step(*session);
  }

  LogCapture log_;
  ScriptedGraph graph_;
};

// Whichever operation is the last one before the power cut, the old checkpoint or the new one is
// complete, and leftovers do not prevent the next save.
TEST_P(SaveCrashTest, LeavesTheOldCheckpointOrTheNew) {
  AttackCount cuts("power_cuts");
  for (const int max_to_keep : {1, 5}) {
    for (int64_t n = 0;; ++n) {
      cuts.add();
      MemoryFileSystem disk;
      save(disk, max_to_keep, 1);
      disk.power_cut(std::get<PowerCut>(GetParam()));  // The first save is durable.
      ASSERT_EQ(restored_step(disk), 1);

      FailingFileSystem files(disk);
      files.fail_operation(n, Code::kUnknown, Failing::kFromThenOn);
      bool reported = true;
      try {
        save(files, max_to_keep, 2);
        reported = false;
      } catch (const UnknownError&) {
      }
      disk.power_cut(std::get<PowerCut>(GetParam()));
      const int64_t found = restored_step(disk);
      ASSERT_THAT(found, testing::AnyOf(1, 2)) << "after " << n << " operations";
      ASSERT_TRUE(reported || found == 2) << "after " << n << " operations";
      for (const std::string& prefix : list_checkpoints(disk, "d", "model.ckpt"))
        EXPECT_NO_THROW(CheckpointReader(prefix, disk).verify()) << prefix << " after " << n;
      EXPECT_NO_THROW(get_checkpoint_state(disk, "d"));

      remove_leftovers(disk, "d", "model.ckpt");
      save(disk, max_to_keep, 3);
      EXPECT_EQ(restored_step(disk), 3);
      if (files.num_failures() == 0) break;  // Each operation has failed once.
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllPowerCuts, SaveCrashTest,
                         testing::Combine(testing::ValuesIn(all_power_cuts()),
                                          testing::Values(CheckpointFormat::kTensorBundle,
                                                          CheckpointFormat::kSafetensors)));

}  // namespace
}  // namespace crochet
