// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/memory_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

void write(FileSystem& files, const std::string& path, std::string_view content) {
  files.create(path)->append(content);
}

void write_synced(FileSystem& files, const std::string& path, std::string_view content) {
  const auto file = files.create(path);
  file->append(content);
  file->sync();
}

TEST(MemoryFileSystemTest, AFileSyncedByItsNameSurvives) {
  MemoryFileSystem files;
  const auto file = files.create("a");
  file->append("synced");
  files.sync_file("a");
  file->append(" and not");
  files.sync_directory("");
  files.power_cut();
  EXPECT_EQ(read_file(files, "a"), "synced");
}

TEST(MemoryFileSystemTest, APowerCutLosesAFileWhoseDirectoryWasNotSynced) {
  MemoryFileSystem files;
  write_synced(files, "a", "a");
  files.power_cut();
  EXPECT_THAT(files.list(""), IsEmpty());
}

TEST(MemoryFileSystemTest, APowerCutEmptiesAnUnsyncedFile) {
  MemoryFileSystem files;
  write(files, "a", "a");
  files.sync_directory("");
  files.power_cut();
  EXPECT_EQ(read_file(files, "a"), "");
}

TEST(MemoryFileSystemTest, APowerCutKeepsSyncedBytes) {
  MemoryFileSystem files;
  write_synced(files, "a", "a");
  files.sync_directory("");
  files.power_cut();
  EXPECT_EQ(read_file(files, "a"), "a");
  files.power_cut();
  EXPECT_EQ(read_file(files, "a"), "a");
}

TEST(MemoryFileSystemTest, APowerCutRestoresRemovedFiles) {
  MemoryFileSystem files;
  write_synced(files, "a", "a");
  files.sync_directory("");
  files.remove("a");
  files.power_cut();
  EXPECT_EQ(read_file(files, "a"), "a");
  files.remove("a");
  files.sync_directory("");
  files.power_cut();
  EXPECT_FALSE(files.exists("a"));
}

TEST(MemoryFileSystemTest, APowerCutUndoesARename) {
  MemoryFileSystem files;
  write_synced(files, "old", "old");
  write_synced(files, "new", "new");
  files.sync_directory("");
  files.rename("new", "old");
  files.power_cut();
  EXPECT_EQ(read_file(files, "old"), "old");
  EXPECT_EQ(read_file(files, "new"), "new");
}

TEST(MemoryFileSystemTest, APowerCutKeepsCreatedDirectories) {
  MemoryFileSystem files;
  files.create_directories("a/b/c");
  files.power_cut();
  EXPECT_TRUE(files.exists("a/b/c"));
}

TEST(MemoryFileSystemTest, APowerCutBetweenTheSyncsOfTwoDirectoriesShowsBothNames) {
  MemoryFileSystem files;
  files.create_directories("d");
  write_synced(files, "a", "a");
  files.sync_directory("");
  files.rename("a", "d/a");
  files.sync_directory("d");
  files.power_cut();
  EXPECT_EQ(read_file(files, "a"), "a");
  EXPECT_EQ(read_file(files, "d/a"), "a");
}

TEST(MemoryFileSystemTest, APowerCutMayKeepNamesAndLoseBytes) {
  MemoryFileSystem files;
  write(files, "a", "a");
  files.rename("a", "b");
  files.power_cut({.names = UnsyncedNames::kKept});
  EXPECT_THAT(files.list(""), ElementsAre("b"));
  EXPECT_EQ(read_file(files, "b"), "");
}

std::string after_power_cut(UnsyncedBytes bytes) {
  MemoryFileSystem files;
  const auto file = files.create("a");
  file->append("synced");
  file->sync();
  file->append("1234");
  files.power_cut({.names = UnsyncedNames::kKept, .bytes = bytes});
  return read_file(files, "a");
}

TEST(MemoryFileSystemTest, APowerCutMayLeaveSomeOfTheBytes) {
  EXPECT_EQ(after_power_cut(UnsyncedBytes::kLost), "synced");
  EXPECT_EQ(after_power_cut(UnsyncedBytes::kHalf), "synced12");
  EXPECT_EQ(after_power_cut(UnsyncedBytes::kZeroed), std::string("synced\0\0\0\0", 10));
  EXPECT_EQ(after_power_cut(UnsyncedBytes::kKept), "synced1234");
}

TEST(MemoryFileSystemTest, TruncationIsLostUntilTheFileIsSynced) {
  MemoryFileSystem files;
  write_synced(files, "a", "0123456789");
  files.sync_directory("");
  files.truncate("a", 4);
  files.power_cut();
  EXPECT_EQ(read_file(files, "a"), "0123456789");
  files.truncate("a", 4);
  files.append_to("a")->sync();
  files.power_cut();
  EXPECT_EQ(read_file(files, "a"), "0123");
}

TEST(MemoryFileSystemTest, OpenFilesOfADeadProgramReachNoFile) {
  MemoryFileSystem files;
  const auto file = files.create("a");
  file->append("a");
  file->sync();
  files.sync_directory("");
  files.power_cut();
  file->append("b");
  file->sync();
  EXPECT_EQ(read_file(files, "a"), "a");
}

