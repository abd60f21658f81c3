// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/directory/checkpoint_files.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using internal::FileRole;
using internal::parse_checkpoint_filename;
using internal::put_file;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

const std::string kHex(32, 'a');

class CheckpointFilesTest : public testing::Test {
 protected:
  CheckpointFilesTest() { files_.create_directories("d"); }

  void put(const std::vector<std::string>& names) {
    for (const std::string& name : names) put_file(files_, "d/" + name, "x");
  }

  MemoryFileSystem files_;
  LogCapture log_;
};

TEST_F(CheckpointFilesTest, ParsesFilenames) {
  const auto is = [](std::string_view name, FileRole part, std::string_view base) {
    const auto file = parse_checkpoint_filename(name);
    ASSERT_TRUE(file) << name;
    EXPECT_EQ(file->role, part) << name;
    EXPECT_EQ(file->base, base) << name;
  };
  is("m-1.index", FileRole::kIndex, "m-1");
  is("m-1.data-00000-of-00001", FileRole::kData, "m-1");
  is("m-1.data-100000-of-100001", FileRole::kData, "m-1");
  is("a.index.index", FileRole::kIndex, "a.index");
  is("m-1.json", FileRole::kSidecar, "m-1");
  is("m-1.index.tempstate123", FileRole::kTemporary, "m-1");
  is("m-1.data-00000-of-00001.tempstate9", FileRole::kTemporary, "m-1");
  is("m-1.json.tmp" + kHex, FileRole::kTemporary, "m-1");
  is("m-1.meta", FileRole::kMetaGraph, "m-1");
  is("m-1.meta.tmp" + kHex, FileRole::kTemporary, "m-1");
  for (const std::string name :
       {"", "m-1", "m-1.meta.tempstate1", "m-1.indexx", "m-1.data-0000-of-00001",
        "m-1.data-00000-of-0000x", "m-1.data-00000", "m-1.index.tempstate", "m-1.index.tempstatex1",
        "m-1.json.tempstate1", "m-1.index.damaged", "m-1.json.tmp", "m-1.json.tmpABC"})
    EXPECT_FALSE(parse_checkpoint_filename(name)) << name;
  EXPECT_FALSE(parse_checkpoint_filename("m-1.index.tmp" + kHex));
}

TEST_F(CheckpointFilesTest, ListsByStepNewestLast) {
  put({"m-100.index", "m-20.index", "m-3.index", "m-00000004.index", "m-5.data-00000-of-00001",
       "m-.index", "m-x.index", "m.index", "n-1.index", "mm-1.index", "m-1-2.index",
       "m-6.index.damaged", "m-99999999999999999999.index"});
  EXPECT_THAT(list_checkpoints(files_, "d", "m"),
              ElementsAre("d/m-3", "d/m-00000004", "d/m-20", "d/m-100"));
  EXPECT_THAT(list_checkpoints(files_, "nowhere", "m"), IsEmpty());
}

TEST_F(CheckpointFilesTest, ListsInTheCurrentDirectory) {
  put_file(files_, "m-1.index", "x");
  EXPECT_THAT(list_checkpoints(files_, "", "m"), ElementsAre("m-1"));
}

TEST_F(CheckpointFilesTest, ACheckpointExistsWithItsIndexOrAsAFile) {
  put({"m-1.index", "m-2.data-00000-of-00001", "m-3.safetensors", "m-[4].index"});
  EXPECT_TRUE(checkpoint_exists(files_, "d/m-1"));
  EXPECT_FALSE(checkpoint_exists(files_, "d/m-2"));
  EXPECT_TRUE(checkpoint_exists(files_, "d/m-3.safetensors"));
  EXPECT_TRUE(checkpoint_exists(files_, "d/m-[4]"));
  EXPECT_FALSE(checkpoint_exists(files_, "d/m-*"));
}

TEST_F(CheckpointFilesTest, MtimesOmitMissingCheckpoints) {
  put({"m-1.index", "m-2"});
  const std::vector<std::string> prefixes = {"d/m-1", "d/m-2", "d/m-3"};
  EXPECT_THAT(get_checkpoint_mtimes(files_, prefixes),
              ElementsAre(files_.modified_time("d/m-1.index"), files_.modified_time("d/m-2")));
}

// A disk on which another process removes each file right after it was listed.
class VanishingFiles final : public MemoryFileSystem {
 public:
  bool exists(const std::string& path) override {
    const bool there = MemoryFileSystem::exists(path);
    if (there) remove(path);
    return there;
  }
};

TEST_F(CheckpointFilesTest, MtimesOmitCheckpointsRemovedMeanwhile) {
  VanishingFiles files;
  files.create_directories("d");
  files.create("d/m-1.index")->close();
  const std::string prefix = "d/m-1";
  EXPECT_NO_THROW(get_checkpoint_mtimes(files, {&prefix, 1}));
}

