// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The files of a run, as users move, link and back them up.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/crochet.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Optional;
using testing::ThrowsMessage;

// Counts w on to `last_step` in a directory, and saves every 10 steps.
RunReport count_to(const std::string& directory, int64_t last_step, LoopOptions options = {}) {
  std::vector<double> w(1000);
  options.checkpoint.dir = directory;
  options.checkpoint.every_steps = 10;
  options.summaries.every_steps = 5;
  options.hooks = {StopAtStepHook({.last_step = last_step})};
  Loop loop(std::move(options));
  loop.track("w", w);
  loop.scalar("loss", [&] { return w[0]; });
  const RunReport report = loop.run([&] {
    for (double& each : w) each += 1;
  });
  EXPECT_EQ(w[0], static_cast<double>(last_step)) << directory;
  return report;
}

class LoopFilesTest : public testing::Test {
 protected:
  // Moves a file of the run to another directory and leaves a link.
  void move_and_link(const std::string& name) {
    fs::create_directories(directory_ / "big");
    fs::rename(run_ + "/" + name, directory_ / ("big/" + name));
    fs::create_symlink(directory_ / ("big/" + name), run_ + "/" + name);
  }

  std::vector<std::string> names_with(const std::string& part) const {
    std::vector<std::string> found;
    for (const auto& each : fs::directory_iterator(run_))
      if (each.path().filename().string().find(part) != std::string::npos)
        found.push_back(each.path().filename().string());
    return found;
  }

  const TempDirectory directory_;
  const std::string run_ = directory_ / "run";
  LogCapture log_;
};

TEST_F(LoopFilesTest, ReadsAndContinuesFromFilesThatWereMovedAndLinkedBack) {
  for (const char* const suffix : {".data-00000-of-00001", ".index", ".json"}) {
    fs::remove_all(run_);
    fs::remove_all(directory_ / "big");
    count_to(run_, 50);
    const std::string name = std::string("model.ckpt-50") + suffix;
    move_and_link(name);
    const auto size = fs::file_size(directory_ / ("big/" + name));
    EXPECT_THAT(count_to(run_, 70).resumed_from, Optional(50)) << suffix;
    EXPECT_THAT(names_with("damaged"), testing::IsEmpty());
    EXPECT_TRUE(fs::is_symlink(run_ + "/" + name)) << "a link does not become a file";
    EXPECT_EQ(fs::file_size(directory_ / ("big/" + name)), size);
    CheckpointReader(run_ + "/model.ckpt-50").verify();
  }
}

TEST_F(LoopFilesTest, ARunDirectoryMayBeALink) {
  fs::create_directories(directory_ / "big");
  fs::create_symlink(directory_ / "big", run_);
  count_to(run_, 20);
  EXPECT_THAT(count_to(run_, 30).resumed_from, Optional(20));
  EXPECT_TRUE(fs::exists(directory_ / "big/model.ckpt-30.index"));
}

// The disk of the data is not mounted: nothing is lost, so nothing is set aside.
TEST_F(LoopFilesTest, ALinkThatLeadsNowhereStopsTheRunAndIsNotDamage) {
  for (const char* const name : {"model.ckpt-50.data-00000-of-00001", "model.ckpt-50.index"}) {
    fs::remove_all(run_);
    fs::remove_all(directory_ / "big");
    count_to(run_, 50);
    move_and_link(name);
    fs::rename(directory_ / "big", directory_ / "unmounted");
    EXPECT_THAT([&] { count_to(run_, 60); },
                ThrowsMessage<FailedPreconditionError>(
                    AllOf(HasSubstr(name), HasSubstr("is its disk mounted?"))));
    EXPECT_THAT(names_with("damaged"), testing::IsEmpty());
    fs::rename(directory_ / "unmounted", directory_ / "big");  // The advice.
    EXPECT_THAT(count_to(run_, 60).resumed_from, Optional(50));
  }
}

