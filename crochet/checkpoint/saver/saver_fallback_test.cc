// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The fallback directory of a saver, and full disks.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/checkpoint/saver/checkpoint_manager.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/checkpoint/saver/internal/saver_access.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/standing_clock.h"
#include "crochet/testing/watched_file_system.h"
#include "tests/support/restored_from.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

class SaverFallbackTest : public testing::Test {
 protected:
  SaverOptions with(SaverOptions options) {
    options.files = &files_;
    options.clock = &clock_;
    return options;
  }
  void break_disk(const std::string& directory) {
    files_.on_create([directory](const std::string& path) {
      if (path.starts_with(directory + "/")) throw UnknownError(fmt::format("{}: broken", path));
    });
  }
  void heal_disk() { files_.on_create({}); }
  std::string save(Saver& saver, int64_t step) { return saver.save(*session_, "d/m", step); }
  SaveTicket save_in_background(Saver& saver, int64_t step) {
    internal::BackgroundSaver background(saver);
    const SaveTicket ticket = background.enqueue(saver.snapshot(*session_), "d/m", step);
    background.wait();
    return ticket;
  }
  std::vector<std::string> in(const std::string& directory) {
    return list_checkpoints(files_, directory, "m");
  }
  std::optional<std::string> restored(Saver& saver) {
    const auto session = graph_.new_session("");
    return restored_prefix(saver.restore_newest(*session, "d", "m"));
  }
  void damage(const std::string& prefix) { files_.truncate(prefix + ".data-00000-of-00001", 3); }

  LogCapture log_;
  WatchedFileSystem files_;
  FakeClock clock_;
  ScriptedGraph graph_;
  std::unique_ptr<Session> session_ = graph_.new_session("");
};

TEST_F(SaverFallbackTest, ReceivesWhatCannotBeWrittenToTheOwnDirectory) {
  Saver saver(with({.fallback_dir = "e"}));
  save(saver, 1);
  break_disk("d");
  EXPECT_EQ(save(saver, 2), "e/m-2");
  EXPECT_THAT(in("d"), ElementsAre("d/m-1"));
  EXPECT_THAT(in("e"), ElementsAre("e/m-2"));
  EXPECT_TRUE(log_.contains("d/m-2 was written as e/m-2"));
}

TEST_F(SaverFallbackTest, EachDirectoryHasItsOwnStateFile) {
  Saver saver(with({.fallback_dir = "e"}));
  save(saver, 1);
  break_disk("d");
  save(saver, 2);
  EXPECT_EQ(latest_checkpoint(files_, "d"), "d/m-1");
  EXPECT_EQ(latest_checkpoint(files_, "e"), "e/m-2");
  EXPECT_THAT(saver.last_checkpoints(), ElementsAre("d/m-1"));
}

TEST_F(SaverFallbackTest, WithoutOneTheErrorIsThrown) {
  Saver saver(with({}));
  break_disk("d");
  EXPECT_THROW(save(saver, 1), UnknownError);
}

TEST_F(SaverFallbackTest, IsTriedAfterTheRetries) {
  Saver saver(with({.fallback_dir = "e"}));
  break_disk("d");
  const Clock::TimePoint start = clock_.now();
  const SaveTicket ticket = save_in_background(saver, 3);
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_EQ(ticket.prefix(), "d/m-3");
  EXPECT_EQ(ticket.location(), "e/m-3");
  EXPECT_EQ(ticket.num_attempts(), 5);
  EXPECT_DOUBLE_EQ(to_seconds(clock_.now() - start), 1 + 2 + 4);
  EXPECT_THAT(in("e"), ElementsAre("e/m-3"));
}

TEST_F(SaverFallbackTest, TheFirstErrorIsThrownIfBothFail) {
  Saver saver(with({.fallback_dir = "e"}));
  files_.on_create([](const std::string& path) {
    if (path.starts_with("d/")) throw PermissionDeniedError(fmt::format("{}: no", path));
    throw UnknownError(fmt::format("{}: broken", path));
  });
  const SaveTicket ticket = save_in_background(saver, 3);
  EXPECT_THROW(ticket.wait(), PermissionDeniedError);
  EXPECT_EQ(ticket.location(), "");
  EXPECT_TRUE(log_.contains("saving d/m-3 into the fallback directory failed, too: e/m-3"));
}