TEST_F(CheckpointFilesTest, RemovesExactlyTheFilesOfACheckpoint) {
  const std::vector<std::string> others = {
      "checkpoint", "m-1.index.damaged",        "m-1.txt",
      "m-10.index", "m-10.data-00000-of-00001", "n-1.data-00000-of-00001"};
  put(others);
  put({"m-1.index", "m-1.data-00000-of-00002", "m-1.data-00001-of-00002", "m-1.json", "m-1.meta"});
  remove_checkpoint(files_, "d/m-1");
  EXPECT_THAT(files_.list("d"), UnorderedElementsAreArray(others));
  EXPECT_NO_THROW(remove_checkpoint(files_, "d/m-1"));
  EXPECT_NO_THROW(remove_checkpoint(files_, "nowhere/m-1"));
}

TEST_F(CheckpointFilesTest, TheIndexIsDurablyRemovedBeforeTheData) {
  put({"m-1.index", "m-1.data-00000-of-00001", "m-1.json"});
  FailingFileSystem files(files_);
  remove_checkpoint(files, "d/m-1");
  EXPECT_THAT(files.operations(),
              testing::IsSupersetOf({"remove d/m-1.index", "sync_directory d",
                                     "remove d/m-1.data-00000-of-00001", "remove d/m-1.json"}));
  const auto place = [&](const std::string& operation) {
    const auto all = files.operations();
    return std::ranges::find(all, operation) - all.begin();
  };
  EXPECT_LT(place("remove d/m-1.index"), place("sync_directory d"));
  EXPECT_LT(place("sync_directory d"), place("remove d/m-1.data-00000-of-00001"));
}

TEST_F(CheckpointFilesTest, ACrashDuringARemovalLeavesNoDamagedCheckpoint) {
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    disk.create_directories("d");
    internal::put_example(disk, "d/m-1");
    disk.sync_directory("d");
    disk.sync_directory("");
    FailingFileSystem files(disk);
    files.fail_operation(n, Code::kUnknown, Failing::kFromThenOn);
    try {
      remove_checkpoint(files, "d/m-1");
    } catch (const UnknownError&) {
    }
    disk.power_cut({.names = n % 2 == 0 ? UnsyncedNames::kKept : UnsyncedNames::kLost});
    if (disk.exists("d/m-1.index")) CheckpointReader("d/m-1", disk).verify();
    if (files.num_failures() == 0) break;
  }
}

TEST_F(CheckpointFilesTest, RemovesLeftoversButNoForeignFiles) {
  const std::vector<std::string> sound = {
      "checkpoint", "m-1.index", "m-1.data-00000-of-00001", "m-1.json", "m-1.meta",
      // Unrelated files, or files of another name.
      "notes.tempstate12", "checkpoint.tmp", "checkpoint.tmpnothex", "n-2.data-00000-of-00001",
      "n-2.index.tempstate5", "m-x.data-00000-of-00001", "m.json", "m-5.txt", "m-6.index.damaged",
      "m-6.data-00000-of-00001.damaged"};
  const std::vector<std::string> leftovers = {
      "checkpoint.tmp" + kHex,
      "m-2.data-00000-of-00001",
      "m-2.json",
      "m-2.meta",
      "m-1.json.tmp" + kHex,
      "m-1.meta.tmp" + kHex,
      "m-3.data-00000-of-00001.tempstate18446744073709551615",
      "m-3.index.tempstate0",
      "m-4.data-00001-of-00002"};
  put(sound);
  put(leftovers);
  remove_leftovers(files_, "d", "m");
  files_.remove("d/.lock");
  EXPECT_THAT(files_.list("d"), UnorderedElementsAreArray(sound));
  EXPECT_THAT(log_.lines(Severity::kDebug), SizeIs(leftovers.size()));
  for (const std::string& name : leftovers) EXPECT_TRUE(log_.contains("d/" + name)) << name;
  EXPECT_NO_THROW(remove_leftovers(files_, "nowhere", "m"));
}

TEST_F(CheckpointFilesTest, WarnsOfALeftoverThatCannotBeRemoved) {
  put({"m-2.json", "m-3.json"});
  FailingFileSystem files(files_);
  files.fail_operation(2, Code::kPermissionDenied);  // After the lock and the directory's sync.
  remove_leftovers(files, "d", "m");
  EXPECT_THAT(files_.list("d"), ElementsAre(".lock", "m-2.json"));
  EXPECT_THAT(log_.lines(Severity::kWarning), SizeIs(1));
}

// C10: leftovers of a state file with another name.
TEST_F(CheckpointFilesTest, RemovesLeftoversOfTheStateFileOfItsName) {
  put({"best.tmp" + kHex, "checkpoint.tmp" + kHex, "m-1.index"});
  remove_leftovers(files_, "d", "m", "best");
  EXPECT_THAT(files_.list("d"), testing::IsSupersetOf(std::vector<std::string>{
                                    "checkpoint.tmp" + kHex, "m-1.index"}));
  EXPECT_FALSE(files_.exists("d/best.tmp" + kHex));
}

TEST_F(CheckpointFilesTest, RemovesNoLeftoversWhileAnotherRunHoldsTheLock) {
  put({"m-2.json"});
  const auto lock = files_.try_lock("d/.lock");  // As another process does.
  EXPECT_THROW(remove_leftovers(files_, "d", "m"), FailedPreconditionError);
  EXPECT_TRUE(files_.exists("d/m-2.json"));
}

}  // namespace
}  // namespace crochet