TEST_F(LoopFilesTest, APipeInPlaceOfAFileStopsTheRunAndIsNotDamage) {
  for (const char* const name : {"model.ckpt-50.data-00000-of-00001", "model.ckpt-50.index"}) {
    fs::remove_all(run_);
    count_to(run_, 50);
    fs::remove(run_ + "/" + name);
    ASSERT_EQ(::mkfifo((run_ + "/" + name).c_str(), 0600), 0);
    EXPECT_THAT([&] { count_to(run_, 60); },
                ThrowsMessage<FailedPreconditionError>(
                    AllOf(HasSubstr(name), HasSubstr("found a pipe, expected a plain file"))));
    EXPECT_THAT(names_with("damaged"), testing::IsEmpty());
  }
}

// What is written again must not replace the user's link.
TEST_F(LoopFilesTest, AStepThatIsSavedAgainKeepsFilesThatWereLinkedBack) {
  count_to(run_, 50);
  move_and_link("model.ckpt-50.data-00000-of-00001");
  count_to(run_, 50, {.restore = {.which = CheckpointChoice::at_step(40)}});
  EXPECT_TRUE(fs::exists(directory_ / "big/model.ckpt-50.data-00000-of-00001"));
  EXPECT_FALSE(fs::is_symlink(run_ + "/model.ckpt-50.data-00000-of-00001"));
  CheckpointReader(run_ + "/model.ckpt-50").verify();
  EXPECT_THAT(names_with("model.ckpt-50.data-00000-of-00001."), testing::SizeIs(1));
}

TEST_F(LoopFilesTest, RetentionRemovesALinkAndNotItsTarget) {
  count_to(run_, 20);
  move_and_link("model.ckpt-20.data-00000-of-00001");
  count_to(run_, 60, {.checkpoint = {.saver = {.max_to_keep = 1}}});
  EXPECT_FALSE(fs::is_symlink(run_ + "/model.ckpt-20.data-00000-of-00001"));
  EXPECT_TRUE(fs::exists(directory_ / "big/model.ckpt-20.data-00000-of-00001"));
  EXPECT_TRUE(log_.contains("not the files that its links lead to"));
}

// Each save would have to replace it.
TEST_F(LoopFilesTest, AStateFileThatIsALinkEndsTheRunBeforeItsFirstStep) {
  count_to(run_, 20);
  move_and_link("checkpoint");
  std::vector<double> w(1000);
  int num_steps = 0;
  Loop loop({.checkpoint = {.dir = run_}, .hooks = {StopAtStepHook({.last_step = 30})}});
  loop.track("w", w);
  EXPECT_THAT(
      [&] { loop.run([&] { ++num_steps; }); },
      ThrowsMessage<FailedPreconditionError>(AllOf(
          HasSubstr("run/checkpoint: found a symbolic link to " + (directory_ / "big/checkpoint")),
          HasSubstr("put a copy of the file in its place"), HasSubstr("or remove the link"))));
  EXPECT_EQ(num_steps, 0);
  EXPECT_TRUE(fs::is_symlink(run_ + "/checkpoint"));
}

TEST_F(LoopFilesTest, ARunContinuesOnceItsStateFileIsAPlainFile) {
  count_to(run_, 20);
  move_and_link("checkpoint");
  fs::remove(run_ + "/checkpoint");
  fs::copy(directory_ / "big/checkpoint", run_ + "/checkpoint");
  EXPECT_THAT(count_to(run_, 30).resumed_from, Optional(20));
  fs::remove_all(directory_ / "big");
  move_and_link("checkpoint");
  fs::remove(run_ + "/checkpoint");
  EXPECT_THAT(count_to(run_, 40).resumed_from, Optional(30));
}