// It is durable in its own directory: only the state file is missing, and a copy would not help.
TEST_F(SaverFallbackTest, ADurableCheckpointIsNotWrittenAgain) {
  Saver saver(with({.fallback_dir = "e"}));
  files_.on_create([](const std::string& path) {
    if (path.starts_with("d/checkpoint.tmp")) throw UnknownError(fmt::format("{}: broken", path));
  });
  EXPECT_THROW(save(saver, 1), UnknownError);
  EXPECT_TRUE(save_in_background(saver, 2).error());
  EXPECT_THAT(in("d"), ElementsAre("d/m-1", "d/m-2"));
  EXPECT_THAT(in("e"), IsEmpty());
}

// A torn snapshot is torn in every directory.
TEST_F(SaverFallbackTest, IsNotTriedForATornSnapshot) {
  Saver saver(with({.fallback_dir = "e"}));
  const Tensor tensor = Tensor::scalar(1.0f);
  const auto snapshot = [&] {
    class Torn final : public PendingCopies {
      void wait() override {}
      void verify() const override { throw FailedPreconditionError("\"a\" is torn"); }
    };
    return Snapshot({{"a", tensor}}, std::make_shared<Torn>());
  };
  internal::SavePromise promise(saver.prefix_of("d/m", 1), 1, clock_);
  EXPECT_THROW(internal::SaverAccess::write(saver, snapshot(), promise), FailedPreconditionError);
  internal::BackgroundSaver background(saver);
  EXPECT_THROW(background.enqueue(snapshot(), "d/m", 2).wait(), FailedPreconditionError);
  EXPECT_FALSE(files_.exists("e"));
  EXPECT_THAT(in("d"), IsEmpty());
}

TEST_F(SaverFallbackTest, IsUsedIfTheDirectoryIsAFile) {
  files_.create("d")->close();
  Saver saver(with({.fallback_dir = "e"}));
  EXPECT_EQ(save(saver, 1), "e/m-1");
  EXPECT_EQ(save_in_background(saver, 2).location(), "e/m-2");
}

TEST_F(SaverFallbackTest, TheNewestOfBothIsRestored) {
  Saver saver(with({.fallback_dir = "e"}));
  save(saver, 1);
  break_disk("d");
  save(saver, 2);
  heal_disk();
  EXPECT_EQ(restored(saver), "e/m-2");
  save(saver, 3);
  EXPECT_EQ(restored(saver), "d/m-3");
  // Another process restores the same.
  Saver next(with({.fallback_dir = "e"}));
  EXPECT_EQ(restored(next), "d/m-3");
}

TEST_F(SaverFallbackTest, TheOwnDirectoryIsPreferredForTheSameStep) {
  Saver saver(with({.fallback_dir = "e"}));
  break_disk("d");
  save(saver, 2);
  heal_disk();
  save(saver, 2);
  EXPECT_EQ(restored(saver), "d/m-2");
}

TEST_F(SaverFallbackTest, IsRestoredFromThoughTheOwnDirectoryIsEmpty) {
  Saver saver(with({.fallback_dir = "e"}));
  break_disk("d");
  save(saver, 2);
  heal_disk();
  EXPECT_EQ(restored(saver), "e/m-2");
}

TEST_F(SaverFallbackTest, NoStateFileNamesCheckpointsOfTheOther) {
  const internal::DirectoryLock lock(files_, "d");
  Saver saver(with({.fallback_dir = "e"}));
  save(saver, 1);
  break_disk("d");
  save(saver, 3);
  heal_disk();
  save(saver, 4);
  damage("d/m-4");
  EXPECT_EQ(restored(saver), "e/m-3");
  EXPECT_EQ(latest_checkpoint(files_, "d"), "d/m-1");
  EXPECT_TRUE(files_.exists("d/m-4.index.damaged"));
}

TEST_F(SaverFallbackTest, ADamagedCheckpointInItIsSkippedAndSetAside) {
  const internal::DirectoryLock lock(files_, "e");
  Saver saver(with({.fallback_dir = "e"}));
  save(saver, 1);
  break_disk("d");
  save(saver, 2);
  heal_disk();
  damage("e/m-2");
  EXPECT_EQ(restored(saver), "d/m-1");
  EXPECT_TRUE(files_.exists("e/m-2.index.damaged"));
}

TEST_F(SaverFallbackTest, KeepsItsOwnNewest) {
  Saver saver(with({.max_to_keep = 2, .fallback_dir = "e"}));
  save(saver, 1);
  break_disk("d");
  for (int64_t step = 2; step <= 5; ++step) save(saver, step);
  EXPECT_THAT(in("d"), ElementsAre("d/m-1"));
  EXPECT_THAT(in("e"), ElementsAre("e/m-4", "e/m-5"));
}

