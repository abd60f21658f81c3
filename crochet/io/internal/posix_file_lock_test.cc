// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/posix_file_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <grp.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/temp_directory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace crochet::internal {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

mode_t mode_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

nlink_t num_names_of(const std::string& path) {
  struct stat status = {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_nlink;
}

// Who may write the directory may take its lock; who may not could exclude its runs.
TEST(PosixFileLockTest, IsOpenToThoseWhoMayWriteTheDirectory) {
  FileSystem& files = FileSystem::posix();
  for (const auto& [directory_mode, lock_mode] : std::vector<std::pair<mode_t, mode_t>>{
           {0700, 0600}, {0755, 0600}, {0775, 0660}, {0770, 0660}, {0777, 0666}, {02775, 0660}}) {
    const TempDirectory directory;
    ASSERT_EQ(::chmod(directory.path().c_str(), directory_mode), 0);
    std::ofstream(directory / ".lock") << "old";
    ASSERT_EQ(::chmod((directory / ".lock").c_str(), 0644), 0);
    EXPECT_NE(files.try_lock(directory / ".lock"), nullptr);
    EXPECT_EQ(mode_of(directory / ".lock"), lock_mode) << std::oct << directory_mode;
    EXPECT_NE(files.open_directory(directory.path())->try_lock(directory / ".lock"), nullptr);
  }
}

// Runs `action` in a child process as another user and group; returns what it returns.
int as_user(uid_t user, gid_t group, const std::function<int()>& action) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::umask(0022);
    const bool is_user =
        ::setgroups(0, nullptr) == 0 && ::setgid(group) == 0 && ::setuid(user) == 0;
    ::_exit(is_user ? action() : 100);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 101;
}

int lock_and_append(const TempDirectory& directory) {
  try {
    const DirectoryLock lock(FileSystem::posix(), directory / "run");
    FileSystem::posix().append_to(directory / "run/metrics.jsonl")->append("x");
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

TEST(PosixFileLockTest, MembersOfAGroupTakeTurnsInADirectoryThatTheyMayAllWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may become other users";
  constexpr uid_t kFirst = 41001, kSecond = 41002;
  constexpr gid_t kTeam = 41000;
  const TempDirectory directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  const std::string run = directory / "run";
  FileSystem::posix().create_directories(run);
  ASSERT_EQ(::chown(run.c_str(), kFirst, kTeam), 0);
  ASSERT_EQ(::chmod(run.c_str(), 02775), 0);
  const auto call = [&] { return lock_and_append(directory); };
  for (const uid_t user : {kFirst, kSecond, kFirst, uid_t{0}, kSecond, kFirst})
    EXPECT_EQ(user == 0 ? call() : as_user(user, kTeam, call), 0) << user;
  EXPECT_EQ(read_file(FileSystem::posix(), directory / "run/metrics.jsonl"), "xxxxxx");
  EXPECT_EQ(as_user(41003, 41003, call), 1) << "who may not write the directory";
}

TEST(PosixFileLockTest, RootLeavesADirectoryToItsOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may become other users";
  const TempDirectory directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  FileSystem::posix().create_directories(directory / "run");
  ASSERT_EQ(::chown((directory / "run").c_str(), 41001, 41001), 0);
  EXPECT_EQ(lock_and_append(directory), 0);
  EXPECT_EQ(as_user(41001, 41001, [&] { return lock_and_append(directory); }), 0);
}

TEST(PosixFileLockTest, ALockOfAnotherUserNamesTheWayOut) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may become other users";
  const TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  ASSERT_EQ(::chmod(directory.path().c_str(), 0777), 0);
  std::ofstream(directory / ".lock") << "";
  ASSERT_EQ(::chmod((directory / ".lock").c_str(), 0600), 0);
  EXPECT_EQ(as_user(41001, 41001,
                    [&] {
                      try {
                        files.try_lock(directory / ".lock");
                      } catch (const PermissionDeniedError& error) {
                        const bool is_told =
                            std::string(error.what()).find("if no run uses it, remove it") !=
                            std::string::npos;
                        files.remove(directory / ".lock");  // The advice.
                        return is_told && files.try_lock(directory / ".lock") ? 0 : 2;
                      }
                      return 1;
                    }),
            0);
}

// A backup by hard links (cp -al) has the lock file, too.
class LinkedBackupTest : public testing::Test {
 protected:
  LinkedBackupTest() {
    files_.create_directories(directory_ / "run");
    files_.create_directories(directory_ / "backup");
  }
  void back_up() {
    ASSERT_EQ(::link((directory_ / "run/.lock").c_str(), (directory_ / "backup/.lock").c_str()), 0);
  }

  const TempDirectory directory_;
  FileSystem& files_ = FileSystem::posix();
};

TEST_F(LinkedBackupTest, BothDirectoriesCanBeLockedAtTheSameTime) {
  { const DirectoryLock lock(files_, directory_ / "run"); }
  back_up();
  const DirectoryLock original(files_, directory_ / "run");
  EXPECT_EQ(num_names_of(directory_ / "run/.lock"), 1u);
  const DirectoryLock backup(files_, directory_ / "backup");
  EXPECT_NO_THROW(original.check());
  EXPECT_NO_THROW(backup.check());
}

TEST_F(LinkedBackupTest, ABackupOfARunningRunCanBeLocked) {
  const DirectoryLock original(files_, directory_ / "run");
  back_up();
  const DirectoryLock backup(files_, directory_ / "backup");
  EXPECT_NO_THROW(original.check());
  EXPECT_EQ(num_names_of(directory_ / "run/.lock"), 1u);
  EXPECT_EQ(as_user(::geteuid(), ::getegid(),
                    [&] {
                      return files_.try_lock(directory_ / "run/.lock") == nullptr &&
                                     files_.try_lock(directory_ / "backup/.lock") == nullptr
                                 ? 0
                                 : 1;
                    }),
            0)
      << "both locks still exclude other processes";
}

// The other name of the lock file does not give the lock of a run away.
TEST_F(LinkedBackupTest, ARunIsStillExcludedFromItsOwnDirectory) {
  const DirectoryLock original(files_, directory_ / "run");
  back_up();
  EXPECT_EQ(files_.try_lock(directory_ / "run/.lock"), nullptr);
  EXPECT_NO_THROW(original.check());
}

}  // namespace
}  // namespace crochet::internal
