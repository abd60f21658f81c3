// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/parallel_read.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/no_threads.h"
#include "tests/support/random_bytes.h"

namespace crochet {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr size_t kMiB = size_t{1} << 20;

class ParallelReadTest : public testing::Test {
 protected:
  std::span<std::byte> destination(size_t num_bytes) {
    found_.assign(num_bytes, '?');
    return std::as_writable_bytes(std::span(found_));
  }

  void expect_reads(uint64_t offset, size_t num_bytes) {
    SCOPED_TRACE(num_bytes);
    const std::string expected = content_.substr(offset, num_bytes);
    internal::read_in_parallel(*file_, offset, destination(num_bytes));
    EXPECT_TRUE(found_ == expected);
    const uint32_t crc =
        internal::read_in_parallel_with_crc32c(*file_, offset, 7, destination(num_bytes));
    EXPECT_TRUE(found_ == expected);
    EXPECT_EQ(crc, internal::extend_crc32c(7, std::as_bytes(std::span(expected))));
  }

  const TempDirectory directory_;
  const std::string path_ = directory_ / "file";
  const std::string content_ = random_bytes(9 * kMiB + 12345);
  const std::unique_ptr<ReadableFile> file_ = [this] {
    FileSystem::posix().create(path_)->append(content_);
    return FileSystem::posix().open(path_);
  }();
  std::string found_;
};

TEST_F(ParallelReadTest, ReadsWhatOneThreadReads) {
  for (const size_t num_bytes :
       {size_t{0}, size_t{1}, kMiB, 2 * kMiB - 1, 2 * kMiB, 2 * kMiB + 1, 5 * kMiB + 3, 9 * kMiB})
    expect_reads(12345, num_bytes);
}

TEST_F(ParallelReadTest, ReadsByItselfIfNoThreadCanBeStarted) {
  const NoThreads none;
  expect_reads(0, content_.size());
}

TEST_F(ParallelReadTest, ThrowsTheErrorOfAnyThread) {
  for (const size_t size : {content_.size() - 1, size_t{10}}) {
    FileSystem::posix().truncate(path_, size);
    const auto is_short =
        ThrowsMessage<DataLossError>(HasSubstr("the file has " + std::to_string(size) + " bytes"));
    EXPECT_THAT([&] { internal::read_in_parallel(*file_, 0, destination(content_.size())); },
                is_short);
    EXPECT_THAT(
        [&] { internal::read_in_parallel_with_crc32c(*file_, 0, 0, destination(content_.size())); },
        is_short);
  }
}

}  // namespace
}  // namespace crochet
