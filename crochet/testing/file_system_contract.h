// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/io/file_system.h"
#include "crochet/io/internal/crc32c.h"

namespace crochet::inline v0 {

// An empty directory in a file system, for use by one test.
struct ScratchFiles {
  FileSystem* files = nullptr;
  std::string directory;
  std::shared_ptr<void> owner;  // Keeps the two above alive.
};

struct FileSystemCase {
  std::string name;
  std::function<ScratchFiles()> make;

  friend void PrintTo(const FileSystemCase& a_case, std::ostream* out) { *out << a_case.name; }
};

// The contract of every FileSystem. To be included in one source file of a test program:
//
//   INSTANTIATE_TEST_SUITE_P(Mine, FileSystemContract, testing::Values(FileSystemCase{...}));
class CROCHET_EXPORT FileSystemContract : public ::testing::TestWithParam<FileSystemCase> {
 protected:
  std::string path(std::string_view name) const {
    return scratch_.directory + "/" + std::string(name);
  }

  void write(const std::string& path, std::string_view content) {
    const auto file = files_.create(path);
    file->append(content);
    file->close();
  }

  std::string read(uint64_t offset, size_t length, const std::string& path) {
    std::string bytes(length, '?');
    files_.open(path)->read_at(offset, std::as_writable_bytes(std::span(bytes)));
    return bytes;
  }

  // Whether files can have several names.
  bool has_links() {
    const std::string first = path("first");
    write(first, "");
    bool linked = true;
    try {
      files_.link(first, path("second"));
      files_.remove(path("second"));
    } catch (const UnimplementedError&) {
      linked = false;
    }
    files_.remove(first);
    return linked;
  }

  bool has_symbolic_links() {
    try {
      files_.make_symbolic_link(path("nowhere"), path("symbolic"));
    } catch (const UnimplementedError&) {
      return false;
    }
    files_.remove(path("symbolic"));
    return true;
  }

  // Expects an error of one kind that names `path`.
  template <typename ExpectedError, typename Call>
  void expect_error(const std::string& path, const Call& call) {
    try {
      call();
    } catch (const ExpectedError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(path));
      return;
    } catch (const Error& error) {
      FAIL() << "another error: " << code_name(error.code()) << ": " << error.what();
    }
    FAIL() << path << ": no error";
  }

  const ScratchFiles scratch_ = GetParam().make();
  FileSystem& files_ = *scratch_.files;
};

TEST_P(FileSystemContract, ReadsWhatWasWritten) {
  const std::string content("bytes\0with zeros", 16);
  const auto file = files_.create(path("a"));
  file->append(std::string_view(content).substr(0, 3));
  file->append(std::string_view());
  file->append(std::string_view(content).substr(3));
  file->sync();
  file->close();
  EXPECT_EQ(read_file(files_, path("a")), content);
  EXPECT_EQ(files_.file_size(path("a")), 16);
  EXPECT_EQ(files_.open(path("a"))->size(), 16);
}

TEST_P(FileSystemContract, DistinguishesDirectoriesFromFiles) {
  files_.create_directories(path("directory"));
  write(path("file"), "x");
  EXPECT_TRUE(is_directory(files_, path("directory")));
  EXPECT_FALSE(is_directory(files_, path("file")));
  EXPECT_FALSE(is_directory(files_, path("file") + "/below"));
  EXPECT_FALSE(is_directory(files_, path("nothing")));
}

TEST_P(FileSystemContract, CreatesEmptyFiles) {
  files_.create(path("empty"));
  EXPECT_EQ(read_file(files_, path("empty")), "");
  EXPECT_EQ(files_.file_size(path("empty")), 0);
}

TEST_P(FileSystemContract, TruncatesAFileThatIsCreatedAgain) {
  write(path("a"), "long content");
  write(path("a"), "x");
  EXPECT_EQ(read_file(files_, path("a")), "x");
}

TEST_P(FileSystemContract, AppendsAtTheEndOrCreatesTheFile) {
  files_.append_to(path("a"))->append("one ");
  files_.append_to(path("a"))->append("two");
  EXPECT_EQ(read_file(files_, path("a")), "one two");
}

TEST_P(FileSystemContract, TwoAppendersBothWriteAtTheEnd) {
  const auto first = files_.append_to(path("a"));
  const auto second = files_.append_to(path("a"));
  first->append("1");
  second->append("2");
  first->append("3");
  EXPECT_EQ(read_file(files_, path("a")), "123");
}

TEST_P(FileSystemContract, ShowsUnsyncedBytesToReadersAtOnce) {
  const auto file = files_.create(path("a"));
  const auto reader = files_.open(path("a"));
  file->append("now");
  EXPECT_EQ(reader->size(), 3);
}

