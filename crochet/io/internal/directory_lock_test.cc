// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/directory_lock.h"

#include <unistd.h>

#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet::internal {
namespace {

using ::testing::MatchesRegex;
using ::testing::ThrowsMessage;

static_assert(std::is_nothrow_move_constructible_v<DirectoryLock>);
static_assert(!std::is_copy_constructible_v<DirectoryLock>);

TEST(DirectoryLockTest, NamesTheHolder) {
  MemoryFileSystem files;
  const DirectoryLock lock(files, "runs/digits");
  EXPECT_THAT(read_file(files, "runs/digits/.lock"),
              MatchesRegex(fmt::format("pid {} on host [^ \n]+\n", ::getpid())));
}

// Two runs in one process: it would not help to say which process holds the lock.
TEST(DirectoryLockTest, ReportsThatThisProcessHoldsIt) {
  MemoryFileSystem files;
  const DirectoryLock lock(files, "runs/digits");
  EXPECT_THAT([&] { DirectoryLock(files, "runs/digits"); },
              ThrowsMessage<FailedPreconditionError>(
                  "runs/digits: this process already holds its lock, for another Loop, run or "
                  "checkpoint hook: each needs a directory of its own"));
}

TEST(DirectoryLockTest, NamesTheHolderToAnotherProcess) {
  MemoryFileSystem files;
  files.create_directories("run");
  const std::unique_ptr<FileLock> other = files.try_lock("run/.lock");
  other->write("pid 7 on host elsewhere\n");
  EXPECT_THAT([&] { DirectoryLock(files, "run"); },
              ThrowsMessage<FailedPreconditionError>(
                  "run: another run holds its lock: pid 7 on host elsewhere"));
}

TEST(DirectoryLockTest, RejectsADirectoryLockedByAnotherProcess) {
  MemoryFileSystem files;
  files.create_directories("run");
  const std::unique_ptr<FileLock> other = files.try_lock("run/.lock");
  EXPECT_THAT(
      [&] { DirectoryLock(files, "run"); },
      ThrowsMessage<FailedPreconditionError>("run: another run holds its lock: unknown holder"));
}

TEST(DirectoryLockTest, ExcludesOnRealDisks) {
  TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  std::optional<DirectoryLock> lock(std::in_place, files, directory / "run");
  EXPECT_THROW(DirectoryLock(files, directory / "run"), FailedPreconditionError);
  lock.reset();
  EXPECT_NO_THROW(DirectoryLock(files, directory / "run"));
}

TEST(DirectoryLockTest, IsFreeAfterwardsAndTheFileStays) {
  MemoryFileSystem files;
  { const DirectoryLock lock(files, "run"); }
  EXPECT_TRUE(files.exists("run/.lock"));
  EXPECT_NO_THROW(DirectoryLock(files, "run"));
}

// As on a disk: the file of a process that was killed still has its holder.
TEST(DirectoryLockTest, ReportsALastRunThatDidNotEndByItself) {
  MemoryFileSystem files;
  files.create_directories("run");
  files.try_lock("run/.lock")->write("pid 7 on host elsewhere\n");
  LogCapture log;
  { const DirectoryLock lock(files, "run"); }
  EXPECT_TRUE(
      log.contains("run: the last run here did not end by itself: its process (pid 7 on "
                   "host elsewhere) was killed, crashed or exited"));
  LogCapture later;
  const DirectoryLock lock(files, "run");
  EXPECT_FALSE(later.contains("did not end by itself"));
}

TEST(DirectoryLockTest, ARunThatWasMovedEndsOnce) {
  TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  LogCapture log;
  {
    DirectoryLock first(files, directory / "run");
    const DirectoryLock second = std::move(first);
  }
  { const DirectoryLock again(files, directory / "run"); }
  EXPECT_FALSE(log.contains("did not end by itself"));
}

TEST(DirectoryLockTest, StaysHeldWhenMoved) {
  MemoryFileSystem files;
  DirectoryLock first(files, "run");
  {
    const DirectoryLock second = std::move(first);
    EXPECT_THROW(DirectoryLock(files, "run"), FailedPreconditionError);
  }
  EXPECT_NO_THROW(DirectoryLock(files, "run"));
}

TEST(DirectoryLockTest, LocksOnlyOneDirectory) {
  MemoryFileSystem files;
  const DirectoryLock lock(files, "runs/a");
  EXPECT_NO_THROW(DirectoryLock(files, "runs/b"));
}

TEST(DirectoryLockTest, ToleratesAnyContentOfTheLockFile) {
  MemoryFileSystem files;
  files.create_directories("run");
  const std::unique_ptr<FileLock> other = files.try_lock("run/.lock");
  for (const std::string content : {"", "\n", "\x01\x02", "pid 1\x7f\n"}) {
    other->write(content);
    EXPECT_THAT(
        [&] { DirectoryLock(files, "run"); },
        ThrowsMessage<FailedPreconditionError>("run: another run holds its lock: unknown holder"));
  }
}

TEST(DirectoryLockTest, HoldsEvenIfTheHolderCannotBeWritten) {
  MemoryFileSystem files;
  files.set_capacity(3);
  LogCapture log;
  const DirectoryLock lock(files, "run");
  EXPECT_TRUE(log.contains("run/.lock: the lock is held, but its holder cannot be recorded"));
  EXPECT_THROW(DirectoryLock(files, "run"), FailedPreconditionError);
}

TEST(DirectoryLockTest, PassesOnAnErrorOfCreatingTheDirectory) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  files.fail_operation(0, Code::kPermissionDenied);
  EXPECT_THROW(DirectoryLock(files, "run"), PermissionDeniedError);
}

TEST(DirectoryLockTest, IsLostWithItsDirectory) {
  MemoryFileSystem files;
  const DirectoryLock lock(files, "run");
  EXPECT_NO_THROW(lock.check());
  files.rename("run", "run.old");
  EXPECT_THROW(lock.check(), FailedPreconditionError);
  const DirectoryLock other(files, "run");
  EXPECT_THROW(lock.check(), FailedPreconditionError);
  EXPECT_NO_THROW(other.check());
}

TEST(DirectoryLockTest, IsLostWithItsFile) {
  MemoryFileSystem files;
  const DirectoryLock lock(files, "run");
  files.remove("run/.lock");
  EXPECT_THAT([&] { lock.check(); },
              ThrowsMessage<FailedPreconditionError>(
                  MatchesRegex("run: its lock is lost: the file .lock was removed or replaced.*")));
  const DirectoryLock other(files, "run");
  EXPECT_THROW(lock.check(), FailedPreconditionError);
}

TEST(DirectoryLockTest, NeverWritesThroughALink) {
  TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  files.create(directory / "thesis.tex")->append("years of work");
  files.create_directories(directory / "run");
  ASSERT_EQ(::symlink("../thesis.tex", (directory / "run/.lock").c_str()), 0);
  EXPECT_THROW(DirectoryLock(files, directory / "run"), FailedPreconditionError);
  EXPECT_EQ(read_file(files, directory / "thesis.tex"), "years of work");
}

}  // namespace
}  // namespace crochet::internal
