// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/file_system.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "crochet/io/internal/file_descriptor.h"
#include "crochet/io/internal/posix_file_system.h"
#include "crochet/io/internal/posix_files.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/file_system_contract.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
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

// The operating system's files, with options for writing large ones.
FileSystemCase posix_files_with(const std::string& name,
                                const internal::DirectWriterOptions& options) {
  return {name, [options] {
            struct Both {
              TempDirectory directory;
              std::unique_ptr<FileSystem> files;
            };
            const auto both = std::make_shared<Both>();
            both->files = internal::make_posix_file_system(options);
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

TEST(PosixFileSystemTest, LinksPlainFilesAlone) {
  const TempDirectory scratch;
  FileSystem& files = FileSystem::posix();
  const std::string& directory = scratch.path();
  files.create(directory + "/file")->append("x");
  ASSERT_EQ(::symlink("file", (directory + "/symbolic").c_str()), 0);
  ASSERT_EQ(::mkfifo((directory + "/pipe").c_str(), 0600), 0);
  const auto opened = files.open_directory(directory);
  for (const char* const name : {"/symbolic", "/pipe"})
    EXPECT_THROW(opened->link(directory + name, directory + "/new"), FailedPreconditionError)
        << name;
  EXPECT_FALSE(files.exists(directory + "/new"));
  opened->link(directory + "/file", directory + "/new");
  EXPECT_EQ(read_file(files, directory + "/new"), "x");
}

// A file system that a program wrote before files could have several names still compiles.
TEST(FileSystemTest, HasNoLinksUnlessItSaysSo) {
  class Plain final : public MemoryFileSystem {
   public:
    void link(const std::string& from, const std::string& to) override {
      // That of a file system without links. NOLINTNEXTLINE(bugprone-parent-virtual-call)
      FileSystem::link(from, to);
    }
  };
  Plain files;
  files.create("a");
  EXPECT_THAT(
      [&] { files.link("a", "b"); },
      ThrowsMessage<UnimplementedError>("a: link to b failed: this file system has no links"));
}

// Checks what replace_file may leave at "d/a" after any failure.
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

TEST(ReplaceFileTest, KeepsTheOldOrNewContentAfterAnyError) {
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

// The content after a replacement that was cut off before its operation `n`.
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

TEST(ReplaceFileTest, KeepsTheOldOrNewContentAfterEveryPowerCut) {
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

TEST(PosixFileSystemTest, ReportsTheSystemsMessage) {
  TempDirectory directory;
  const std::string from = directory / "from";
  EXPECT_THAT([&] { FileSystem::posix().rename(from, directory / "to"); },
              ThrowsMessage<NotFoundError>(from + ": rename to " + (directory / "to") +
                                           " failed: No such file or directory (ENOENT)"));
}

// Simulates a full disk with the kernel's /dev/full.
TEST(PosixFileSystemTest, ReportsAFullDiskAsResourceExhausted) {
  const auto file = std::make_unique<internal::PosixWritableFile>(
      "/dev/full", internal::FileDescriptor(::open("/dev/full", O_WRONLY | O_CLOEXEC)), 0);
  EXPECT_THAT([&] { file->append("x"); },
              ThrowsMessage<ResourceExhaustedError>(
                  "/dev/full: write failed: No space left on device (ENOSPC)"));
  EXPECT_THROW(file->append("y"), FailedPreconditionError);
  EXPECT_THROW(file->sync(), FailedPreconditionError);
  EXPECT_NO_THROW(file->close());
}

// The kernel writes 1000 of the 1500 bytes, then fails with EFBIG. SIGXFSZ does not end the
// process.
TEST(PosixFileSystemTest, ThrowsAfterAPartialWrite) {
  TempDirectory directory;
  const std::string path = directory / "limited";
  const pid_t child = ::fork();
  if (child == 0) {
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

// Holds a lock until it is killed, and reports that through a pipe.
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

TEST(PosixFileSystemTest, ALockExcludesOtherProcessesAndEndsWithItsOwn) {
  TempDirectory directory;
  const pid_t holder = start_lock_holder(directory / "lock");
  EXPECT_EQ(FileSystem::posix().try_lock(directory / "lock"), nullptr);
  ASSERT_EQ(::kill(holder, SIGKILL), 0);
  ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
  EXPECT_NE(FileSystem::posix().try_lock(directory / "lock"), nullptr);
}

// By path and in an open directory, there is one verdict.
TEST(PosixFileSystemTest, FollowsLinksOnlyForReading) {
  TempDirectory directory;
  ASSERT_EQ(::symlink("real", (directory / "link").c_str()), 0);
  FileSystem& plain = FileSystem::posix();
  const auto opened = plain.open_directory(directory.path());
  for (FileSystem* const files : {&plain, static_cast<FileSystem*>(opened.get())}) {
    files->create(directory / "real")->append("xy");
    EXPECT_TRUE(files->exists(directory / "link"));
    EXPECT_EQ(read_file(*files, directory / "link"), "xy");
    EXPECT_EQ(files->file_size(directory / "link"), 2u);
    files->remove(directory / "real");
    EXPECT_TRUE(files->exists(directory / "link"));
    EXPECT_THAT([&] { files->open(directory / "link"); },
                ThrowsMessage<FailedPreconditionError>(
                    (directory / "link") +
                    ": is a symbolic link to real, where nothing is: is its disk mounted?"));
  }
}

TEST(PosixFileSystemTest, AReplacedFileKeepsItsModeAndGroup) {
  TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  const std::string path = directory / "file";
  files.create(path)->append("one");
  ASSERT_EQ(::chmod(path.c_str(), 0664), 0);
  const gid_t group = ::geteuid() == 0 ? 12345 : ::getegid();
  ASSERT_EQ(::chown(path.c_str(), static_cast<uid_t>(-1), group), 0);
  replace_file(files, path, "two");
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0664u);
  EXPECT_EQ(status.st_gid, group);
  EXPECT_EQ(read_file(files, path), "two");
}

// The copy that a name gets before it is changed, since the file has other names.
TEST(PosixFileSystemTest, AnOwnCopyKeepsItsModeAndGroup) {
  TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  const std::string path = directory / "file";
  files.create(path)->append("one");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(::link(path.c_str(), (directory / "backup").c_str()), 0);
  files.append_to(path)->append(" more");
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_EQ(status.st_nlink, 1u);
  EXPECT_EQ(read_file(files, directory / "backup"), "one");
  EXPECT_EQ(read_file(files, path), "one more");
}

TEST(PosixFileSystemTest, ADirectoryAcceptsRelativeAndAbsolutePathsOfItsFiles) {
  FileSystem& files = FileSystem::posix();
  const TempDirectory directory;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory.path());
  files.create_directories("d/e");
  for (const std::string& path : {std::string("d"), directory / "d"}) {
    const auto opened = files.open_directory(path);
    opened->create("d/e/a")->append("x");
    EXPECT_EQ(read_file(*opened, directory / "d/e/a"), "x");
    EXPECT_THROW(opened->exists("e/a"), InvalidArgumentError);
    EXPECT_THROW(opened->exists(directory / "e/a"), InvalidArgumentError);
  }
  EXPECT_TRUE(files.open_directory("")->exists(directory / "d/e/a"));
  std::filesystem::current_path(before);
}

TEST(PosixFileSystemTest, AFixedPathBeginsAtTheWorkingDirectoryOfTheMoment) {
  FileSystem& files = FileSystem::posix();
  EXPECT_EQ(files.fixed_path(""), "");
  EXPECT_EQ(files.fixed_path("/a"), "/a");
  EXPECT_EQ(files.fixed_path("a"), std::filesystem::current_path().string() + "/a");
  EXPECT_EQ(MemoryFileSystem().fixed_path("a"), "a");
}

// A file that must not be changed, and several links to it.
class LinksOutTest : public ::testing::Test {
 protected:
  LinksOutTest() {
    files_.create_directories(directory_ / "home");
    files_.create_directories(directory_ / "run");
    files_.create(directory_ / "home/thesis.tex")->append("years of work");
    EXPECT_EQ(::symlink("../home/thesis.tex", (directory_ / "run/link").c_str()), 0);
    EXPECT_EQ(::symlink("../home", (directory_ / "run/way").c_str()), 0);
    EXPECT_EQ(::symlink("nothing", (directory_ / "run/dangling").c_str()), 0);
    EXPECT_EQ(::symlink("loop", (directory_ / "run/loop").c_str()), 0);
    EXPECT_EQ(::link((directory_ / "home/thesis.tex").c_str(), (directory_ / "run/hard").c_str()),
              0);
  }
  ~LinksOutTest() override {
    EXPECT_EQ(read_file(files_, directory_ / "home/thesis.tex"), "years of work");
    EXPECT_THAT(files_.list(directory_ / "home"), ElementsAre("thesis.tex"));
    EXPECT_FALSE(files_.exists(directory_ / "run/nothing"));
  }

  void expect_no_way_to_write(FileSystem& files, const std::string& path) {
    EXPECT_THROW(files.create(path), FailedPreconditionError) << path;
    EXPECT_THROW(files.create_large(path, 0), FailedPreconditionError) << path;
    EXPECT_THROW(files.create_large(path, 10 << 20), FailedPreconditionError) << path;
    EXPECT_THROW(files.append_to(path), FailedPreconditionError) << path;
    EXPECT_THROW(files.truncate(path, 0), FailedPreconditionError) << path;
    EXPECT_THROW(files.try_lock(path), FailedPreconditionError) << path;
  }

  TempDirectory directory_;
  FileSystem& files_ = FileSystem::posix();
};

TEST_F(LinksOutTest, NothingIsWrittenThroughThem) {
  const auto run = files_.open_directory(directory_ / "run");
  for (const char* const name : {"run/link", "run/dangling", "run/loop"}) {
    expect_no_way_to_write(files_, directory_ / name);
    expect_no_way_to_write(*run, directory_ / name);
  }
}

TEST_F(LinksOutTest, ADirectoryIsNotLeftThroughThem) {
  const auto run = files_.open_directory(directory_ / "run");
  const std::string file = directory_ / "run/way/thesis.tex";
  EXPECT_THROW(run->list(directory_ / "run/way"), NotFoundError);
  EXPECT_THROW(run->open_directory(directory_ / "run/way"), NotFoundError);
  EXPECT_THROW(run->remove(file), NotFoundError);
  EXPECT_THROW(run->create(file), NotFoundError);
  EXPECT_THROW(run->open(file), NotFoundError);
  EXPECT_THROW(run->rename(file, directory_ / "run/mine"), NotFoundError);
  EXPECT_FALSE(run->exists(file));
  EXPECT_FALSE(is_directory(*run, directory_ / "run/way"));
  EXPECT_THROW(run->create_directories(directory_ / "run/way/new"), Error);
}

TEST_F(LinksOutTest, LinksCanBeRemovedAndAreNotReplaced) {
  const auto run = files_.open_directory(directory_ / "run");
  run->remove(directory_ / "run/way");
  for (const char* const name : {"run/link", "run/dangling", "run/loop"})
    EXPECT_THROW(replace_file(*run, directory_ / name, "mine"), FailedPreconditionError) << name;
}

TEST_F(LinksOutTest, AHardLinkIsReplacedByACopyBeforeItIsChanged) {
  const auto run = files_.open_directory(directory_ / "run");
  const std::string path = directory_ / "run/hard";
  run->append_to(path)->append(" and more");
  EXPECT_EQ(read_file(*run, path), "years of work and more");
}

TEST(PosixFileSystemTest, DoesNotBlockOnAPipeOrASocket) {
  TempDirectory directory;
  const std::string pipe = directory / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0666), 0);
  FileSystem& files = FileSystem::posix();
  EXPECT_THAT([&] { files.open(pipe); }, ThrowsMessage<FailedPreconditionError>(
                                             pipe + ": found a pipe, expected a plain file"));
  EXPECT_THROW(files.create(pipe), FailedPreconditionError);
  EXPECT_THROW(files.append_to(pipe), FailedPreconditionError);
  EXPECT_THROW(files.create_large(pipe, 10 << 20), FailedPreconditionError);
  EXPECT_THROW(files.truncate(pipe, 0), FailedPreconditionError);
  EXPECT_THROW(files.try_lock(pipe), FailedPreconditionError);
  EXPECT_THROW(files.open("/dev/null"), FailedPreconditionError);
  EXPECT_THROW(files.create("/dev/null"), FailedPreconditionError);
}

// Runs a function in a child process; returns its exit status.
template <typename Body>
int status_in_child(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(PosixFileSystemTest, NeverUsesStandardDescriptorsForFiles) {
  TempDirectory directory;
  const auto body = [&] {
    for (const int number : {0, 1, 2}) ::close(number);
    FileSystem& files = FileSystem::posix();
    const auto created = files.create(directory / "a");
    const auto large = files.create_large(directory / "b", 4 << 20);
    const auto appended = files.append_to(directory / "c");
    const auto read = files.open(directory / "a");
    const auto lock = files.try_lock(directory / "lock");
    const auto opened = files.open_directory(directory.path());
    for (const int number : {0, 1, 2})
      if (::write(number, "noise", 5) >= 0 || errno != EBADF) return 1;
    created->append("clean");
    created->close();
    return read_file(files, directory / "a") == "clean" ? 0 : 2;
  };
  EXPECT_EQ(status_in_child(body), 0);
}

TEST(PosixFileSystemTest, ADescriptorIsNeverAStandardStream) {
  const auto body = [] {
    ::close(1);
    const internal::FileDescriptor file(::open("/dev/null", O_WRONLY));
    return file.get() > 2 && ::fcntl(1, F_GETFD) < 0 ? 0 : 1;
  };
  EXPECT_EQ(status_in_child(body), 0);
}

TEST(PosixFileSystemTest, AForkedProcessHoldsNoLock) {
  TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  auto lock = files.try_lock(directory / "lock");
  int ends[2], answers[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::pipe(answers), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    char unused = lock->is_held() ? 'y' : 'n';
    const bool is_told = ::write(answers[1], &unused, 1) == 1;
    while (::read(ends[0], &unused, 1) > 0) {
    }
    lock.reset();
    ::_exit(is_told ? 0 : 1);
  }
  ::close(ends[0]);
  char is_held = '?';
  ASSERT_EQ(::read(answers[0], &is_held, 1), 1);
  EXPECT_EQ(is_held, 'n');
  lock.reset();
  EXPECT_NE(files.try_lock(directory / "lock"), nullptr) << "while the child is running";
  for (const int end : {ends[1], answers[0], answers[1]}) ::close(end);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(PosixFileSystemTest, OnlyTheOwnerMayOpenALockFile) {
  TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  files.create(directory / "old");
  ASSERT_EQ(::chmod((directory / "old").c_str(), 0644), 0);
  for (const char* const name : {"new", "old"}) {
    const auto lock = files.try_lock(directory / name);
    struct stat status;
    ASSERT_EQ(::stat((directory / name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600) << name;
  }
}

// A program may change its working directory; the directory it opened stays where it is.
TEST(PosixFileSystemTest, FindsADirectoryOfARelativePathAfterChdir) {
  TempDirectory directory;
  const auto body = [&] {
    if (::chdir(directory.path().c_str()) != 0) return 1;
    FileSystem& files = FileSystem::posix();
    files.create_directories("run");
    const auto run = files.open_directory("run");
    if (::chdir("/") != 0) return 2;
    run->check_in_place();
    run->create("run/a")->append("x");
    return files.exists(directory / "run/a") ? 0 : 3;
  };
  EXPECT_EQ(status_in_child(body), 0);
}

}  // namespace
}  // namespace crochet
