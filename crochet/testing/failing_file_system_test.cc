// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/failing_file_system.h"

#include <errno.h>

#include <functional>
#include <stdexcept>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(FailingFileSystemTest, RecordsOperations) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  files.create_directories("d");
  const auto file = files.create("d/a");
  file->append("12345");
  file->sync();
  file->close();
  files.append_to("d/a")->append("6");
  files.truncate("d/a", 2);
  files.rename("d/a", "d/b");
  files.sync_directory("d");
  EXPECT_NE(files.try_lock("d/lock"), nullptr);
  EXPECT_EQ(read_file(files, "d/b"), "12");
  files.remove("d/b");
  EXPECT_THAT(files.operations(),
              ElementsAre("create_directories d", "create d/a", "append d/a 5", "sync d/a",
                          "close d/a", "append_to d/a", "append d/a 1", "truncate d/a 2",
                          "rename d/a -> d/b", "sync_directory d", "lock d/lock", "remove d/b"));
  EXPECT_EQ(files.num_operations(), 12);
  EXPECT_EQ(files.num_failures(), 0);
}

TEST(FailingFileSystemTest, CountsReadsSeparately) {
  MemoryFileSystem memory;
  memory.create("a")->append("xyz");
  FailingFileSystem files(memory);
  files.fail_operation(0, Code::kUnknown, Failing::kFromThenOn);
  EXPECT_EQ(read_file(files, "a"), "xyz");
  EXPECT_TRUE(files.exists("a"));
  EXPECT_EQ(files.file_size("a"), 3);
  EXPECT_GT(files.modified_time("a"), 0);
  EXPECT_THAT(files.list(""), ElementsAre("a"));
  EXPECT_GT(files.free_bytes(""), 0);
  std::byte byte;
  const auto file = files.open("a");
  const auto stream = file->stream(1, 2);
  stream->skip(1);
  stream->read({&byte, 1});
  EXPECT_EQ(static_cast<char>(byte), 'z');
  EXPECT_THAT(files.reads(),
              ElementsAre("open a", "read a 0 3", "exists a", "file_size a", "modified_time a",
                          "list ", "free_bytes ", "open a", "read a 2 1"));
  EXPECT_EQ(files.num_reads(), 9);
  EXPECT_EQ(files.num_operations(), 0);
}

TEST(FailingFileSystemTest, EveryCallThatReadsCanFail) {
  MemoryFileSystem memory;
  memory.create("a")->append("x");
  FailingFileSystem files(memory);
  const auto file = files.open("a");
  const auto stream = file->stream(0, 1);
  std::byte byte;
  const std::vector<std::function<void()>> calls = {
      [&] { files.open("a"); },
      [&] { files.exists("a"); },
      [&] { files.file_size("a"); },
      [&] { files.modified_time("a"); },
      [&] { files.list(""); },
      [&] { files.free_bytes(""); },
      [&] {
        file->read_at(0, {&byte, 1});
      },
      [&] {
        stream->read({&byte, 1});
      },
  };
  for (size_t i = 0; i < calls.size(); ++i) {
    files.fail_read_with_errno(files.num_reads(), EMFILE);
    EXPECT_THROW(calls[i](), ResourceExhaustedError) << i;
    EXPECT_NO_THROW(calls[i]()) << i;
  }
  EXPECT_EQ(files.num_failures(), static_cast<int64_t>(calls.size()));
}

TEST(FailingFileSystemTest, FailsOnce) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  files.fail_operation(1, Code::kUnavailable);
  files.create("a");
  EXPECT_THAT([&] { files.create("b"); }, ThrowsMessage<UnavailableError>(HasSubstr("create b")));
  files.create("c");
  EXPECT_THAT(memory.list(""), ElementsAre("a", "c"));
  EXPECT_EQ(files.num_failures(), 1);
  EXPECT_EQ(files.num_operations(), 3);
}

TEST(FailingFileSystemTest, FailsFromThenOnUntilStopped) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  files.fail_operation(1, Code::kUnavailable, Failing::kFromThenOn);
  files.create("a");
  EXPECT_THROW(files.create("b"), UnavailableError);
  EXPECT_THROW(files.create("c"), UnavailableError);
  files.stop_failing();
  files.create("d");
  EXPECT_THAT(memory.list(""), ElementsAre("a", "d"));
  EXPECT_EQ(files.num_failures(), 2);
}

TEST(FailingFileSystemTest, CallsTheGivenThrower) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  files.fail_operation(0, [](const std::string& operation) { throw std::logic_error(operation); });
  EXPECT_THAT([&] { files.create("a"); }, ThrowsMessage<std::logic_error>("create a"));
}

TEST(FailingFileSystemTest, FailsWithTheErrorOfAnErrno) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  const auto file = files.create("a");
  files.fail_operation_with_errno(1, EDQUOT);
  EXPECT_THAT([&] { file->append("12"); }, ThrowsMessage<ResourceExhaustedError>(
                                               "a: append failed: Disk quota exceeded (EDQUOT)"));
  files.fail_operation_with_errno(2, EROFS, Failing::kFromThenOn);
  EXPECT_THROW(files.rename("a", "b"), PermissionDeniedError);
  EXPECT_THROW(files.remove("a"), PermissionDeniedError);
  EXPECT_THAT(files.failures(), ElementsAre("a: append failed: Disk quota exceeded (EDQUOT)",
                                            "a: rename failed: Read-only file system (EROFS)",
                                            "a: remove failed: Read-only file system (EROFS)"));
}

