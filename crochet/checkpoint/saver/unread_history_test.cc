// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A start at which some files cannot be read: it removes no checkpoint that had to be kept.
#include <errno.h>

#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/directory/internal/checkpoint_history.h"
#include "crochet/checkpoint/saver/checkpoint_manager.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/restored_from.h"

namespace crochet {
namespace {

using std::chrono::minutes;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

// Refuses to open the file of one path a given number of times.
class RefusingFileSystem final : public MemoryFileSystem {
 public:
  void refuse(const std::string& path, int times) {
    path_ = path;
    times_ = times;
  }
  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    if (path == path_ && times_ > 0) {
      --times_;
      throw UnknownError(fmt::format("{}: broken", path));
    }
    return MemoryFileSystem::open(path);
  }

 private:
  std::string path_;
  int times_ = 0;
};

class UnreadHistoryTest : public testing::Test {
 protected:
  SaverOptions with(SaverOptions options, FileSystem& files) {
    options.files = &files;
    options.clock = &clock_;
    return options;
  }
  void save_steps(FileSystem& files, SaverOptions options, const std::vector<int64_t>& steps) {
    Saver saver(with(std::move(options), files));
    for (const int64_t step : steps) {
      clock_.advance(minutes(1));
      saver.save(*session_, "d/m", step);
    }
  }
  // One preserved by a policy, a pinned one, two of a run that kept all, and its newest. All files
  // are newer than their checkpoints, like those of a copied directory.
  void prepare(FileSystem& files) {
    save_steps(files, {.max_to_keep = 1, .keep_checkpoint_every_n_steps = 100}, {90, 100, 110});
    set_pinned(files, "d/m-110", true);
    save_steps(files, {.max_to_keep = 0}, {120, 130, 140});
    ASSERT_EQ(list_checkpoints(files, "d", "m"), kThere);
  }
  std::vector<std::string> there() { return list_checkpoints(files_, "d", "m"); }
  // The errors and log lines of a start and two saves.
  std::vector<std::string> start(FileSystem& files) {
    LogCapture log;
    std::vector<std::string> heard;
    const auto attempt = [&](const std::function<void()>& part) {
      try {
        part();
      } catch (const Error& error) {
        heard.emplace_back(error.what());
      }
    };
    Saver saver(with({.max_to_keep = 1}, files));
    attempt([&] { saver.restore_newest(*session_, "d", "m"); });
    for (const int64_t step : {150, 160}) attempt([&] { saver.save(*session_, "d/m", step); });
    const std::vector<std::string> lines = log.lines();
    heard.insert(heard.end(), lines.begin(), lines.end());
    return heard;
  }

