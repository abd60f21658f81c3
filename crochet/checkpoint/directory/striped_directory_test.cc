// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/striped_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_directory.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/leftovers.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

using internal::CheckpointDirectory;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

namespace fs = std::filesystem;

// A run directory and two data directories, on the real disk.
class StripedDirectoryTest : public testing::Test {
 protected:
  StripedDirectoryTest() {
    for (int i = 0; i < 4; ++i)
      variables_.push_back(graph_.variable(fmt::format("v{}", i), value(static_cast<float>(i))));
    session_ = graph_.new_session("");
  }

  // Large enough for checkpoints to share it.
  static Tensor value(float first) {
    return Tensor::from<float>(std::vector<float>(size_t{64} << 10, first));
  }

  std::string run() const { return root_ / "run"; }
  std::string disk(int number) const { return root_ / fmt::format("disk{}", number); }
  std::vector<std::string> disks() const { return {disk(1), disk(2)}; }

  Saver saver(SaverOptions options = {}) const {
    options.checkpoint_dirs = disks();
    return Saver(options);
  }
  std::string save(Saver& by, int64_t step) { return by.save(*session_, run() + "/m", step); }
  void set(size_t variable, float first) {
    const Tensor elements = value(first);
    const Assignment assignment{.variable = variables_.at(variable),
                                .shape = elements.shape(),
                                .fill = [&](std::span<std::byte> memory) {
                                  std::ranges::copy(elements.bytes(), memory.begin());
                                }};
    session_->assign({&assignment, 1});
  }
  Tensor get(size_t variable) {
    return session_->snapshot({&variables_.at(variable), 1}).tensors().at(0).tensor;
  }
  static void write(const std::string& path) { std::ofstream(path) << "x\n"; }

  // The stored files in a data directory.
  static std::vector<std::string> stored_in(const std::string& directory) {
    std::vector<std::string> names = FileSystem::posix().list(directory);
    std::erase(names, internal::kOwnerFile);
    return names;
  }
  size_t num_stored() const { return stored_in(disk(1)).size() + stored_in(disk(2)).size(); }

  TempDirectory root_;
  ScriptedGraph graph_;
  std::vector<Variable> variables_;
  std::unique_ptr<Session> session_;
};

TEST_F(StripedDirectoryTest, DistributesDataFiles) {
  Saver all = saver();
  const std::string prefix = save(all, 1);
  EXPECT_THAT(stored_in(disk(1)), SizeIs(1));
  EXPECT_THAT(stored_in(disk(2)), SizeIs(1));
  for (const char* const data : {".data-00000-of-00002", ".data-00001-of-00002"})
    EXPECT_EQ(fs::read_symlink(prefix + data).parent_path().parent_path(), root_.path());
  CheckpointReader(prefix).verify();
  set(0, -1);
  Saver other;  // Without the option.
  other.restore(*session_, prefix);
  EXPECT_EQ(get(0), value(0));
}

TEST_F(StripedDirectoryTest, RemovesWhatRetentionRemoves) {
  Saver all = saver({.share_unchanged = false, .max_to_keep = 2});
  for (int step = 1; step <= 5; ++step) save(all, step);
  EXPECT_EQ(num_stored(), 4);
  Saver other(
      SaverOptions{.max_to_keep = 1});  // Without the option: what it removes is removed, too.
  save(other, 6);
  EXPECT_EQ(num_stored(), 0);
}

TEST_F(StripedDirectoryTest, ReplacesACheckpointOfTheSameName) {
  Saver all = saver({.share_unchanged = false});
  save(all, 1);
  set(0, 7);
  const std::string prefix = save(all, 1);
  EXPECT_EQ(num_stored(), 2);
  EXPECT_EQ(CheckpointReader(prefix).read("v0"), value(7));
}

TEST_F(StripedDirectoryTest, SharesWhatDidNotChange) {
  Saver all = saver({.max_to_keep = 2});
  save(all, 1);
  set(0, 5);
  save(all, 2);
  set(0, 6);
  const std::string third = save(all, 3);
  CheckpointReader(third).verify();
  EXPECT_THAT(list_checkpoints(FileSystem::posix(), run(), "m"), SizeIs(2));
  const auto shared = fs::read_symlink(third + ".data-00002-of-00004");
  EXPECT_EQ(fs::hard_link_count(shared), 2);
  remove_checkpoint(CheckpointDirectory::find(FileSystem::posix(), run())->files(), run() + "/m-2");
  CheckpointReader(third).verify();
  EXPECT_EQ(fs::hard_link_count(shared), 1);
}

