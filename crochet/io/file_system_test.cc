// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/file_system.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crochet/io/memory_file_system.h"
#include "crochet/io/posix_file_system.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/file_system_contract.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::MatchesRegex;
using ::testing::ThrowsMessage;

ScratchFiles posix_files() {
  const auto directory = std::make_shared<TempDirectory>();
  return {&FileSystem::posix(), directory->path(), directory};
}

ScratchFiles memory_files() {
  const auto files = std::make_shared<MemoryFileSystem>();
  files->create_directories("scratch/directory");
  return {files.get(), "scratch/directory", files};
}

ScratchFiles failing_files_that_do_not_fail() {
  struct Both {
    MemoryFileSystem memory;
    FailingFileSystem failing{memory};
  };
  const auto both = std::make_shared<Both>();
  return {&both->failing, "", both};
}

// The operating system's files, with a way to write large ones.
FileSystemCase posix_files_with(const std::string& name, const DirectWriterOptions& options) {
  return {name, [options] {
            struct Both {
              TempDirectory directory;
              std::unique_ptr<FileSystem> files;
            };
            const auto both = std::make_shared<Both>();
            both->files = make_posix_file_system(options);
            return ScratchFiles{both->files.get(), both->directory.path(), both};
          }};
}

INSTANTIATE_TEST_SUITE_P(
    All, FileSystemContract,
    ::testing::Values(FileSystemCase{"Posix", posix_files}, FileSystemCase{"Memory", memory_files},
                      FileSystemCase{"Failing", failing_files_that_do_not_fail},
                      posix_files_with("AlwaysDirect", {.min_bytes = 0}),
                      posix_files_with("SmallBuffers",
                                       {.min_bytes = 0, .num_buffers = 2, .buffer_bytes = 8192}),
                      posix_files_with("WithoutDirect", {.use_direct = false}),
                      posix_files_with("WithoutRing", {.use_io_uring = false})),
    [](const auto& info) { return info.param.name; });

// What replace_file may leave of a file at "d/a", whatever happens.
std::string content_of_a(FileSystem& files) { return read_file(files, "d/a"); }

void write_old_content(MemoryFileSystem& files) {
  files.create_directories("d");
  replace_file(files, "d/a", "old");
}

TEST(ReplaceFileTest, SyncsBeforeItRenamesAndTheDirectoryAfterwards) {
  MemoryFileSystem memory;
  memory.create_directories("d");
  FailingFileSystem files(memory);
  replace_file(files, "d/a", "12345");
  const std::string temporary = "d/a\\.tmp[0-9a-f]+";
  EXPECT_THAT(
      files.operations(),
      ElementsAre(MatchesRegex("create " + temporary), MatchesRegex("append " + temporary + " 5"),
                  MatchesRegex("sync " + temporary), MatchesRegex("close " + temporary),
                  MatchesRegex("rename " + temporary + " -> d/a"), "sync_directory d"));
  EXPECT_EQ(files.operations()[0].size(), std::string("create d/a.tmp").size() + 32);
}

TEST(ReplaceFileTest, KeepsTheOldContentOrTheNewWhateverFails) {
  int64_t n = 0;
  for (;; ++n) {
    MemoryFileSystem memory;
    write_old_content(memory);
    FailingFileSystem files(memory);
    files.fail_operation(n, Code::kResourceExhausted);
    if (n < 6) {
      EXPECT_THROW(replace_file(files, "d/a", "new"), ResourceExhaustedError) << n;
    } else {
      replace_file(files, "d/a", "new");
    }
    EXPECT_EQ(content_of_a(memory), n < 5 ? "old" : "new") << n;
    EXPECT_THAT(memory.list("d"), ElementsAre("a")) << n;
    if (files.num_failures() == 0) break;
  }
  EXPECT_EQ(n, 6);
}

std::vector<PowerCut> all_power_cuts() {
  std::vector<PowerCut> cuts;
  for (const auto names : {UnsyncedNames::kLost, UnsyncedNames::kKept})
    for (const auto bytes :
         {UnsyncedBytes::kLost, UnsyncedBytes::kHalf, UnsyncedBytes::kZeroed, UnsyncedBytes::kKept})
      cuts.push_back({.names = names, .bytes = bytes});
  return cuts;
}

// The content after a replacement that ended before its operation `n`, for good.
std::string content_after_power_cut(int64_t n, const PowerCut& cut) {
  const LogCapture quiet;
  MemoryFileSystem memory;
  write_old_content(memory);
  FailingFileSystem files(memory);
  files.fail_operation(n, Code::kUnknown, Failing::kFromThenOn);
  try {
    replace_file(files, "d/a", "new");
  } catch (const UnknownError&) {
  }
  memory.power_cut(cut);
  return content_of_a(memory);
}