TEST_F(LoopFilesTest, AStateFileOfTheFallbackDirectoryThatIsALinkEndsTheRun) {
  const std::string spare = directory_ / "spare";
  fs::create_directories(spare);
  fs::create_symlink(directory_ / "elsewhere", spare + "/checkpoint");
  EXPECT_THAT(
      [&] { count_to(run_, 10, {.checkpoint = {.saver = {.fallback_dir = spare}}}); },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("spare/checkpoint: found a symbolic link")));
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// As `cp -al`.
void link_all(const std::string& from, const std::string& to) {
  fs::create_directories(to);
  for (const auto& each : fs::directory_iterator(from))
    fs::create_hard_link(each.path(), fs::path(to) / each.path().filename());
}

TEST_F(LoopFilesTest, ARunAndItsBackupByHardLinksContinueIndependently) {
  count_to(run_, 50);
  const std::string backup = directory_ / "backup";
  link_all(run_, backup);
  std::map<std::string, std::string> before;
  for (const auto& each : fs::directory_iterator(backup))
    before[each.path().string()] = content_of(each.path().string());
  EXPECT_THAT(count_to(run_, 60).resumed_from, Optional(50));
  set_pinned(FileSystem::posix(), run_ + "/model.ckpt-60", true);
  for (const auto& [path, content] : before) EXPECT_EQ(content_of(path), content) << path;
  EXPECT_GT(content_of(run_ + "/metrics.jsonl").size(),
            content_of(backup + "/metrics.jsonl").size());
  const std::string original = content_of(run_ + "/metrics.jsonl");
  EXPECT_THAT(count_to(backup, 80).resumed_from, Optional(50));
  EXPECT_EQ(content_of(run_ + "/metrics.jsonl"), original);
  EXPECT_THAT(count_to(run_, 70).resumed_from, Optional(60));
  EXPECT_FALSE(log_.contains("could not be written"));
}

TEST_F(LoopFilesTest, RejectsANameThatLeavesTheDirectory) {
  for (const char* const name : {"digits/model", "../x/model", "", ".model"}) {
    EXPECT_THROW(count_to(run_, 4, {.checkpoint = {.basename = name}}), InvalidArgumentError)
        << name;
    EXPECT_THROW(
        CheckpointSaverHook({.checkpoint_dir = run_, .save_steps = 1, .checkpoint_basename = name}),
        InvalidArgumentError)
        << name;
  }
  EXPECT_FALSE(fs::exists(run_));
}

// A file system whose locks answer ENOLCK.
class FilesWithoutLocks final : public MemoryFileSystem {
 public:
  std::unique_ptr<FileLock> try_lock(const std::string& path) override {
    throw UnimplementedError(path + ": this file system has no locks; lock_directory");
  }
};

TEST(LoopWithoutLocksTest, RefusesAndNamesTheOptionThatRuns) {
  FilesWithoutLocks files;
  EXPECT_THAT([&] { count_to("run", 20, {.files = &files}); },
              ThrowsMessage<UnimplementedError>(HasSubstr("lock_directory")));
  LogCapture log;
  const LoopOptions unlocked{
      .checkpoint = {.saving = {.lock_directory = false}, .saver = {.fallback_dir = "spare"}},
      .files = &files};
  count_to("run", 20, unlocked);
  EXPECT_THAT(count_to("run", 60, unlocked).resumed_from, Optional(20));
  EXPECT_TRUE(log.contains("run/.lock is not locked: no other run may use its directory"));
  EXPECT_FALSE(files.exists("run/model.ckpt-10.index")) << "retention works, too";
}

TEST(LoopWithoutLocksTest, ASecondRunOfTheProcessIsStillRefused) {
  FilesWithoutLocks files;
  const internal::DirectoryLock lock(files, "run", internal::DirectoryLock::Kind::kNone);
  EXPECT_THROW(
      count_to("run", 20, {.checkpoint = {.saving = {.lock_directory = false}}, .files = &files}),
      FailedPreconditionError);
}

}  // namespace
}  // namespace crochet