TEST_F(StripedDirectoryTest, RenamesOnlyNames) {
  Saver all = saver();
  const std::string prefix = save(all, 1);
  const auto before = stored_in(disk(1));
  const DirectoryLock lock(FileSystem::posix(), run());
  auto directory = *CheckpointDirectory::find(FileSystem::posix(), run());
  EXPECT_EQ(directory.set_aside(prefix), ".damaged");
  EXPECT_EQ(stored_in(disk(1)), before);
  EXPECT_TRUE(fs::is_symlink(prefix + ".data-00000-of-00002.damaged"));
}

TEST_F(StripedDirectoryTest, RemovesWhatKilledSavesLeft) {
  Saver all = saver();
  save(all, 1);
  write(disk(1) + "/m-2.data-00000-of-00002.stored7");
  write(disk(2) + "/other-2.data-00000-of-00002.stored8");
  write(disk(2) + "/notes.txt");
  write(disk(2) + "/.checkpoints_of.tmp0123456789abcdef0123456789abcdef");
  EXPECT_THAT(list_leftovers(FileSystem::posix(), run(), "m"), SizeIs(2));
  remove_leftovers(FileSystem::posix(), run(), "m");
  EXPECT_THAT(stored_in(disk(1)), SizeIs(1));
  EXPECT_THAT(stored_in(disk(2)), ElementsAre(testing::StartsWith("m-1.data-0000"), "notes.txt",
                                              "other-2.data-00000-of-00002.stored8"));
  EXPECT_THAT(list_leftovers(FileSystem::posix(), run(), "m"), IsEmpty());
  CheckpointReader(run() + "/m-1").verify();
}

