// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/internal/checkpoint_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/raw_bundle.h"

namespace crochet::internal {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// A checkpoint as a saver publishes it.
void publish(FileSystem& files, const std::string& prefix, float value = 1) {
  BundleWriter writer(files, prefix);
  writer.add("w", Tensor::scalar(value));
  writer.write_and_sync();
  write_sidecar(files, prefix, {.step = 1, .index_crc32c = writer.index_crc32c()});
  writer.publish();
}

class CheckpointDirectoryTest : public testing::Test {
 protected:
  CheckpointDirectoryTest() { files_.create_directories("d"); }

  CheckpointDirectory directory() { return CheckpointDirectory::to_save_in(files_, "d"); }
  float value_of(const std::string& prefix) {
    return CheckpointReader(prefix, files_).read("w").scalar<float>();
  }

  MemoryFileSystem files_;
  LogCapture log_;
};

TEST_F(CheckpointDirectoryTest, RemovesPublishedCheckpoints) {
  publish(files_, "d/m-1");
  publish(files_, "d/m-2");
  EXPECT_THAT(directory().remove({"d/m-1"}), ElementsAre("d/m-1"));
  EXPECT_THAT(list_checkpoints(files_, "d", "m"), ElementsAre("d/m-2"));
  EXPECT_THAT(files_.list("d"), Not(Contains(StartsWith("m-1"))));
}

TEST_F(CheckpointDirectoryTest, RemovesNothingWhileAnotherRunHoldsTheLock) {
  publish(files_, "d/m-1");
  const auto lock = files_.try_lock("d/.lock");  // As another process does.
  EXPECT_THAT(directory().remove({"d/m-1"}), IsEmpty());
  EXPECT_EQ(value_of("d/m-1"), 1);
  EXPECT_TRUE(log_.contains("another run holds the lock"));
}

TEST_F(CheckpointDirectoryTest, RemovesUnderTheLockOfItsOwnProcess) {
  publish(files_, "d/m-1");
  const DirectoryLock run(files_, "d");
  EXPECT_THAT(directory().remove({"d/m-1"}), ElementsAre("d/m-1"));
  EXPECT_NO_THROW(run.check());
}

TEST_F(CheckpointDirectoryTest, LeavesTheLockFreeAfterARemoval) {
  publish(files_, "d/m-1");
  directory().remove({"d/m-1"});
  EXPECT_NO_THROW(DirectoryLock(files_, "d"));
}

// C2: another writer has replaced a listed checkpoint.
TEST_F(CheckpointDirectoryTest, KeepsACheckpointThatWasReplaced) {
  publish(files_, "d/m-1");
  const std::string sidecar = read_file(files_, "d/m-1.json");
  publish(files_, "d/m-1", 7);
  replace_file(files_, "d/m-1.json", sidecar);
  EXPECT_THAT(directory().remove({"d/m-1"}), IsEmpty());
  EXPECT_EQ(value_of("d/m-1"), 7);
  EXPECT_TRUE(log_.contains("its index is not the one published"));
}

TEST_F(CheckpointDirectoryTest, KeepsCheckpointsThatArePinnedOrWithoutASidecar) {
  publish(files_, "d/m-1");
  publish(files_, "d/m-2");
  publish(files_, "d/m-3");
  files_.remove("d/m-1.json");
  set_pinned(files_, "d/m-2", true);
  put_file(files_, "d/m-3.json", "damaged");
  EXPECT_THAT(directory().remove({"d/m-1", "d/m-2", "d/m-3"}), IsEmpty());
  for (const char* const prefix : {"d/m-1", "d/m-2", "d/m-3"}) EXPECT_EQ(value_of(prefix), 1);
}

// Every save would log them again.
TEST_F(CheckpointDirectoryTest, LogsOneLineForAllRemovalsThatFail) {
  for (const char* const prefix : {"d/m-1", "d/m-2", "d/m-3"}) publish(files_, prefix);
  files_.create_directories("d/.sidecar_lock");  // A directory cannot be locked.
  EXPECT_THAT(directory().remove({"d/m-1", "d/m-2", "d/m-3"}), IsEmpty());
  ASSERT_THAT(log_.lines(), SizeIs(1));
  EXPECT_THAT(log_.lines().front(), HasSubstr("surplus checkpoint d/m-1 cannot be removed"));
  EXPECT_THAT(log_.lines().front(), EndsWith("(and 2 others)"));
}

TEST_F(CheckpointDirectoryTest, DoesNotAccessOtherDirectories) {
  files_.create_directories("other");
  publish(files_, "other/m-1");
  EXPECT_THAT(directory().remove({"other/m-1", "d/../other/m-1", "/other/m-1"}), IsEmpty());
  EXPECT_EQ(value_of("other/m-1"), 1);
}

// C4: a confirmed pin counts, even if it comes after the removal has started to check.
TEST_F(CheckpointDirectoryTest, RespectsAPinSetDuringTheCheck) {
  publish(files_, "d/m-1");
  FailingFileSystem files(files_);
  bool done = false;
  files.watch([&](const std::string& operation) {
    if (done || operation != "lock d/.sidecar_lock") return;
    done = true;
    set_pinned(files_, "d/m-1", true);
  });
  CheckpointDirectory::to_save_in(files, "d").remove({"d/m-1"});
  EXPECT_TRUE(done);
  EXPECT_EQ(value_of("d/m-1"), 1);
}

TEST_F(CheckpointDirectoryTest, SetsAsideOnlyUnderTheLock) {
  publish(files_, "d/m-1");
  EXPECT_EQ(directory().set_aside("d/m-1"), std::nullopt);
  EXPECT_EQ(value_of("d/m-1"), 1);
  const DirectoryLock run(files_, "d");
  EXPECT_EQ(directory().set_aside("d/m-1"), ".damaged");
  EXPECT_THAT(list_checkpoints(files_, "d", "m"), IsEmpty());
  publish(files_, "d/m-1");
  EXPECT_EQ(directory().set_aside("d/m-1"), ".damaged-2");
  EXPECT_THAT(files_.list("d"), testing::IsSupersetOf({"m-1.index.damaged", "m-1.index.damaged-2",
                                                       "m-1.json.damaged", "m-1.json.damaged-2"}));
  EXPECT_THAT(files_.unsynced_names(), Not(Contains(EndsWith(".damaged-2"))));
}

TEST_F(CheckpointDirectoryTest, SetsAsideOnlyPublishedCheckpoints) {
  const DirectoryLock run(files_, "d");
  publish(files_, "d/m-1");
  files_.remove("d/m-1.json");
  EXPECT_EQ(directory().set_aside("d/m-1"), std::nullopt);
  EXPECT_EQ(value_of("d/m-1"), 1);
}

// C6: a kill at any moment loses no byte, and the next call completes the work.
TEST_F(CheckpointDirectoryTest, AKillWhileSettingAsideLosesNothing) {
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    disk.create_directories("d");
    publish(disk, "d/m-1");
    const std::string data = read_file(disk, "d/m-1.data-00000-of-00001");
    const std::string sidecar = read_file(disk, "d/m-1.json");
    disk.sync_directory("d");
    FailingFileSystem files(disk);
    {
      const DirectoryLock run(files, "d");
      const int64_t start = files.num_operations();
      files.fail_operation(start + n, Code::kUnknown, Failing::kFromThenOn);
      auto directory = CheckpointDirectory::to_save_in(files, "d");
      try {
        directory.set_aside("d/m-1");
      } catch (const UnknownError&) {
      }
    }
    disk.power_cut({.names = n % 2 == 0 ? UnsyncedNames::kKept : UnsyncedNames::kLost});
    const DirectoryLock next(disk, "d");
    remove_leftovers(disk, "d", "m");
    if (disk.exists("d/m-1.index")) {
      EXPECT_EQ(CheckpointDirectory::to_save_in(disk, "d").set_aside("d/m-1"), ".damaged") << n;
    }
    EXPECT_EQ(read_file(disk, "d/m-1.data-00000-of-00001.damaged"), data) << n;
    EXPECT_EQ(read_file(disk, "d/m-1.json.damaged"), sidecar) << n;
    EXPECT_TRUE(disk.exists("d/m-1.index.damaged")) << n;
    if (files.num_failures() == 0) break;
  }
}