TEST(MemoryFileSystemTest, APowerCutReleasesLocks) {
  MemoryFileSystem files;
  auto dead = files.try_lock("lock");
  files.sync_directory("");
  files.power_cut();
  const auto lock = files.try_lock("lock");
  EXPECT_NE(lock, nullptr);
  dead.reset();
  EXPECT_EQ(files.try_lock("lock"), nullptr) << "the dead program held another lock";
}

TEST(MemoryFileSystemTest, OpenFilesOutliveTheFileSystem) {
  auto files = std::make_unique<MemoryFileSystem>();
  const auto lock = files->try_lock("lock");
  const auto writer = files->create("a");
  const auto reader = files->open("a");
  files.reset();
  writer->append("abc");
  EXPECT_EQ(reader->size(), 3);
}

TEST(MemoryFileSystemTest, AFullDiskWritesWhatFitsAndKillsTheFile) {
  MemoryFileSystem files;
  files.set_capacity(10);
  write(files, "a", "123456");
  EXPECT_EQ(files.free_bytes(""), 4);
  const auto file = files.create("b");
  EXPECT_THAT(
      [&] { file->append("123456"); },
      ThrowsMessage<ResourceExhaustedError>("b: write failed: No space left on device (ENOSPC)"));
  EXPECT_EQ(read_file(files, "b"), "1234");
  EXPECT_EQ(files.free_bytes(""), 0);
  files.remove("a");
  EXPECT_THROW(file->append("1"), FailedPreconditionError);
  EXPECT_THROW(file->sync(), FailedPreconditionError);
  files.append_to("b")->append("56");
  EXPECT_EQ(read_file(files, "b"), "123456");
}

TEST(MemoryFileSystemTest, ReservesRoomForALargeFileUntilItIsClosed) {
  MemoryFileSystem files;
  files.set_capacity(10);
  const auto large = files.create_large("a", 8);
  EXPECT_EQ(files.free_bytes(""), 2);
  large->append("123");
  EXPECT_EQ(files.free_bytes(""), 2) << "from its own room";
  EXPECT_THROW(files.create("b")->append("456"), ResourceExhaustedError);
  files.remove("b");
  large->append("45678");
  large->append("9");
  EXPECT_EQ(files.free_bytes(""), 1) << "beyond what was expected";
  large->close();
  EXPECT_EQ(read_file(files, "a"), "123456789");
  files.create_large("c", 1);
  EXPECT_EQ(files.free_bytes(""), 1) << "released";
}

TEST(MemoryFileSystemTest, RejectsALargeFileWithoutRoom) {
  MemoryFileSystem files;
  files.set_capacity(10);
  write(files, "a", "123456");
  EXPECT_THAT([&] { files.create_large("b", 5); },
              ThrowsMessage<ResourceExhaustedError>(
                  "b: 5 bytes are needed, 4 are free: No space left on device (ENOSPC)"));
  EXPECT_FALSE(files.exists("b"));
  files.create_large("b", 4);
  files.create_large("a", 10);  // Its old room can be reused.
}

TEST(MemoryFileSystemTest, APowerCutKeepsChosenUnsyncedNames) {
  MemoryFileSystem files;
  files.create_directories("d");
  write(files, "d/gone", "gone");
  write(files, "d/replaced", "old");
  for (const char* const name : {"d/gone", "d/replaced"}) files.append_to(name)->sync();
  files.sync_directory("d");
  EXPECT_THAT(files.unsynced_names(), ElementsAre());
  write(files, "d/new", "new");
  files.append_to("d/new")->sync();
  files.rename("d/new", "d/replaced");
  files.remove("d/gone");
  EXPECT_THAT(files.unsynced_names(), ElementsAre("d/gone", "d/replaced"));

  const auto neither = files.after_power_cut();
  EXPECT_EQ(read_file(*neither, "d/replaced"), "old");
  EXPECT_EQ(read_file(*neither, "d/gone"), "gone");
  const auto one = files.after_power_cut({.kept_names = {"d/gone"}});
  EXPECT_EQ(read_file(*one, "d/replaced"), "old");
  EXPECT_FALSE(one->exists("d/gone"));
  const auto other = files.after_power_cut({.kept_names = {"d/replaced"}});
  EXPECT_EQ(read_file(*other, "d/replaced"), "new");
  EXPECT_TRUE(other->exists("d/gone"));
  EXPECT_EQ(read_file(files, "d/replaced"), "new") << "this disk is unchanged";
}

TEST(MemoryFileSystemTest, DatesFilesByItsClock) {
  FakeClock clock(1000);
  MemoryFileSystem files(clock);
  const auto file = files.create("a");
  EXPECT_EQ(files.modified_time("a"), 1000);
  clock.advance(std::chrono::seconds(5));
  file->append("x");
  EXPECT_EQ(files.modified_time("a"), 1005);
  clock.advance(std::chrono::seconds(5));
  files.truncate("a", 0);
  EXPECT_EQ(files.modified_time("a"), 1010);
}

TEST(MemoryFileSystemTest, RelativePathsStartAtTheRoot) {
  MemoryFileSystem files;
  write(files, "/a", "a");
  EXPECT_EQ(read_file(files, "a"), "a");
  EXPECT_EQ(read_file(files, "./a"), "a");
}

}  // namespace
}  // namespace crochet