// After a restore of an older step, those of later steps still exist.
TEST_F(SaverFallbackTest, NeverRemovesTheCheckpointJustWritten) {
  Saver saver(with({.max_to_keep = 1, .fallback_dir = "e"}));
  break_disk("d");
  save(saver, 9);
  save(saver, 5);
  EXPECT_THAT(in("e"), ElementsAre("e/m-5"));
}

TEST_F(SaverFallbackTest, ManagersRejectOne) {
  EXPECT_THROW(
      CheckpointManager({.directory = "d", .max_to_keep = 3, .saver = with({.fallback_dir = "e"})}),
      InvalidArgumentError);
}

// Whatever happens to the directory in mid-run: its disk is unmounted, it is renamed or removed.
TEST_F(SaverFallbackTest, IsUsedIfTheLockedDirectoryIsGone) {
  const internal::DirectoryLock lock(files_, "d");
  Saver saver(with({.fallback_dir = "e"}));
  save(saver, 1);
  files_.rename("d", "moved");
  EXPECT_EQ(save(saver, 2), "e/m-2");
  const SaveTicket ticket = save_in_background(saver, 3);
  EXPECT_EQ(ticket.location(), "e/m-3");
  EXPECT_EQ(ticket.num_attempts(), 5);
  EXPECT_FALSE(files_.exists("d"));
  // Another directory in its place is not the run's.
  files_.create_directories("d");
  EXPECT_EQ(save(saver, 4), "e/m-4");
  EXPECT_THAT(in("d"), IsEmpty());
  files_.rename("d", "other");
  files_.rename("moved", "d");
  EXPECT_EQ(save(saver, 5), "d/m-5");
}

// Saves that are due more often than the retries take: a newer one never ends the attempts of one
// that has begun.
class FrequentSavesTest : public SaverFallbackTest {
 protected:
  // Saves steps 2 to 5, each while the save before waits to be retried.
  void save_often(const internal::BackgroundSaverOptions& options, bool waits_for_turn = false) {
    internal::BackgroundSaver background(saver_, options);
    for (int64_t step = 2; step <= 5; ++step) {
      if (waits_for_turn) {
        EXPECT_TRUE(background.wait_for_turn());
      }
      background.enqueue(saver_.snapshot(*session_), "d/m", step);
      standing_.wait_for_sleepers();
    }
    background.close(standing_.now() + std::chrono::seconds(60));
  }

  StandingClock standing_;
  Saver saver_{{.fallback_dir = "e", .files = &files_, .clock = &standing_}};
};

TEST_F(FrequentSavesTest, AllReachTheFallbackIfTheDirectoryIsGone) {
  const internal::DirectoryLock lock(files_, "d");
  save(saver_, 1);
  files_.rename("d", "moved");
  save_often({});
  EXPECT_THAT(in("e"), ElementsAre("e/m-2", "e/m-3", "e/m-4", "e/m-5"));
}

TEST_F(FrequentSavesTest, AllReachItIfCallersWaitBeforeTheirSnapshot) {
  break_disk("d");
  save_often({}, true);
  EXPECT_THAT(in("e"), ElementsAre("e/m-2", "e/m-3", "e/m-4", "e/m-5"));
}

TEST_F(FrequentSavesTest, TheFirstAndTheNewestReachItIfTheNewestWins) {
  break_disk("d");
  save_often({.overlap = SaveOverlapPolicy::kNewestWins});
  EXPECT_THAT(in("e"), AllOf(Contains("e/m-2"), Contains("e/m-5")));
}

// The free space that is reported may be wrong: the last attempt ignores it.
TEST_F(FrequentSavesTest, AreWrittenInSpiteOfAWrongReportOfFreeSpace) {
  files_.create_directories("d");
  files_.say_free([] { return 100; });
  save_often({});
  EXPECT_THAT(in("d"), ElementsAre("d/m-2", "d/m-3", "d/m-4", "d/m-5"));
}

TEST_F(SaverFallbackTest, WithoutOneALostDirectoryIsTriedAgain) {
  const internal::DirectoryLock lock(files_, "d");
  Saver saver(with({}));
  save(saver, 1);
  files_.rename("d", "moved");
  const SaveTicket ticket = save_in_background(saver, 2);
  EXPECT_THROW(ticket.wait(), FailedPreconditionError);
  EXPECT_EQ(ticket.num_attempts(), 4);
  EXPECT_EQ(ticket.fault(), SaveFault::kPlace);
  files_.rename("moved", "d");
  EXPECT_EQ(save(saver, 3), "d/m-3");
}