  const std::vector<std::string> kThere = {"d/m-100", "d/m-110", "d/m-120", "d/m-130", "d/m-140"};
  const std::vector<std::string> kToStay = {"d/m-100", "d/m-110", "d/m-120", "d/m-130"};
  LogCapture log_;
  RefusingFileSystem files_;
  FakeClock clock_{1'700'000'000};
  ScriptedGraph graph_;
  std::unique_ptr<Session> session_ = graph_.new_session("");
};

TEST_F(UnreadHistoryTest, RemovesNothingThatCannotBeRead) {
  MemoryFileSystem before;
  prepare(before);
  for (const Failing failing : {Failing::kOnce, Failing::kFromThenOn})
    for (int64_t n = 0;; ++n) {
      SCOPED_TRACE(n);
      const auto disk = before.after_power_cut();
      FailingFileSystem files(*disk);
      files.fail_read_with_errno(n, EIO, failing);
      const std::vector<std::string> heard = start(files);
      const std::vector<std::string> left = list_checkpoints(*disk, "d", "m");
      EXPECT_THAT(left, IsSupersetOf(kToStay));
      EXPECT_GT(left.back(), "d/m-130");
      for (const std::string& failure : files.failures())
        EXPECT_THAT(heard, Contains(HasSubstr(failure)));
      // A start at which everything can be read continues from there.
      start(*disk);
      EXPECT_THAT(list_checkpoints(*disk, "d", "m"), IsSupersetOf(kToStay));
      ASSERT_FALSE(HasFailure());
      if (files.num_failures() == 0) break;
      ASSERT_LT(n, 1000);
    }
}

TEST_F(UnreadHistoryTest, AStateFileMayBecomeReadableAtTheFirstSave) {
  prepare(files_);
  Saver saver(with({.max_to_keep = 1}, files_));
  files_.refuse("d/checkpoint", 1);
  EXPECT_THAT(saver.restore_newest(*session_, "d", "m"), RestoredFrom("d/m-140"));
  EXPECT_TRUE(log_.contains("d: the list of checkpoints cannot be read now: d/checkpoint"));
  EXPECT_THAT(saver.last_checkpoints(), IsEmpty());
  saver.save(*session_, "d/m", 150);
  EXPECT_THAT(saver.last_checkpoints(), ElementsAre("d/m-150"));
  EXPECT_THAT(there(), Not(Contains("d/m-140")));
  EXPECT_THAT(there(), IsSupersetOf(kToStay));
}

TEST_F(UnreadHistoryTest, WithoutItAllExistingCheckpointsAreKept) {
  prepare(files_);
  Saver saver(with({.max_to_keep = 1}, files_));
  files_.refuse("d/checkpoint", 3);
  saver.restore_newest(*session_, "d", "m");
  for (const int64_t step : {150, 160}) saver.save(*session_, "d/m", step);
  EXPECT_TRUE(log_.contains("until it can, existing checkpoints are kept, regardless of policies"));
  EXPECT_THAT(there(), IsSupersetOf(kThere));
  EXPECT_THAT(there(), Not(Contains("d/m-150")));  // The policies apply to later checkpoints.
}

// One failed read keeps no checkpoint forever.
TEST_F(UnreadHistoryTest, OnceItCanBeReadThePoliciesApplyAgain) {
  prepare(files_);
  Saver saver(with({.max_to_keep = 1}, files_));
  files_.refuse("d/checkpoint", 3);
  saver.restore_newest(*session_, "d", "m");
  for (const int64_t step : {150, 160, 170}) saver.save(*session_, "d/m", step);
  EXPECT_THAT(there(), Not(Contains("d/m-140")));
  EXPECT_THAT(there(), Not(Contains("d/m-160")));
  EXPECT_THAT(there(), IsSupersetOf(kToStay));
  EXPECT_EQ(latest_checkpoint(files_, "d"), "d/m-170");
}

// Nor in later runs: the state file, which lists them, is not replaced before.
TEST_F(UnreadHistoryTest, ALaterRunFindsThem) {
  prepare(files_);
  {
    Saver saver(with({.max_to_keep = 1}, files_));
    files_.refuse("d/checkpoint", 3);
    saver.restore_newest(*session_, "d", "m");
    for (const int64_t step : {150, 160}) saver.save(*session_, "d/m", step);
  }
  files_.refuse("", 0);
  Saver next(with({.max_to_keep = 1}, files_));
  EXPECT_THAT(next.restore_newest(*session_, "d", "m"), RestoredFrom("d/m-160"));
  next.save(*session_, "d/m", 170);
  EXPECT_THAT(there(), Not(Contains("d/m-140")));
  EXPECT_THAT(there(), Not(Contains("d/m-160")));
  EXPECT_THAT(there(), IsSupersetOf(kToStay));
}

// Its list is not lost when a damaged checkpoint is set aside.
TEST_F(UnreadHistoryTest, SettingAsideDoesNotReplaceAnUnreadableStateFile) {
  prepare(files_);
  files_.truncate("d/m-140.data-00000-of-00001", 1);
  const std::string state = read_file(files_, "d/checkpoint");
  const internal::DirectoryLock lock(files_, "d");
  Saver saver(with({.max_to_keep = 1}, files_));
  files_.refuse("d/checkpoint", 1);
  EXPECT_THAT(saver.restore_newest(*session_, "d", "m"), RestoredFrom("d/m-130"));
  EXPECT_EQ(read_file(files_, "d/checkpoint"), state);
  EXPECT_FALSE(checkpoint_exists(files_, "d/m-140"));
}

TEST_F(UnreadHistoryTest, PreservedCheckpointsAreFoundOnceTheirSidecarIsReadable) {
  prepare(files_);
  files_.remove("d/checkpoint");  // All count, except those that sidecars mark as preserved.
  Saver saver(with({.max_to_keep = 2}, files_));
  files_.refuse("d/m-100.json", 2);
  saver.restore_newest(*session_, "d", "m");
  EXPECT_TRUE(log_.contains("the sidecar of d/m-100 cannot be read now"));
  EXPECT_THAT(saver.last_checkpoints(), Contains("d/m-100"));
  saver.save(*session_, "d/m", 150);
  EXPECT_THAT(there(), ElementsAre("d/m-100", "d/m-110", "d/m-140", "d/m-150"));
  EXPECT_THAT(saver.last_checkpoints(), Not(Contains("d/m-100")));
}

TEST_F(UnreadHistoryTest, ASidecarIsNotReplacedBecauseItCannotBeRead) {
  prepare(files_);
  files_.refuse("d/m-110.json", 1);
  EXPECT_THROW(record_metrics(files_, "d/m-110", {{"loss", 1}}), UnknownError);
  EXPECT_TRUE(read_sidecar(files_, "d/m-110")->pinned);
  EXPECT_NE(read_sidecar(files_, "d/m-110")->index_crc32c, 0u);
}

TEST_F(UnreadHistoryTest, APinOutlivesASaveOfTheStepThatCannotReadIt) {
  Saver saver(with({.max_to_keep = 1}, files_));
  saver.save(*session_, "d/m", 1);
  saver.pin("d/m-1");
  files_.refuse("d/m-1.json", 1);
  saver.save(*session_, "d/m", 1);
  saver.save(*session_, "d/m", 2);
  EXPECT_THAT(there(), ElementsAre("d/m-1", "d/m-2"));
  EXPECT_TRUE(log_.contains("the old sidecar of d/m-1 cannot be read: it counts as pinned"));
}

TEST_F(UnreadHistoryTest, AManagerRemovesNothingItCannotRead) {
  const auto manager = [&] {
    return CheckpointManager(
        {.directory = "d", .max_to_keep = 1, .saver = {.files = &files_, .clock = &clock_}});
  };
  manager().save(*session_);
  files_.refuse("d/checkpoint", 1);
  auto second = manager();
  EXPECT_TRUE(log_.contains("cannot be read now: d/checkpoint: broken"));
  EXPECT_EQ(second.latest_checkpoint(), "d/ckpt-1");
  EXPECT_THAT(second.checkpoints(), IsEmpty());
  files_.refuse("d/checkpoint", 1);
  second.save(*session_);
  EXPECT_THAT(list_checkpoints(files_, "d", "ckpt"), ElementsAre("d/ckpt-1", "d/ckpt-2"));
  second.save(*session_);  // It can be read again.
  EXPECT_THAT(list_checkpoints(files_, "d", "ckpt"), ElementsAre("d/ckpt-3"));
}

// After a kill, the sidecar and the state file may disagree.
TEST_F(UnreadHistoryTest, AManagerRemovesNoPreservedCheckpoint) {
  const auto manager = [&] {
    return CheckpointManager(
        {.directory = "d", .max_to_keep = 1, .saver = {.files = &files_, .clock = &clock_}});
  };
  manager().save(*session_);
  internal::mark_preserved(files_, {"d/ckpt-1"});
  clock_.advance(minutes(1));
  manager().save(*session_);
  EXPECT_THAT(list_checkpoints(files_, "d", "ckpt"), ElementsAre("d/ckpt-1", "d/ckpt-2"));
  EXPECT_THAT(manager().checkpoints(), ElementsAre("d/ckpt-2"));
}

}  // namespace
}  // namespace crochet