TEST_F(StripedDirectoryTest, ACopyReadsButOwnsNothing) {
  Saver all = saver();
  save(all, 1);
  fs::copy(run(), root_ / "copy", fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  CheckpointReader(root_ / "copy/m-1").verify();
  remove_leftovers(FileSystem::posix(), root_ / "copy", "m");
  auto copy = *CheckpointDirectory::find(FileSystem::posix(), root_ / "copy");
  remove_checkpoint(copy.files(), root_ / "copy/m-1");
  CheckpointReader(run() + "/m-1").verify();
  EXPECT_THAT(
      [&] { CheckpointDirectory::to_save_in(FileSystem::posix(), root_ / "copy", disks()); },
      ThrowsMessage<FailedPreconditionError>(
          HasSubstr(disk(1) + ": found the data of checkpoints in another directory")));
}

TEST_F(StripedDirectoryTest, FollowsAMovedDirectory) {
  Saver all = saver({.max_to_keep = 1});
  save(all, 1);
  fs::rename(run(), root_ / "moved");
  Saver again = saver({.max_to_keep = 1});
  const std::string second = again.save(*session_, root_ / "moved/m", 2);
  CheckpointReader(second).verify();
  EXPECT_EQ(num_stored(), 2) << "of the second checkpoint only";
  // A new run in the old place does not take the data over.
  EXPECT_THAT([&] { save(again, 3); }, testing::Throws<FailedPreconditionError>());
  CheckpointReader(second).verify();
}

TEST_F(StripedDirectoryTest, RefusesADiskThatIsNotMounted) {
  Saver all = saver();
  save(all, 1);
  fs::rename(disk(2), root_ / "unmounted");
  for (const bool has_mount_point : {false, true}) {
    if (has_mount_point) fs::create_directory(disk(2));
    EXPECT_THAT([&] { save(all, 2); },
                ThrowsMessage<FailedPreconditionError>(HasSubstr(
                    disk(2) + ": found no .checkpoints_of, expected the data of checkpoints in " +
                    run() + ": is its disk mounted?")));
  }
  EXPECT_THAT(stored_in(disk(2)), IsEmpty());
}

TEST_F(StripedDirectoryTest, BeginsAlthoughADirectoryCannotBeExamined) {
  Saver all = saver();
  save(all, 1);
  write(disk(1) + "/m-2.data-00000-of-00002.stored7");
  fs::remove(disk(2) + "/.checkpoints_of");
  fs::create_directory(disk(2) + "/.checkpoints_of");
  LogCapture log;
  remove_leftovers(FileSystem::posix(), run(), "m");
  EXPECT_TRUE(log.contains("leftovers of killed saves in " + disk(2) + " cannot be found"));
  EXPECT_THAT(stored_in(disk(1)), SizeIs(1));
}

TEST_F(StripedDirectoryTest, RefusesDirectoriesThatCannotBe) {
  const auto store_in = [&](const std::string& data_dir) {
    CheckpointDirectory::to_save_in(FileSystem::posix(), run(), {data_dir});
  };
  EXPECT_THAT([&] { store_in(run()); }, testing::Throws<InvalidArgumentError>());
  EXPECT_THAT([&] { store_in(disk(1) + "\nx"); }, testing::Throws<InvalidArgumentError>());
  fs::create_directory(root_ / "marked");
  write(root_ / "marked/.checkpoints_of");
  EXPECT_THAT([&] { store_in(root_ / "marked"); }, testing::Throws<FailedPreconditionError>());
  write(root_ / "file");
  EXPECT_THROW(store_in(root_ / "file"), Error);
}

// A directory may come from anyone.
TEST_F(StripedDirectoryTest, RemovesNoFilesOfOthers) {
  fs::create_directories(run());
  fs::create_directory(root_ / "home");
  const std::string victim = root_ / "home/m-1.data-00000-of-00001.stored1";
  write(victim);
  std::ofstream(run() + "/.checkpoint_dirs") << root_ / "home"
                                             << "\n";
  fs::create_symlink(victim, run() + "/m-1.data-00000-of-00001");
  fs::create_symlink(victim, run() + "/m-2.data-00000-of-00001.tempstate1");
  remove_leftovers(FileSystem::posix(), run(), "m");
  EXPECT_THAT(FileSystem::posix().list(run()), ElementsAre(".checkpoint_dirs", ".lock"));
  EXPECT_TRUE(fs::exists(victim));
  // Its own files that have no data are not removed either.
  Saver all = saver();
  save(all, 1);
  fs::create_symlink(disk(1) + "/.checkpoints_of", run() + "/m-7.data-00000-of-00001");
  remove_leftovers(FileSystem::posix(), run(), "m");
  EXPECT_TRUE(fs::exists(disk(1) + "/.checkpoints_of"));
}

TEST_F(StripedDirectoryTest, ReadsOnlyPlainFilesThroughLinks) {
  fs::create_directories(run());
  const std::string pipe = root_ / "m-1.data-00000-of-00001.stored1";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink(pipe, run() + "/m-1.data-00000-of-00001");
  write(root_ / "secret");
  fs::create_symlink(root_ / "secret", run() + "/m-2.data-00000-of-00001");
  auto directory = *CheckpointDirectory::find(FileSystem::posix(), run());
  EXPECT_THAT([&] { directory.files().open(run() + "/m-1.data-00000-of-00001"); },
              ThrowsMessage<DataLossError>(HasSubstr(pipe + ": found a pipe")));
  EXPECT_THAT([&] { directory.files().open(run() + "/m-2.data-00000-of-00001"); },
              ThrowsMessage<DataLossError>(HasSubstr("links are not followed here")));
}

TEST_F(StripedDirectoryTest, CountsTheRoomOfAllDisks) {
  MemoryFileSystem files;
  files.set_capacity(1000);
  const auto striped = CheckpointDirectory::to_save_in(files, "run", {"/a", "/b", "/c"});
  const uint64_t left = files.free_bytes("/a");
  EXPECT_EQ(striped.files().free_bytes("run"), 3 * left);
}

TEST_F(StripedDirectoryTest, NeedsABundle) {
  EXPECT_THROW(Saver({.format = CheckpointFormat::kSafetensors, .checkpoint_dirs = disks()}),
               InvalidArgumentError);
  EXPECT_THROW(Saver({.num_shards = 2, .num_threads = 3}), InvalidArgumentError);
  EXPECT_THROW(Saver({.format = CheckpointFormat::kSafetensors, .num_shards = 2, .num_threads = 2}),
               InvalidArgumentError);
  EXPECT_EQ(saver().options().num_shards, 2);
  EXPECT_EQ(saver().options().num_threads, 2);
  EXPECT_EQ(saver({.num_shards = 1}).options().num_threads, 1);
  EXPECT_EQ(Saver({.num_threads = 3}).options().num_shards, 3);
}

}  // namespace
}  // namespace crochet