TEST(ReplaceFileTest, KeepsTheOldContentOrTheNewThroughEveryPowerCut) {
  for (const PowerCut& cut : all_power_cuts()) {
    for (int64_t n = 0; n < 6; ++n)
      EXPECT_THAT(content_after_power_cut(n, cut), AnyOf("old", "new")) << n;
    EXPECT_EQ(content_after_power_cut(6, cut), "new");
  }
}

TEST(ReplaceFileTest, LogsATemporaryFileThatCannotBeRemoved) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  files.fail_operation(2, Code::kUnknown, Failing::kFromThenOn);
  LogCapture log;
  EXPECT_THROW(replace_file(files, "a", "new"), UnknownError);
  EXPECT_TRUE(log.contains("remove a.tmp"));
  EXPECT_EQ(memory.list("").size(), 1);
}

TEST(PosixFileSystemTest, ReportsWhatTheSystemSaid) {
  TempDirectory directory;
  const std::string from = directory / "from";
  EXPECT_THAT([&] { FileSystem::posix().rename(from, directory / "to"); },
              ThrowsMessage<NotFoundError>(from + ": rename to " + (directory / "to") +
                                           " failed: No such file or directory (ENOENT)"));
}

// A full disk without one: the kernel's device for it.
TEST(PosixFileSystemTest, AFullDiskIsResourceExhaustedAndKillsTheFile) {
  const auto file = FileSystem::posix().append_to("/dev/full");
  EXPECT_THAT([&] { file->append("x"); },
              ThrowsMessage<ResourceExhaustedError>(
                  "/dev/full: write failed: No space left on device (ENOSPC)"));
  EXPECT_THROW(file->append("y"), FailedPreconditionError);
  EXPECT_THROW(file->sync(), FailedPreconditionError);
  EXPECT_NO_THROW(file->close());
}

// The kernel writes 1000 bytes of the 1500, then says EFBIG.
TEST(PosixFileSystemTest, ThePartOfAWriteThatFitsIsFollowedByTheError) {
  TempDirectory directory;
  const std::string path = directory / "limited";
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {.rlim_cur = 1000, .rlim_max = 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      FileSystem::posix().create(path)->append(std::string(1500, 'x'));
    } catch (const ResourceExhaustedError&) {
      ::_exit(7);
    }
    ::_exit(8);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(FileSystem::posix().file_size(path), 1000);
}

TEST(PosixFileSystemTest, FilesAreNotInheritedByOtherPrograms) {
  TempDirectory directory;
  const auto file = FileSystem::posix().create(directory / "a");
  const auto lock = FileSystem::posix().try_lock(directory / "lock");
  const std::string script = "ls -l /proc/self/fd | grep -c " + directory.path();
  FILE* const shell = ::popen(script.c_str(), "r");
  int count = -1;
  ASSERT_EQ(::fscanf(shell, "%d", &count), 1);
  ::pclose(shell);
  EXPECT_EQ(count, 0);
}

// Holds a lock until it is killed, and says so through a pipe.
pid_t start_lock_holder(const std::string& path) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lock = FileSystem::posix().try_lock(path);
    const char answer = lock ? 'y' : 'n';
    if (::write(ends[1], &answer, 1) == 1) ::pause();
    ::_exit(0);
  }
  char answer = '?';
  EXPECT_EQ(::read(ends[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  ::close(ends[0]);
  ::close(ends[1]);
  return child;
}

TEST(PosixFileSystemTest, ALockHoldsAgainstOtherProcessesAndDiesWithItsOwn) {
  TempDirectory directory;
  const pid_t holder = start_lock_holder(directory / "lock");
  EXPECT_EQ(FileSystem::posix().try_lock(directory / "lock"), nullptr);
  ASSERT_EQ(::kill(holder, SIGKILL), 0);
  ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
  EXPECT_NE(FileSystem::posix().try_lock(directory / "lock"), nullptr);
}

TEST(PosixFileSystemTest, FollowsLinks) {
  TempDirectory directory;
  ASSERT_EQ(::symlink("real", (directory / "link").c_str()), 0);
  FileSystem& files = FileSystem::posix();
  EXPECT_FALSE(files.exists(directory / "link"));
  files.create(directory / "real")->append("x");
  EXPECT_TRUE(files.exists(directory / "link"));
  EXPECT_EQ(read_file(files, directory / "link"), "x");
}

}  // namespace
}  // namespace crochet