// A start must not resume from an older checkpoint because the newer ones are on a disk that is not
// mounted.
class FallbackRecordTest : public SaverFallbackTest {
 protected:
  FallbackRecordTest() {
    Saver saver(with({.fallback_dir = "e"}));
    save(saver, 1);
    break_disk("d");  // It is full: files can be renamed, but not created.
    save(saver, 2);
    save(saver, 4);
    heal_disk();
  }
  std::optional<std::string> restored_by_next(const std::string& fallback_dir) {
    Saver next(with({.fallback_dir = fallback_dir}));
    return restored(next);
  }
  void unmount() { files_.rename("e", "unmounted"); }
  void expect_to_stop(const std::string& fallback_dir) {
    EXPECT_THAT([&] { restored_by_next(fallback_dir); },
                ThrowsMessage<FailedPreconditionError>(
                    AllOf(HasSubstr("d: the checkpoint of step 4 was saved in the fallback "
                                    "directory e, which "),
                          HasSubstr("to continue from d/m-1 without it, remove d/m.fallback-4"))));
  }
};

TEST_F(FallbackRecordTest, StopsAStartThatCannotSeeTheNewest) {
  unmount();
  for (const char* const option : {"e", "", "other"}) expect_to_stop(option);
  files_.create_directories("e");  // The mount point.
  expect_to_stop("e");
  files_.rename("e", "empty");
  files_.create("e")->close();
  expect_to_stop("e");
}

TEST_F(FallbackRecordTest, StopsAStartWithoutAnyCheckpoint) {
  unmount();
  for (const std::string& path : internal::paths_of_checkpoint(files_, "d/m-1"))
    if (files_.exists(path)) files_.remove(path);
  EXPECT_THAT([&] { restored_by_next("e"); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("to continue from the beginning")));
}

// Each advice of the error.
TEST_F(FallbackRecordTest, AllowsToMountIt) {
  unmount();
  files_.rename("unmounted", "e");
  EXPECT_EQ(restored_by_next("e"), "e/m-4");
}

TEST_F(FallbackRecordTest, AllowsToCopyTheCheckpoint) {
  unmount();
  for (const std::string& path : internal::paths_of_checkpoint(files_, "unmounted/m-4"))
    if (files_.exists(path)) files_.link(path, "d" + path.substr(std::string("unmounted").size()));
  EXPECT_EQ(restored_by_next("e"), "d/m-4");
}

TEST_F(FallbackRecordTest, AllowsToContinueWithoutIt) {
  unmount();
  files_.remove("d/m.fallback-4");
  EXPECT_EQ(restored_by_next("e"), "d/m-1");
}

TEST_F(FallbackRecordTest, IsFollowedWithoutTheOption) {
  EXPECT_EQ(restored_by_next(""), "e/m-4");
  EXPECT_EQ(restored_by_next("other"), "e/m-4");
}

TEST_F(FallbackRecordTest, EndsWithTheNextCheckpointInTheOwnDirectory) {
  {
    Saver next(with({.fallback_dir = "e"}));
    EXPECT_EQ(restored(next), "e/m-4");
    EXPECT_EQ(save(next, 5), "d/m-5");
  }
  EXPECT_TRUE(files_.exists("d/m.fallback"));
  EXPECT_FALSE(files_.exists("d/m.fallback-4"));
  unmount();
  EXPECT_EQ(restored_by_next("e"), "d/m-5");
}

// It is no longer wanted, so that nothing is missing.
TEST_F(FallbackRecordTest, EndsIfTheRunGoesBack) {
  const internal::DirectoryLock lock(files_, "d");
  const internal::DirectoryLock fallback_lock(files_, "e");
  Saver next(with({.fallback_dir = "e"}), {.which = CheckpointChoice::at_step(1)});
  EXPECT_EQ(restored(next), "d/m-1");
  EXPECT_FALSE(files_.exists("d/m.fallback-4"));
  EXPECT_EQ(restored_by_next("e"), "d/m-1");
}

