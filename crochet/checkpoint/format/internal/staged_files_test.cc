// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/staged_files.h"

#include <errno.h>

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/attack_count.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kPrefix[] = "d/m";
const std::vector<std::string> kNames = {"d/m.data-0", "d/m.data-1", "d/m.index"};

// Every file of one checkpoint has the same text.
void stage(StagedFiles& staged, const std::string& text) {
  for (const std::string& name : kNames) staged.create(name).append(text);
  staged.sync();
}

// The text of the files if the checkpoint exists: its index must never exist with other data.
std::set<std::string> texts(FileSystem& files) {
  std::set<std::string> found;
  if (!files.exists(kNames.back())) return found;
  for (const std::string& name : kNames)
    found.insert(files.exists(name) ? read_file(files, name) : "missing");
  return found;
}

void expect_whole_after_each_power_cut(const MemoryFileSystem& disk, const std::string& moment) {
  std::vector<std::set<std::string>> kept = {{}};
  for (const std::string& name : disk.unsynced_names()) kept.push_back({name});
  for (const auto& names : kept) {
    const auto left = disk.after_power_cut({.kept_names = names});
    EXPECT_LE(texts(*left).size(), 1u)
        << "before " << moment << ", kept: " << testing::PrintToString(names) << ", found "
        << testing::PrintToString(texts(*left));
  }
}

class StagedFilesTest : public testing::Test {
 protected:
  StagedFilesTest() { disk_.create_directories("d"); }

  MemoryFileSystem disk_;
  FailingFileSystem files_{disk_};
};

TEST_F(StagedFilesTest, RenamesTheDataBeforeTheIndex) {
  {
    StagedFiles old(disk_, kPrefix);
    stage(old, "old");
    old.publish();
  }
  StagedFiles staged(files_, kPrefix);
  stage(staged, "new");
  const auto before = static_cast<std::ptrdiff_t>(files_.operations().size());
  staged.publish();
  std::vector<std::string> done = files_.operations();
  done.erase(done.begin(), done.begin() + before);
  for (std::string& operation : done) {
    const size_t digits = operation.find(".tempstate");
    if (digits != std::string::npos) operation.erase(digits, operation.find(' ', digits) - digits);
  }
  EXPECT_THAT(done,
              ElementsAre("remove d/m.index", "sync_directory d", "rename d/m.data-0 -> d/m.data-0",
                          "rename d/m.data-1 -> d/m.data-1", "sync_directory d",
                          "rename d/m.index -> d/m.index", "sync_directory d"));
  EXPECT_THAT(files_.violations(), IsEmpty());
}

TEST_F(StagedFilesTest, ASingleFileReplacesTheOlderOneInOneStep) {
  for (const char* const text : {"old", "new"}) {
    StagedFiles staged(files_, kPrefix);
    staged.create("d/m.safetensors").append(text);
    staged.sync();
    files_.watch([&](const std::string& operation) {
      EXPECT_TRUE(text == std::string("old") || disk_.after_power_cut()->exists("d/m.safetensors"))
          << "before " << operation;
    });
    staged.publish();
    files_.watch({});
  }
  EXPECT_EQ(read_file(*disk_.after_power_cut(), "d/m.safetensors"), "new");
}

// Whatever part of its work the first attempt has done when it fails.
TEST_F(StagedFilesTest, ASecondAttemptToPublishIsAsSafeAsTheFirst) {
  AttackCount errors("io_errors");
  for (const FailedWork work : {FailedWork::kNothing, FailedWork::kAll})
    for (int64_t n = 0;; ++n) {
      MemoryFileSystem disk;
      disk.create_directories("d");
      {
        StagedFiles old(disk, kPrefix);
        stage(old, "old");
        old.publish();
      }
      FailingFileSystem files(disk);
      files.set_failed_work(work);
      StagedFiles staged(files, kPrefix);
      stage(staged, "new");
      files.fail_operation_with_errno(files.num_operations() + n, EIO);
      files.watch([&](const std::string& operation) {
        expect_whole_after_each_power_cut(disk, operation);
      });
      try {
        staged.publish();
      } catch (const Error&) {
        errors.add();
      }
      if (files.num_failures() == 0) break;
      staged.publish();
      files.watch({});
      EXPECT_EQ(texts(*disk.after_power_cut()), std::set<std::string>{"new"}) << n;
    }
  EXPECT_GE(errors.number(), 14);
}

TEST_F(StagedFilesTest, RemovesUnpublishedFiles) {
  AttackCount errors("io_errors");
  for (const FailedWork work : {FailedWork::kNothing, FailedWork::kAll})
    for (int64_t n = 0;; ++n) {
      MemoryFileSystem disk;
      disk.create_directories("d");
      FailingFileSystem files(disk);
      files.set_failed_work(work);
      files.fail_operation_with_errno(n, EIO);
      try {
        StagedFiles staged(files, kPrefix);
        stage(staged, "new");
        staged.publish();
      } catch (const Error&) {
        errors.add();
      }
      if (files.num_failures() == 0) break;
      if (disk.exists(kNames.back())) continue;
      EXPECT_THAT(disk.list("d"), IsEmpty()) << n;
    }
  EXPECT_GE(errors.number(), 20);
}

TEST_F(StagedFilesTest, RenamesButNeverRemovesFilesOfOthers) {
  {
    const auto theirs = disk_.create("d/theirs");
    theirs->append("data");
    theirs->sync();
    theirs->close();
  }
  {
    StagedFiles staged(files_, kPrefix);
    staged.rename_too("d/theirs", kNames[0]);
    staged.create(kNames[2]).append("index");
    staged.sync();
  }
  EXPECT_THAT(disk_.list("d"), ElementsAre("theirs"));
  for (int attempt = 0; attempt < 2; ++attempt) {  // The second one finds the new name.
    StagedFiles staged(files_, kPrefix);
    staged.rename_too("d/theirs", kNames[0]);
    staged.create(kNames[2]).append("index");
    staged.sync();
    staged.publish();
    EXPECT_THAT(disk_.list("d"), ElementsAre("m.data-0", "m.index"));
  }
}

TEST_F(StagedFilesTest, ThrowsIfAFileWasRemoved) {
  StagedFiles staged(files_, kPrefix);
  stage(staged, "new");
  for (const std::string& name : disk_.list("d"))
    if (name.starts_with("m.data-0")) disk_.remove("d/" + name);
  EXPECT_THROW(staged.publish(), NotFoundError);
  EXPECT_FALSE(disk_.exists(kNames.back()));
}

}  // namespace
}  // namespace crochet::internal
