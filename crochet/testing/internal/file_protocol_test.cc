// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/internal/file_protocol.h"

#include <errno.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class FileProtocolTest : public testing::Test {
 protected:
  // The next operation fails.
  void fail_next() { files_.fail_operation_with_errno(files_.num_operations(), EIO); }

  MemoryFileSystem disk_;
  FailingFileSystem files_{disk_};
};

TEST_F(FileProtocolTest, AcceptsReplaceFile) {
  files_.create_directories("d");
  replace_file(files_, "d/a", "one");
  replace_file(files_, "d/a", "two");
  EXPECT_THAT(files_.violations(), IsEmpty());
  EXPECT_THAT(files_.unsynced_names(), IsEmpty());
}

TEST_F(FileProtocolTest, RejectsASyncAfterAFailedOne) {
  const auto file = files_.create("a");
  file->append("x");
  fail_next();
  EXPECT_THROW(file->sync(), Error);
  EXPECT_THAT(files_.violations(), IsEmpty());
  EXPECT_THROW(file->sync(), Error);
  EXPECT_THROW(file->append("y"), Error);
  EXPECT_THAT(files_.violations(),
              ElementsAre("a: sync after an error", "a: append after an error"));
}

TEST_F(FileProtocolTest, RejectsASyncThroughAnotherDescriptor) {
  const auto file = files_.create("a");
  fail_next();
  EXPECT_THROW(file->append("x"), Error);
  files_.append_to("a")->sync();
  EXPECT_THAT(files_.violations(), ElementsAre("a: sync after an error"));
}

TEST_F(FileProtocolTest, RejectsARenameOfAFailedFile) {
  const auto file = files_.create("a");
  fail_next();
  EXPECT_THROW(file->sync(), Error);
  files_.rename("a", "b");
  EXPECT_THAT(files_.violations(), ElementsAre("a: rename to b after an error"));
}

TEST_F(FileProtocolTest, RejectsARenameOfAFileThatFailedByItself) {
  disk_.set_capacity(3);
  const auto file = files_.create("a");
  EXPECT_THROW(file->append("1234"), ResourceExhaustedError);
  files_.rename("a", "b");
  EXPECT_THAT(files_.violations(), ElementsAre("a: rename to b after an error"));
}

TEST_F(FileProtocolTest, RejectsARenameBeforeASync) {
  const auto file = files_.create("a");
  file->append("x");
  file->sync();
  file->append("y");
  files_.rename("a", "b");
  EXPECT_THAT(files_.violations(), ElementsAre("a: rename to b before a sync"));
}

TEST_F(FileProtocolTest, RejectsAnAppendAfterARename) {
  const auto file = files_.create("a");
  files_.rename("a", "b");
  file->append("x");
  EXPECT_THAT(files_.violations(), ElementsAre("b: append after the rename"));
}

TEST_F(FileProtocolTest, AcceptsANewFileWithTheNameOfADeadOne) {
  const auto file = files_.create("a");
  fail_next();
  EXPECT_THROW(file->sync(), Error);
  files_.remove("a");
  const auto second = files_.create("a");
  second->sync();
  files_.rename("a", "b");
  EXPECT_THAT(files_.violations(), IsEmpty());
}

TEST_F(FileProtocolTest, ReportsUnsyncedNames) {
  files_.create_directories("d");
  files_.create("d/a");
  files_.create("b");
  EXPECT_THAT(files_.unsynced_names(), ElementsAre("b", "d/a"));
  files_.sync_directory("d");
  EXPECT_THAT(files_.unsynced_names(), ElementsAre("b"));
  files_.rename("b", "d/c");
  files_.sync_directory(".");
  EXPECT_THAT(files_.unsynced_names(), ElementsAre("d/c"));
  files_.remove("d/c");
  EXPECT_THAT(files_.unsynced_names(), IsEmpty());
}

}  // namespace
}  // namespace crochet::internal
