// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A restore that goes back to a checkpoint that was asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/restored_from.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class SaverGoBackTest : public testing::Test {
 protected:
  SaverGoBackTest() {
    Saver saver({.files = &files_});
    for (const int64_t step : {2, 4, 6, 8}) saver.save(*session_, "d/m", step);
  }
  void damage(int64_t step) {
    files_.truncate("d/m-" + std::to_string(step) + ".data-00000-of-00001", 3);
  }
  std::optional<std::string> restored(const CheckpointChoice& which) {
    Saver saver({.files = &files_}, {.which = which});
    return restored_prefix(saver.restore_newest(*session_, "d", "m"));
  }
  // A start that goes back, and saves another step.
  void go_back_and_save(const CheckpointChoice& which, int64_t step) {
    Saver saver({.files = &files_}, {.which = which});
    saver.restore_newest(*session_, "d", "m");
    saver.save(*session_, "d/m", step);
  }
  std::vector<std::string> there() { return list_checkpoints(files_, "d", "m"); }

  LogCapture log_;
  MemoryFileSystem files_;
  ScriptedGraph graph_;
  std::unique_ptr<Session> session_ = graph_.new_session("");
  const internal::DirectoryLock lock_{files_, "d"};
};

TEST_F(SaverGoBackTest, TakesNoOtherCheckpointIfTheOneAskedForIsDamaged) {
  damage(4);
  const auto before = files_.list("d");
  EXPECT_THAT([&] { restored(CheckpointChoice::at_step(4)); },
              ThrowsMessage<DataLossError>(
                  AllOf(HasSubstr("d/m-4, to which the run goes back ("),
                        HasSubstr("no file was changed; go back to one of m-2, m-6, m-8, or do not "
                                  "go back, to continue from the newest"))));
  EXPECT_EQ(files_.list("d"), before);
  // Each advice leads to a start.
  EXPECT_EQ(restored(CheckpointChoice::newest()), "d/m-8");
  EXPECT_EQ(restored(CheckpointChoice::at_step(2)), "d/m-2");
}

TEST_F(SaverGoBackTest, TakesNoOtherCheckpointIfItIsTheNewest) {
  damage(8);
  EXPECT_THROW(restored(CheckpointChoice::at_step(8)), DataLossError);
  EXPECT_THAT(there(), ElementsAre("d/m-2", "d/m-4", "d/m-6", "d/m-8"));
}

// Once it has gone back, a damaged checkpoint is passed over as usual.
TEST_F(SaverGoBackTest, PassesOverADamagedCheckpointThatWasSavedSince) {
  go_back_and_save(CheckpointChoice::at_step(4), 5);
  go_back_and_save(CheckpointChoice::at_step(4), 7);
  damage(7);
  EXPECT_EQ(restored(CheckpointChoice::at_step(4)), "d/m-5");
}

TEST_F(SaverGoBackTest, DoesNotGoBackAgainIfTheNewestLostItsSidecar) {
  go_back_and_save(CheckpointChoice::at_step(4), 5);
  EXPECT_THAT(there(), ElementsAre("d/m-2", "d/m-4", "d/m-5"));
  files_.remove("d/m-5.json");
  EXPECT_EQ(restored(CheckpointChoice::at_step(4)), "d/m-5");
  EXPECT_THAT(there(), ElementsAre("d/m-2", "d/m-4", "d/m-5"));
  EXPECT_TRUE(log_.contains("it does not go back again: to do that, move the files of this "));
}

TEST_F(SaverGoBackTest, AsksIfNothingShowsWhetherItHasGoneBack) {
  files_.remove("d/m-8.json");
  const auto before = files_.list("d");
  EXPECT_THAT([&] { restored(CheckpointChoice::at_step(4)); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("d/m-8 has no sidecar"),
                        HasSubstr("to go back, move the files of this checkpoint away"))));
  EXPECT_EQ(files_.list("d"), before);
  // Each advice leads to a start.
  EXPECT_EQ(restored(CheckpointChoice::newest()), "d/m-8");
  remove_checkpoint(files_, "d/m-8");
  EXPECT_EQ(restored(CheckpointChoice::at_step(4)), "d/m-4");
}

// As those of other programs.
TEST_F(SaverGoBackTest, GoesBackIfNoCheckpointHasASidecar) {
  for (const char* const step : {"2", "4", "6", "8"})
    files_.remove(std::string("d/m-") + step + ".json");
  EXPECT_EQ(restored(CheckpointChoice::at_step(4)), "d/m-4");
}

}  // namespace
}  // namespace crochet