TEST_P(FileSystemContract, RejectsWritesToAClosedFile) {
  const auto file = files_.create(path("a"));
  file->close();
  EXPECT_THROW(file->append("x"), FailedPreconditionError);
  EXPECT_THROW(file->sync(), FailedPreconditionError);
  EXPECT_THROW(file->close(), FailedPreconditionError);
}

// Bytes without a pattern, so that misplaced bytes are noticed.
inline std::string scrambled_bytes(size_t size) {
  std::string bytes(size, '\0');
  uint64_t state = 88172645463325252u;  // Seed of the xorshift generator.
  for (char& byte : bytes) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    byte = static_cast<char>(state);
  }
  return bytes;
}

TEST_P(FileSystemContract, LargeFilesAreCompleteForAnyExpectedSize) {
  const std::string content = scrambled_bytes((size_t{1} << 20) + 12'345);
  for (const uint64_t expected : {uint64_t{0}, uint64_t{1}, uint64_t{4096}, uint64_t{1'060'921},
                                  uint64_t{1'060'922}, uint64_t{3'000'000}}) {
    const auto file = files_.create_large(path("a"), expected);
    file->append(std::string_view(content).substr(0, 5));
    file->append(std::string_view());
    file->append(std::string_view(content).substr(5));
    file->sync();
    EXPECT_EQ(files_.file_size(path("a")), content.size()) << expected;
    EXPECT_TRUE(read_file(files_, path("a")) == content) << expected;
    file->close();
    EXPECT_EQ(files_.file_size(path("a")), content.size()) << expected;
  }
}

TEST_P(FileSystemContract, LargeFilesAreCompleteAfterClose) {
  for (const size_t size : {0, 3, 70'000, 2'500'000}) {
    const std::string content = scrambled_bytes(size);
    const auto file = files_.create_large(path("a"), 2'000'000);
    file->append(content);
    file->close();
    EXPECT_TRUE(read_file(files_, path("a")) == content) << size;
  }
}

TEST_P(FileSystemContract, LargeFilesContinueAfterASync) {
  const std::string content = scrambled_bytes(2'500'000);
  const auto file = files_.create_large(path("a"), 1'500'000);
  size_t done = 0;
  for (const size_t end : {1u, 4096u, 5000u, 5000u, 1'200'001u, 2'500'000u}) {
    file->append(std::string_view(content).substr(done, end - done));
    file->sync();
    EXPECT_TRUE(read_file(files_, path("a")) == content.substr(0, end)) << end;
    done = end;
  }
}

TEST_P(FileSystemContract, LargeFilesComputeChecksums) {
  const std::string content = scrambled_bytes(1'234'567);
  const auto file = files_.create_large(path("a"), content.size());
  file->append("head");
  uint32_t crc = 7;
  for (size_t done = 0; done < content.size();) {
    const auto piece = std::string_view(content).substr(done, 1 + done * 3);
    crc = file->append_with_crc32c(crc, std::as_bytes(std::span(piece)));
    done += piece.size();
  }
  file->close();
  EXPECT_EQ(crc, internal::extend_crc32c(7, std::as_bytes(std::span(content))));
  EXPECT_TRUE(read_file(files_, path("a")) == "head" + content);
}

TEST_P(FileSystemContract, LargeFilesAreEmptyWithoutAppend) {
  write(path("a"), "old");
  files_.create_large(path("a"), 2'000'000)->sync();
  files_.create_large(path("b"), 2'000'000)->close();
  files_.create_large(path("c"), 0)->close();
  for (const char* const name : {"a", "b", "c"}) EXPECT_EQ(files_.file_size(path(name)), 0) << name;
}

TEST_P(FileSystemContract, RejectsWritesToAClosedLargeFile) {
  for (const uint64_t expected : {0, 2'000'000}) {
    const auto file = files_.create_large(path("a"), expected);
    file->append("x");
    file->close();
    EXPECT_THROW(file->append("x"), FailedPreconditionError);
    EXPECT_THROW(file->append_with_crc32c(0, {}), FailedPreconditionError);
    EXPECT_THROW(file->sync(), FailedPreconditionError);
    EXPECT_THROW(file->close(), FailedPreconditionError);
    EXPECT_EQ(read_file(files_, path("a")), "x");
  }
}

TEST_P(FileSystemContract, CreatesNoLargeFileWithoutRoom) {
  const uint64_t too_much = uint64_t{1} << 60;
  expect_error<ResourceExhaustedError>(path("a"),
                                       [&] { files_.create_large(path("a"), too_much); });
  EXPECT_THAT(files_.list(scratch_.directory), ::testing::Not(::testing::Contains("a")));
}

TEST_P(FileSystemContract, NamesALargeFileThatCannotBeCreated) {
  files_.create_directories(path("d"));
  for (const uint64_t expected : {0, 2'000'000}) {
    const std::string file = path("missing/file");
    expect_error<NotFoundError>(file, [&] { files_.create_large(file, expected); });
    expect_error<FailedPreconditionError>(path("d"),
                                          [&] { files_.create_large(path("d"), expected); });
  }
}

TEST_P(FileSystemContract, ReadsAtEveryOffset) {
  write(path("a"), "0123456789");
  for (uint64_t offset = 0; offset <= 10; ++offset)
    for (size_t length = 0; offset + length <= 10; ++length)
      EXPECT_EQ(read(offset, length, path("a")), std::string("0123456789").substr(offset, length));
}

TEST_P(FileSystemContract, ReadingBeyondTheEndIsDataLoss) {
  write(path("a"), "0123456789");
  for (const auto& [offset, length] : std::vector<std::pair<uint64_t, size_t>>{
           {0, 11}, {9, 2}, {10, 1}, {11, 1}, {uint64_t{1} << 40, 1}, {UINT64_MAX, 1}})
    expect_error<DataLossError>(path("a"),
                                [&, at = offset, n = length] { read(at, n, path("a")); });
}

TEST_P(FileSystemContract, StreamsAPartOfAFile) {
  write(path("a"), "0123456789");
  const auto file = files_.open(path("a"));
  for (uint64_t offset = 0; offset <= 10; ++offset) {
    const auto stream = file->stream(offset, 10 - offset);
    for (uint64_t place = offset; place < 10; ++place) {
      std::byte byte{};
      if (place % 3 == 0) {
        stream->skip(1);
      } else if (place % 3 == 1) {
        stream->read({&byte, 1});
        EXPECT_EQ(static_cast<char>(byte), static_cast<char>('0' + place));
      } else {
        const uint32_t crc = stream->read_with_crc32c(5, {&byte, 1});
        EXPECT_EQ(crc, internal::extend_crc32c(5, {&byte, 1}));
        EXPECT_EQ(static_cast<char>(byte), static_cast<char>('0' + place));
      }
    }
  }
}

TEST_P(FileSystemContract, AStreamBeyondTheEndIsDataLoss) {
  write(path("a"), "0123456789");
  const auto file = files_.open(path("a"));
  std::vector<std::byte> bytes(4);
  expect_error<DataLossError>(path("a"), [&] { file->stream(7, 4)->read(bytes); });
  expect_error<DataLossError>(path("a"), [&] { file->stream(7, 4)->read_with_crc32c(0, bytes); });
  expect_error<DataLossError>(path("a"), [&] { file->stream(UINT64_MAX - 4, 4)->read(bytes); });
}

TEST_P(FileSystemContract, ReadsFromManyThreads) {
  write(path("a"), "0123456789");
  const auto file = files_.open(path("a"));
  std::vector<std::jthread> readers;
  for (size_t i = 0; i < 10; ++i)
    readers.emplace_back([&file, i] {
      std::byte byte;
      file->read_at(i, {&byte, 1});
      EXPECT_EQ(static_cast<char>(byte), static_cast<char>('0' + i));
    });
}

TEST_P(FileSystemContract, NamesMissingFiles) {
  const std::string missing = path("missing");
  expect_error<NotFoundError>(missing, [&] { files_.open(missing); });
  expect_error<NotFoundError>(missing, [&] { files_.file_size(missing); });
  expect_error<NotFoundError>(missing, [&] { files_.modified_time(missing); });
  expect_error<NotFoundError>(missing, [&] { files_.list(missing); });
  expect_error<NotFoundError>(missing, [&] { files_.remove(missing); });
  expect_error<NotFoundError>(missing, [&] { files_.rename(missing, path("a")); });
  expect_error<NotFoundError>(missing, [&] { files_.truncate(missing, 0); });
  expect_error<NotFoundError>(missing, [&] { files_.sync_file(missing); });
  EXPECT_FALSE(files_.exists(missing));
  expect_error<NotFoundError>(missing, [&] { files_.sync_directory(missing); });
  expect_error<NotFoundError>(missing, [&] { files_.free_bytes(missing); });
}

TEST_P(FileSystemContract, CreatesNoFileInAMissingDirectory) {
  const std::string file = path("missing/file");
  expect_error<NotFoundError>(file, [&] { files_.create(file); });
  expect_error<NotFoundError>(file, [&] { files_.append_to(file); });
  expect_error<NotFoundError>(file, [&] { files_.try_lock(file); });
  write(path("a"), "");
  expect_error<NotFoundError>(path("a"), [&] { files_.rename(path("a"), file); });
}

TEST_P(FileSystemContract, RejectsAFileAsADirectory) {
  write(path("file"), "x");
  expect_error<NotFoundError>(path("file/a"), [&] { files_.create(path("file/a")); });
  expect_error<NotFoundError>(path("file"), [&] { files_.list(path("file")); });
  expect_error<NotFoundError>(path("file"), [&] { files_.sync_directory(path("file")); });
  expect_error<NotFoundError>(path("file/a"), [&] { files_.create_directories(path("file/a")); });
  expect_error<AlreadyExistsError>(path("file"), [&] { files_.create_directories(path("file")); });
  EXPECT_FALSE(files_.exists(path("file/a")));
}

TEST_P(FileSystemContract, RejectsADirectoryAsAFile) {
  files_.create_directories(path("d"));
  expect_error<FailedPreconditionError>(path("d"), [&] { files_.open(path("d")); });
  expect_error<FailedPreconditionError>(path("d"), [&] { files_.create(path("d")); });
  expect_error<FailedPreconditionError>(path("d"), [&] { files_.create_large(path("d"), 0); });
  expect_error<FailedPreconditionError>(path("d"), [&] { files_.append_to(path("d")); });
  expect_error<FailedPreconditionError>(path("d"), [&] { files_.truncate(path("d"), 0); });
  expect_error<FailedPreconditionError>(path("d"), [&] { files_.sync_file(path("d")); });
  expect_error<FailedPreconditionError>(path("d"), [&] { files_.try_lock(path("d")); });
}

TEST_P(FileSystemContract, ReportsWhatExists) {
  EXPECT_FALSE(files_.exists(path("a")));
  write(path("a"), "");
  EXPECT_TRUE(files_.exists(path("a")));
  EXPECT_TRUE(files_.exists(scratch_.directory));
  EXPECT_FALSE(files_.exists(path("a/b")));
  files_.remove(path("a"));
  EXPECT_FALSE(files_.exists(path("a")));
}

TEST_P(FileSystemContract, ListsNamesInOrder) {
  for (const char* const name : {"b", "a", "c", ".hidden"}) write(path(name), "");
  files_.create_directories(path("d/e"));
  EXPECT_THAT(files_.list(scratch_.directory),
              ::testing::ElementsAre(".hidden", "a", "b", "c", "d"));
  EXPECT_THAT(files_.list(path("d/e")), ::testing::IsEmpty());
}

TEST_P(FileSystemContract, RenamesOverAnOldFile) {
  write(path("new"), "new");
  write(path("old"), "old");
  files_.rename(path("new"), path("old"));
  EXPECT_EQ(read_file(files_, path("old")), "new");
  EXPECT_THAT(files_.list(scratch_.directory), ::testing::ElementsAre("old"));
}

TEST_P(FileSystemContract, RenamesIntoAnotherDirectory) {
  files_.create_directories(path("d"));
  write(path("a"), "a");
  files_.rename(path("a"), path("d/b"));
  EXPECT_EQ(read_file(files_, path("d/b")), "a");
  EXPECT_FALSE(files_.exists(path("a")));
}

TEST_P(FileSystemContract, RenamesToItself) {
  write(path("a"), "a");
  files_.rename(path("a"), path("a"));
  EXPECT_EQ(read_file(files_, path("a")), "a");
}

TEST_P(FileSystemContract, RenamesDirectories) {
  files_.create_directories(path("d"));
  write(path("d/a"), "a");
  files_.rename(path("d"), path("e"));
  EXPECT_EQ(read_file(files_, path("e/a")), "a");
  EXPECT_FALSE(files_.exists(path("d")));
}

TEST_P(FileSystemContract, RejectsInvalidRenames) {
  files_.create_directories(path("d/inner"));
  files_.create_directories(path("empty"));
  write(path("a"), "a");
  expect_error<UnknownError>(path("a"), [&] { files_.rename(path("a"), path("d")); });
  expect_error<NotFoundError>(path("d"), [&] { files_.rename(path("d"), path("a")); });
  expect_error<AlreadyExistsError>(path("empty"), [&] { files_.rename(path("empty"), path("d")); });
  expect_error<UnknownError>(path("d"), [&] { files_.rename(path("d"), path("d/inner/d")); });
  EXPECT_EQ(read_file(files_, path("a")), "a");
}

TEST_P(FileSystemContract, AFileHasItsBytesUntilItsLastNameIsRemoved) {
  if (!has_links()) GTEST_SKIP() << "files have one name each";
  write(path("a"), "one");
  files_.link(path("a"), path("b"));
  EXPECT_EQ(read_file(files_, path("b")), "one");
  EXPECT_EQ(files_.modified_time(path("b")), files_.modified_time(path("a")));
  files_.sync_directory(scratch_.directory);
  files_.remove(path("a"));
  EXPECT_EQ(read_file(files_, path("b")), "one");
  files_.rename(path("b"), path("a"));
  files_.append_to(path("a"))->append(" and only");
  EXPECT_EQ(read_file(files_, path("a")), "one and only");
  EXPECT_THAT(files_.list(scratch_.directory), ::testing::ElementsAre("a"));
}

TEST_P(FileSystemContract, AWriteToOneNameOfAFileLeavesTheOthers) {
  if (!has_links()) GTEST_SKIP() << "files have one name each";
  write(path("a"), "one");
  for (const char* const name : {"appended", "created", "large", "truncated"})
    files_.link(path("a"), path(name));
  files_.append_to(path("appended"))->append(" more");
  files_.create(path("created"))->append("new");
  const auto large = files_.create_large(path("large"), 3);
  large->append("new");
  large->close();
  files_.truncate(path("truncated"), 1);
  EXPECT_EQ(read_file(files_, path("appended")), "one more");
  EXPECT_EQ(read_file(files_, path("created")), "new");
  EXPECT_EQ(read_file(files_, path("large")), "new");
  EXPECT_EQ(read_file(files_, path("truncated")), "o");
  EXPECT_EQ(read_file(files_, path("a")), "one");
  EXPECT_THAT(files_.list(scratch_.directory),
              ::testing::ElementsAre("a", "appended", "created", "large", "truncated"));
}

// As POSIX says it.
TEST_P(FileSystemContract, ARenameToAnotherNameOfTheFileDoesNothing) {
  if (!has_links()) GTEST_SKIP() << "files have one name each";
  write(path("a"), "one");
  files_.link(path("a"), path("b"));
  files_.rename(path("a"), path("b"));
  EXPECT_THAT(files_.list(scratch_.directory), ::testing::ElementsAre("a", "b"));
}

TEST_P(FileSystemContract, RejectsInvalidLinks) {
  if (!has_links()) GTEST_SKIP() << "files have one name each";
  write(path("a"), "one");
  write(path("b"), "two");
  files_.create_directories(path("d"));
  expect_error<AlreadyExistsError>(path("a"), [&] { files_.link(path("a"), path("b")); });
  expect_error<NotFoundError>(path("c"), [&] { files_.link(path("c"), path("e")); });
  expect_error<NotFoundError>(path("a"), [&] { files_.link(path("a"), path("c/e")); });
  expect_error<FailedPreconditionError>(path("d"), [&] { files_.link(path("d"), path("e")); });
  EXPECT_EQ(read_file(files_, path("b")), "two");
  EXPECT_THAT(files_.list(scratch_.directory), ::testing::ElementsAre("a", "b", "d"));
}

TEST_P(FileSystemContract, ASymbolicLinkLeadsToItsTarget) {
  if (!has_symbolic_links()) GTEST_SKIP() << "there are no symbolic links";
  files_.create_directories(path("d"));
  write(path("d/a"), "one");
  files_.make_symbolic_link(path("d/a"), path("b"));
  EXPECT_EQ(files_.read_symbolic_link(path("b")), path("d/a"));
  EXPECT_EQ(files_.read_symbolic_link(path("d/a")), std::nullopt);
  EXPECT_EQ(files_.read_symbolic_link(path("d")), std::nullopt);
  EXPECT_EQ(files_.read_symbolic_link(path("missing")), std::nullopt);
  EXPECT_EQ(files_.read_symbolic_link(path("missing/b")), std::nullopt);
  EXPECT_EQ(read_file(files_, path("b")), "one");
  EXPECT_EQ(files_.file_size(path("b")), 3);
  EXPECT_EQ(files_.modified_time(path("b")), files_.modified_time(path("d/a")));
}

TEST_P(FileSystemContract, ASymbolicLinkIsRenamedAndRemovedWithoutItsTarget) {
  if (!has_symbolic_links()) GTEST_SKIP() << "there are no symbolic links";
  write(path("a"), "one");
  files_.make_symbolic_link(path("a"), path("b"));
  files_.rename(path("b"), path("c"));
  EXPECT_EQ(files_.read_symbolic_link(path("c")), path("a"));
  EXPECT_EQ(read_file(files_, path("a")), "one");
  files_.sync_directory(scratch_.directory);
  files_.remove(path("a"));
  EXPECT_EQ(files_.read_symbolic_link(path("c")), path("a"));
  EXPECT_TRUE(files_.exists(path("c"))) << "although it leads nowhere";
  expect_error<FailedPreconditionError>(path("c"), [&] { files_.open(path("c")); });
  files_.remove(path("c"));
  EXPECT_THAT(files_.list(scratch_.directory), ::testing::IsEmpty());
}

TEST_P(FileSystemContract, WritesThroughNoSymbolicLink) {
  if (!has_symbolic_links()) GTEST_SKIP() << "there are no symbolic links";
  write(path("a"), "one");
  files_.make_symbolic_link(path("a"), path("b"));
  files_.make_symbolic_link(path("b"), path("loop"));
  EXPECT_EQ(read_file(files_, path("loop")), "one");
  expect_error<FailedPreconditionError>(path("b"), [&] { files_.create(path("b")); });
  expect_error<FailedPreconditionError>(path("b"), [&] { files_.append_to(path("b")); });
  write(path("c"), "two");
  expect_error<FailedPreconditionError>(path("b"), [&] { files_.rename(path("c"), path("b")); });
  expect_error<FailedPreconditionError>(path("b"), [&] { replace_file(files_, path("b"), "two"); });
  expect_error<FailedPreconditionError>(path("b"), [&] { files_.link(path("b"), path("e")); });
  EXPECT_EQ(files_.read_symbolic_link(path("b")), path("a"));
  expect_error<AlreadyExistsError>(path("a"),
                                   [&] { files_.make_symbolic_link(path("b"), path("a")); });
  expect_error<NotFoundError>(path("d/b"),
                              [&] { files_.make_symbolic_link(path("a"), path("d/b")); });
  EXPECT_EQ(read_file(files_, path("a")), "one");
}

TEST_P(FileSystemContract, AnOpenFileOutlivesItsName) {
  const auto writer = files_.create(path("a"));
  writer->append("still ");
  const auto reader = files_.open(path("a"));
  files_.remove(path("a"));
  writer->append("there");
  EXPECT_EQ(reader->size(), 11);
}

TEST_P(FileSystemContract, AnOpenFileFollowsARename) {
  const auto file = files_.create(path("a"));
  files_.rename(path("a"), path("b"));
  file->append("x");
  EXPECT_EQ(read_file(files_, path("b")), "x");
}

TEST_P(FileSystemContract, RemovesOnlyEmptyDirectories) {
  files_.create_directories(path("d/e"));
  expect_error<AlreadyExistsError>(path("d"), [&] { files_.remove(path("d")); });
  files_.remove(path("d/e"));
  files_.remove(path("d"));
  EXPECT_FALSE(files_.exists(path("d")));
}

TEST_P(FileSystemContract, Truncates) {
  write(path("a"), "0123456789");
  files_.truncate(path("a"), 10);
  EXPECT_EQ(read_file(files_, path("a")), "0123456789");
  files_.truncate(path("a"), 4);
  EXPECT_EQ(read_file(files_, path("a")), "0123");
  files_.append_to(path("a"))->append("x");
  EXPECT_EQ(read_file(files_, path("a")), "0123x");
}

TEST_P(FileSystemContract, SyncsAFileThatIsStillWritten) {
  const auto file = files_.create(path("a"));
  file->append("0123");
  file->flush();
  files_.sync_file(path("a"));
  file->append("4567");
  file->close();
  EXPECT_EQ(read_file(files_, path("a")), "01234567");
}

// Or says that it cannot.
TEST_P(FileSystemContract, ClonesAFile) {
  write(path("a"), "0123");
  try {
    files_.clone(path("a"), path("b"));
  } catch (const UnimplementedError&) {
    EXPECT_FALSE(files_.exists(path("b")));
    return;
  }
  write(path("a"), "other");
  EXPECT_EQ(read_file(files_, path("b")), "0123");
  files_.append_to(path("b"))->append("45");
  EXPECT_EQ(read_file(files_, path("a")), "other");
  expect_error<AlreadyExistsError>(path("b"), [&] { files_.clone(path("a"), path("b")); });
  expect_error<NotFoundError>(path("missing"), [&] { files_.clone(path("missing"), path("c")); });
}

TEST_P(FileSystemContract, AcceptsExistingDirectories) {
  files_.create_directories(path("a/b/c"));
  files_.create_directories(path("a/b/c"));
  files_.create_directories(path("a/b/c/"));
  files_.create_directories(path("a//b/d//"));
  EXPECT_THAT(files_.list(path("a/b")), ::testing::ElementsAre("c", "d"));
}

TEST_P(FileSystemContract, SyncsDirectories) {
  write(path("a"), "");
  EXPECT_NO_THROW(files_.sync_directory(scratch_.directory));
}

TEST_P(FileSystemContract, TreatsAnEmptyPathAsTheCurrentDirectory) {
  EXPECT_TRUE(files_.exists(""));
  EXPECT_NO_THROW(files_.list(""));
  EXPECT_NO_THROW(files_.create_directories(""));
  EXPECT_NO_THROW(files_.sync_directory(""));
  EXPECT_GT(files_.free_bytes(""), 0);
}

TEST_P(FileSystemContract, ReportsModificationTimes) {
  write(path("a"), "");
  const double made = files_.modified_time(path("a"));
  EXPECT_GT(made, 9e8);  // 1998.
  files_.append_to(path("a"))->append("x");
  EXPECT_GE(files_.modified_time(path("a")), made);
}

TEST_P(FileSystemContract, ReportsTheFreeSpace) {
  EXPECT_GT(files_.free_bytes(scratch_.directory), 0);
  write(path("a"), "");
  EXPECT_GT(files_.free_bytes(path("a")), 0);
}

TEST_P(FileSystemContract, RejectsASecondLock) {
  auto lock = files_.try_lock(path("lock"));
  ASSERT_NE(lock, nullptr);
  EXPECT_TRUE(files_.exists(path("lock")));
  EXPECT_EQ(files_.try_lock(path("lock")), nullptr);
  EXPECT_EQ(files_.try_lock(path("lock")), nullptr);
  EXPECT_NE(files_.try_lock(path("other")), nullptr);
  lock.reset();
  EXPECT_NE(files_.try_lock(path("lock")), nullptr);
}

TEST_P(FileSystemContract, ALockSurvivesReadingAndWritingItsFile) {
  const auto lock = files_.try_lock(path("lock"));
  write(path("lock"), "mine");
  EXPECT_EQ(read_file(files_, path("lock")), "mine");
  EXPECT_EQ(files_.try_lock(path("lock")), nullptr);
}

TEST_P(FileSystemContract, GivesALockToOnlyOneOfManyThreads) {
  std::vector<std::unique_ptr<FileLock>> locks(8);
  {
    std::vector<std::jthread> threads;
    for (auto& lock : locks)
      threads.emplace_back([this, &lock] { lock = files_.try_lock(path("lock")); });
  }
  EXPECT_EQ(std::ranges::count_if(locks, [](const auto& lock) { return lock != nullptr; }), 1);
}

TEST_P(FileSystemContract, ReplacesAFile) {
  replace_file(files_, path("a"), "old");
  replace_file(files_, path("a"), "new");
  EXPECT_EQ(read_file(files_, path("a")), "new");
  EXPECT_THAT(files_.list(scratch_.directory), ::testing::ElementsAre("a"));
}

TEST_P(FileSystemContract, LeavesNothingWhenAReplacementFails) {
  files_.create_directories(path("d/e"));
  EXPECT_THROW(replace_file(files_, path("d"), "a file over a directory"), Error);
  EXPECT_THAT(files_.list(scratch_.directory), ::testing::ElementsAre("d"));
}

TEST_P(FileSystemContract, ALockWritesToItsFileAndNoticesItsLoss) {
  const auto lock = files_.try_lock(path("lock"));
  lock->write("a long text");
  EXPECT_THAT(read_file(files_, path("lock")), ::testing::StartsWith("a long text"));
  lock->write("short");
  EXPECT_THAT(read_file(files_, path("lock")),
              ::testing::AllOf(::testing::StartsWith("short"),
                               ::testing::Not(::testing::HasSubstr("text"))));
  EXPECT_TRUE(lock->is_held());
  files_.remove(path("lock"));
  EXPECT_FALSE(lock->is_held());
  const auto other = files_.try_lock(path("lock"));
  EXPECT_TRUE(other->is_held());
  EXPECT_FALSE(lock->is_held());
}

TEST_P(FileSystemContract, ADirectoryAccessesTheFilesOfItsPath) {
  files_.create_directories(path("d/inner"));
  write(path("d/a"), "one");
  const auto directory = files_.open_directory(path("d"));
  EXPECT_EQ(directory->path(), path("d"));
  EXPECT_EQ(read_file(*directory, path("d/a")), "one");
  EXPECT_THAT(directory->list(path("d")), ::testing::ElementsAre("a", "inner"));
  directory->create(path("d/b"))->append("two");
  directory->create_large(path("d/c"), 3)->append("two");
  directory->append_to(path("d/b"))->append("!");
  directory->sync_directory(path("d"));
  directory->rename(path("d/b"), path("d/inner/b"));
  EXPECT_TRUE(directory->exists(path("d")));
  EXPECT_FALSE(directory->exists(path("d/b")));
  EXPECT_EQ(directory->file_size(path("d/inner/b")), 4);
  EXPECT_EQ(read_file(files_, path("d/inner/b")), "two!");
  if (has_links()) {
    directory->link(path("d/a"), path("d/linked"));
    directory->remove(path("d/linked"));
  }
  if (has_symbolic_links()) {
    directory->make_symbolic_link(path("a"), path("d/symbolic"));
    EXPECT_EQ(directory->read_symbolic_link(path("d/symbolic")), path("a"));
    EXPECT_TRUE(directory->exists(path("d/symbolic"))) << "although it leads nowhere";
    directory->remove(path("d/symbolic"));
  }
  directory->truncate(path("d/inner/b"), 1);
  directory->remove(path("d/c"));
  EXPECT_EQ(directory->modified_time(path("d/a")), files_.modified_time(path("d/a")));
  EXPECT_GT(directory->free_bytes(path("d")), 0);
  directory->create_directories(path("d"));
  directory->create_directories(path("d/more/of/it"));
  EXPECT_TRUE(is_directory(files_, path("d/more/of/it")));
  EXPECT_THAT(directory->open_directory(path("d/inner"))->list(path("d/inner")),
              ::testing::ElementsAre("b"));
  EXPECT_NO_THROW(directory->check_in_place());
}

TEST_P(FileSystemContract, ADirectoryRejectsOtherPaths) {
  files_.create_directories(path("d"));
  write(path("a"), "one");
  const auto directory = files_.open_directory(path("d"));
  for (const std::string& other : {path("a"), path("dd"), path("d/../a"), std::string("/etc")}) {
    expect_error<InvalidArgumentError>(other, [&] { directory->open(other); });
    expect_error<InvalidArgumentError>(other, [&] { directory->create(other); });
    expect_error<InvalidArgumentError>(other, [&] { directory->remove(other); });
    expect_error<InvalidArgumentError>(other, [&] { directory->rename(path("d/x"), other); });
    if (has_links())
      expect_error<InvalidArgumentError>(other, [&] { directory->link(other, path("d/x")); });
    expect_error<InvalidArgumentError>(other, [&] { directory->list(other); });
  }
  EXPECT_EQ(read_file(files_, path("a")), "one");
}

TEST_P(FileSystemContract, OpensOnlyDirectoriesAsDirectories) {
  write(path("a"), "one");
  expect_error<NotFoundError>(path("a"), [&] { files_.open_directory(path("a")); });
  expect_error<NotFoundError>(path("missing"), [&] { files_.open_directory(path("missing")); });
}

TEST_P(FileSystemContract, ADirectoryStaysTheSameWhenMoved) {
  files_.create_directories(path("d"));
  write(path("d/a"), "one");
  const auto directory = files_.open_directory(path("d"));
  EXPECT_EQ(directory->identity(), files_.open_directory(path("d"))->identity());
  files_.rename(path("d"), path("moved"));
  EXPECT_THROW(directory->check_in_place(), FailedPreconditionError);
  files_.create_directories(path("d"));
  write(path("d/a"), "another");
  EXPECT_THROW(directory->check_in_place(), FailedPreconditionError);
  EXPECT_NE(directory->identity(), files_.open_directory(path("d"))->identity());
  EXPECT_EQ(directory->identity(), files_.open_directory(path("moved"))->identity());
  EXPECT_EQ(read_file(*directory, path("d/a")), "one");
  directory->create(path("d/b"))->append("two");
  directory->remove(path("d/a"));
  EXPECT_EQ(read_file(files_, path("moved/b")), "two");
  EXPECT_EQ(read_file(files_, path("d/a")), "another");
  EXPECT_THAT(directory->list(path("d")), ::testing::ElementsAre("b"));
}

TEST_P(FileSystemContract, ARemovedDirectoryIsUnusable) {
  files_.create_directories(path("d"));
  const auto directory = files_.open_directory(path("d"));
  files_.remove(path("d"));
  EXPECT_THROW(directory->check_in_place(), FailedPreconditionError);
  expect_error<NotFoundError>(path("d/a"), [&] { directory->create(path("d/a")); });
}

}  // namespace crochet::inline v0