TEST_F(SaverFallbackTest, LeavesNoRecordOfItsUseIfItIsNotUsed) {
  {
    Saver saver(with({.fallback_dir = "e"}));
    save(saver, 1);
  }
  EXPECT_EQ(read_file(files_, "d/m.fallback"), "e");
  Saver next(with({.fallback_dir = "e"}));
  EXPECT_EQ(restored(next), "d/m-1");
}

// A disk that reports too little free space.
class FullDiskTest : public SaverFallbackTest {
 protected:
  void leave_free(uint64_t num_bytes) {
    files_.say_free([num_bytes] { return num_bytes; });
  }
  void count_files() {
    files_.on_create([this](const std::string&) { ++num_created_; });
  }
  int num_created_ = 0;
};

TEST_F(FullDiskTest, IsDetectedBeforeAnythingIsWritten) {
  graph_.variable("w", Tensor::zeros<float>({1000}));
  session_ = graph_.new_session("");
  Saver saver(with({}));
  save(saver, 1);
  const auto before = files_.list("d");
  leave_free(4000);
  count_files();
  EXPECT_THAT([&] { save(saver, 2); },
              ThrowsMessage<ResourceExhaustedError>(
                  AllOf(HasSubstr("d: no room for the checkpoint m-2: it needs 20"),
                        HasSubstr("4000 are free; nothing was written"))));
  EXPECT_EQ(num_created_, 0);
  EXPECT_EQ(files_.list("d"), before);
}

TEST_F(FullDiskTest, CountsTheLengthsOfStrings) {
  graph_.variable("text", Tensor::scalar(std::string(100'000, 'x')));
  session_ = graph_.new_session("");
  Saver saver(with({}));
  files_.create_directories("d");
  leave_free(90'000);
  EXPECT_THROW(save(saver, 2), ResourceExhaustedError);
}

TEST_F(FullDiskTest, IsReportedInFullOnlyOnce) {
  Saver saver(with({}));
  files_.create_directories("d");
  files_.set_capacity(10);
  const SaveTicket ticket = save_in_background(saver, 1);
  EXPECT_THROW(ticket.wait(), ResourceExhaustedError);
  int in_full = 0;
  for (const std::string& line : log_.lines(Severity::kWarning))
    in_full += line.find("bytes") != std::string::npos ? 1 : 0;
  EXPECT_EQ(in_full, 1);
  EXPECT_TRUE(log_.contains("saving d/m-1 failed again, for the same reason"));
  EXPECT_THAT(log_.lines(Severity::kError), SizeIs(1));
  EXPECT_THAT(files_.list("d"), IsEmpty());
}

TEST_F(FullDiskTest, UnknownFreeSpaceDoesNotPreventASave) {
  Saver saver(with({}));
  leave_free(0);
  EXPECT_EQ(save(saver, 1), "d/m-1");
  files_.say_free([]() -> uint64_t { throw UnimplementedError("statvfs: ENOSYS"); });
  EXPECT_EQ(save(saver, 2), "d/m-2");
}

TEST_F(FullDiskTest, AWrongReportDelaysABackgroundSaveButDoesNotPreventIt) {
  Saver saver(with({}));
  files_.create_directories("d");
  leave_free(100);
  const SaveTicket ticket = save_in_background(saver, 1);
  EXPECT_EQ(ticket.stage(), SaveStage::kPublished);
  EXPECT_EQ(ticket.num_attempts(), 4);
  EXPECT_THROW(save(saver, 2), ResourceExhaustedError);
  Saver unbelieving(with({.check_free_space = false}));
  EXPECT_EQ(save(unbelieving, 2), "d/m-2");
}

TEST_F(FullDiskTest, ReportsTheFreeSpaceIfTheDiskFillsUp) {
  Saver saver(with({.check_free_space = false}));
  save(saver, 1);
  files_.set_capacity(50);
  EXPECT_THAT([&] { save(saver, 2); },
              ThrowsMessage<ResourceExhaustedError>(AllOf(HasSubstr("No space left"),
                                                          HasSubstr("; the checkpoint needs"),
                                                          HasSubstr("d has 0 free"))));
  EXPECT_THAT(in("d"), ElementsAre("d/m-1"));
}

TEST_F(FullDiskTest, SendsSavesToTheFallbackDirectory) {
  Saver saver(with({.fallback_dir = "e"}));
  files_.create_directories("d");
  bool first = true;
  files_.say_free([&first]() -> uint64_t { return std::exchange(first, false) ? 1 : 1'000'000; });
  EXPECT_EQ(save(saver, 1), "e/m-1");
}

}  // namespace
}  // namespace crochet