// C7
TEST_F(CheckpointDirectoryTest, KeepsAPinnedCheckpointUnderAnotherName) {
  publish(files_, "d/m-1");
  publish(files_, "d/m-2");
  directory().keep("d/m-1", "it is pinned");
  EXPECT_NO_THROW(directory().keep("d/m-3", "it is pinned"));
  EXPECT_THAT(list_checkpoints(files_, "d", "m"), ElementsAre("d/m-2"));
  publish(files_, "d/m-1");
  directory().keep("d/m-1", "it is pinned");
  EXPECT_THAT(files_.list("d"),
              testing::IsSupersetOf({"m-1.index.replaced", "m-1.data-00000-of-00001.replaced",
                                     "m-1.index.replaced-2", "m-1.json.replaced-2"}));
}

TEST_F(CheckpointDirectoryTest, RejectsADirectoryThatWasReplacedUnderTheLock) {
  const DirectoryLock run(files_, "d");
  publish(files_, "d/m-1");
  auto before = directory();
  files_.rename("d", "old");
  files_.create_directories("d");
  publish(files_, "d/m-1", 7);
  EXPECT_THROW(directory(), FailedPreconditionError);
  EXPECT_THROW(before.remove({"d/m-1"}), FailedPreconditionError);
  EXPECT_EQ(before.set_aside("d/m-1"), std::nullopt);
  EXPECT_EQ(value_of("d/m-1"), 7);
  EXPECT_EQ(value_of("old/m-1"), 1);
}

// B1: a link to one of the user's directories, with the name of a leftover.
TEST(CheckpointDirectoryOnDiskTest, RemovesALeftoverLinkButNotItsTarget) {
  const LogCapture log;
  TempDirectory root;
  FileSystem& files = FileSystem::posix();
  files.create_directories(root / "home");
  files.create_directories(root / "run");
  files.create(root / "home/thesis.tex")->append("years of work");
  ASSERT_EQ(::symlink("../home", (root / "run/m-1.tempstate1_temp").c_str()), 0);
  ASSERT_EQ(::mkfifo((root / "run/m-2.index.tempstate1").c_str(), 0666), 0);
  files.create_directories(root / "run/m-3.tempstate1_temp");
  files.create(root / "run/m-3.tempstate1_temp/part");
  remove_leftovers(files, root / "run", "m");
  EXPECT_EQ(read_file(files, root / "home/thesis.tex"), "years of work");
  EXPECT_THAT(files.list(root / "run"), ElementsAre(".lock"));
}

}  // namespace
}  // namespace crochet::internal