TEST(FailingFileSystemTest, AFailingAppendMayWriteNothingOrAll) {
  for (const auto& [work, written] : {std::pair{FailedWork::kNothing, ""},
                                      {FailedWork::kHalf, "12"},
                                      {FailedWork::kAll, "1234"}}) {
    MemoryFileSystem memory;
    FailingFileSystem files(memory);
    files.set_failed_work(work);
    const auto file = files.create("a");
    files.fail_operation_with_errno(1, EIO);
    EXPECT_THROW(file->append("1234"), UnknownError);
    EXPECT_EQ(read_file(memory, "a"), written);
  }
}

TEST(FailingFileSystemTest, AnOperationMayBeDoneAndStillFail) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  files.set_failed_work(FailedWork::kAll);
  files.fail_operation_with_errno(0, EIO, Failing::kFromThenOn);
  EXPECT_THROW(files.create("a"), UnknownError);
  EXPECT_THROW(files.rename("a", "b"), UnknownError);
  EXPECT_THAT(memory.list(""), ElementsAre("b"));
}

TEST(FailingFileSystemTest, SparesADirectoryAndItsContent) {
  MemoryFileSystem memory;
  memory.create_directories("d");
  memory.create_directories("de");
  FailingFileSystem files(memory);
  files.spare("d");
  files.fail_operation(0, Code::kDataLoss, Failing::kFromThenOn);
  files.fail_read_with_errno(0, EIO, Failing::kFromThenOn);
  files.create("d/a")->sync();
  files.rename("d/a", "d/b");
  files.sync_directory("d");
  EXPECT_TRUE(files.exists("d/b"));
  EXPECT_EQ(files.num_failures(), 0);
  EXPECT_THROW(files.create("de/a"), DataLossError);
  EXPECT_THROW(files.sync_directory("de"), DataLossError);
  EXPECT_ANY_THROW(files.exists("a"));
  EXPECT_EQ(files.num_failures(), 3);
}

TEST(FailingFileSystemTest, ReportsTheClaimedFreeBytes) {
  MemoryFileSystem memory;
  memory.set_capacity(10);
  FailingFileSystem files(memory);
  EXPECT_EQ(files.free_bytes(""), 10);
  files.claim_free_bytes(1000);
  EXPECT_EQ(files.free_bytes(""), 1000);
  EXPECT_THROW(files.create_large("a", 100), ResourceExhaustedError);
  files.claim_free_bytes({});
  EXPECT_EQ(files.free_bytes(""), 10);
}

TEST(FailingFileSystemTest, CallsTheWatcherBeforeEachOperation) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  std::vector<std::string> seen;
  files.watch([&](const std::string& operation) {
    seen.push_back(fmt::format("{}: {}", operation, memory.exists("a")));
  });
  files.create_large("a", 5);
  files.fail_operation_with_errno(1, EIO);
  EXPECT_THROW(files.remove("a"), UnknownError);
  EXPECT_THAT(seen, ElementsAre("create_large a 5: false", "remove a: true"));
}

TEST(FailingFileSystemTest, RejectsAThrowerThatThrowsNothing) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  files.fail_operation(0, [](const std::string&) {});
  EXPECT_THROW(files.create("a"), InternalError);
}

TEST(FailingFileSystemTest, AFailingAppendWritesHalfAndKillsTheFile) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  const auto file = files.create("a");
  files.fail_operation(1, Code::kResourceExhausted);
  EXPECT_THROW(file->append("123456"), ResourceExhaustedError);
  EXPECT_EQ(read_file(memory, "a"), "123");
  EXPECT_THROW(file->append("456"), FailedPreconditionError);
  EXPECT_THROW(file->sync(), FailedPreconditionError);
  EXPECT_EQ(files.num_operations(), 2) << "a refused call is not an operation";
}

TEST(FailingFileSystemTest, AFailingSyncSyncsNothing) {
  MemoryFileSystem memory;
  FailingFileSystem files(memory);
  const auto file = files.create("a");
  file->append("x");
  memory.sync_directory("");
  files.fail_operation(2, Code::kUnknown);
  EXPECT_THROW(file->sync(), UnknownError);
  memory.power_cut();
  EXPECT_EQ(read_file(memory, "a"), "");
}

// The calls that change a file system; each of them may fail.
TEST(FailingFileSystemTest, EveryOperationCanFailAndThenDoesNothing) {
  const std::vector<std::function<void(FileSystem&)>> calls = {
      [](FileSystem& files) { files.create("new"); },
      [](FileSystem& files) { files.create_large("new", 3); },
      [](FileSystem& files) { files.append_to("new"); },
      [](FileSystem& files) { files.rename("a", "new"); },
      [](FileSystem& files) { files.clone("a", "new"); },
      [](FileSystem& files) { files.remove("a"); },
      [](FileSystem& files) { files.truncate("a", 0); },
      [](FileSystem& files) { files.create_directories("new"); },
      [](FileSystem& files) { files.sync_file("a"); },
      [](FileSystem& files) { files.sync_directory(""); },
      [](FileSystem& files) { files.try_lock("new"); },
  };
  for (const auto& call : calls) {
    MemoryFileSystem memory;
    memory.create("a")->append("x");
    FailingFileSystem files(memory);
    files.fail_operation(0, Code::kDataLoss);
    EXPECT_THROW(call(files), DataLossError);
    EXPECT_THAT(memory.list(""), ElementsAre("a"));
    EXPECT_EQ(read_file(memory, "a"), "x");
  }
}

}  // namespace
}  // namespace crochet
