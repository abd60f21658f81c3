// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/posix_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/io/internal/open_file.h"
#include "crochet/io/internal/page_cache.h"
#include "crochet/io/internal/posix_files.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/forked_child.h"
#include "tests/support/random_bytes.h"

namespace crochet::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// More than one lane holds.
const std::string& large_content() {
  static const std::string content = random_bytes((size_t{1} << 20) * 18 + 12345);
  return content;
}

// True if it is no longer in memory.
bool drop_from_page_cache(const std::string& path, uint64_t num_bytes) {
  const FileDescriptor file = open_file({path, path}, OpenFor::kReading);
  return ::fdatasync(file.get()) == 0 &&
         ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) == 0 &&
         part_in_page_cache(file.get(), 0, num_bytes) == 0;
}

class PosixStreamsTest : public testing::TestWithParam<ReadWay> {
 protected:
  PosixStreamsTest() { FileSystem::posix().create(path_)->append(content_); }

  void expect_reads(uint64_t offset, uint64_t num_bytes) {
    const PosixReadableFile file(path_, streams_);
    const auto stream = file.stream(offset, num_bytes);
    std::string found(num_bytes, '?');
    const auto all = std::as_writable_bytes(std::span(found));
    const size_t half = num_bytes / 2;
    stream->read(all.first(half));
    const uint32_t crc = stream->read_with_crc32c(7, all.subspan(half));
    EXPECT_TRUE(found == content_.substr(offset, num_bytes)) << num_bytes << " at " << offset;
    EXPECT_EQ(crc, extend_crc32c(7, all.subspan(half)));
  }

  const LogCapture log_;
  const TempDirectory directory_;
  const std::string path_ = directory_ / "file";
  const std::string& content_ = large_content();
  PosixStreams streams_{GetParam()};
};

std::string name_of(const testing::TestParamInfo<ReadWay>& way) {
  constexpr std::array kNames = {"DirectIfCold", "Direct", "Buffered"};
  return kNames[static_cast<size_t>(way.param)];
}

INSTANTIATE_TEST_SUITE_P(Ways, PosixStreamsTest,
                         testing::Values(ReadWay::kDirectIfCold, ReadWay::kDirect,
                                         ReadWay::kBuffered),
                         name_of);

TEST_P(PosixStreamsTest, ReadsEveryPart) {
  const uint64_t size = content_.size();
  for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{4095}, uint64_t{1} << 20, size})
    for (const uint64_t length :
         {uint64_t{0}, uint64_t{1}, uint64_t{4097}, (uint64_t{1} << 20) + 1, size})
      expect_reads(offset, std::min(length, size - offset));
}

TEST_P(PosixStreamsTest, ReadsUncachedFiles) {
  if (!drop_from_page_cache(path_, content_.size())) GTEST_SKIP() << "files live in memory here";
  expect_reads(0, content_.size());
  if (GetParam() == ReadWay::kBuffered || !log_.lines().empty()) return;
  const FileDescriptor file = open_file({path_, path_}, OpenFor::kReading);
  EXPECT_EQ(part_in_page_cache(file.get(), 0, content_.size()), 0);
}

TEST_P(PosixStreamsTest, SkipsAndReads) {
  const PosixReadableFile file(path_, streams_);
  const auto stream = file.stream(10, content_.size() - 10);
  std::string found(3, '?');
  uint64_t position = 10;
  for (const uint64_t gap : {uint64_t{0}, uint64_t{1}, uint64_t{5} << 20, uint64_t{12} << 20}) {
    stream->skip(gap);
    position += gap;
    stream->read(std::as_writable_bytes(std::span(found)));
    EXPECT_EQ(found, content_.substr(position, 3)) << position;
    position += 3;
  }
}

TEST_P(PosixStreamsTest, BeyondTheEndIsDataLoss) {
  const PosixReadableFile file(path_, streams_);
  std::string found(100, '?');
  const auto bytes = std::as_writable_bytes(std::span(found));
  for (const uint64_t offset :
       {uint64_t{content_.size() - 99}, uint64_t{1} << 40, UINT64_MAX - 100})
    EXPECT_THAT([&] { file.stream(offset, 100)->read_with_crc32c(0, bytes); },
                ThrowsMessage<DataLossError>(HasSubstr(
                    fmt::format("{}: cannot read 100 bytes at offset {}: the file has {} bytes",
                                path_, offset, content_.size()))));
}

TEST_P(PosixStreamsTest, ReportsATruncatedFileAsDataLoss) {
  const PosixReadableFile file(path_, streams_);
  const auto stream = file.stream(0, content_.size());
  std::string found(content_.size(), '?');
  const auto bytes = std::as_writable_bytes(std::span(found));
  stream->read(bytes.first(10));
  FileSystem::posix().truncate(path_, 10);
  EXPECT_THAT([&] { stream->read(bytes.subspan(10)); },
              ThrowsMessage<DataLossError>(HasSubstr("the file has 10 bytes")));
}

TEST_P(PosixStreamsTest, ManyStreamsOfOneFileAreIndependent) {
  const PosixReadableFile file(path_, streams_);
  std::vector<std::unique_ptr<ReadStream>> streams;
  for (uint64_t i = 0; i < 5; ++i) streams.push_back(file.stream(i << 20, uint64_t{8} << 20));
  std::string found(size_t{8} << 20, '?');
  for (size_t i = 5; i-- > 0;) {
    streams[i]->read(std::as_writable_bytes(std::span(found)));
    EXPECT_TRUE(found == content_.substr(i << 20, found.size())) << i;
  }
}

TEST_P(PosixStreamsTest, ReadsAnUnlinkedFile) {
  const PosixReadableFile file(path_, streams_);
  FileSystem::posix().remove(path_);
  FileSystem::posix().create(path_)->append(std::string(content_.size(), 'x'));
  const auto stream = file.stream(0, content_.size());
  std::string found(content_.size(), '?');
  stream->read(std::as_writable_bytes(std::span(found)));
  EXPECT_TRUE(found == content_);
}

TEST_P(PosixStreamsTest, StreamsDestroyedEarlyLeakNothing) {
  for (int i = 0; i < 20; ++i) {
    const PosixReadableFile file(path_, streams_);
    std::byte byte{};
    file.stream(0, content_.size())->read({&byte, 1});
  }
  expect_reads(0, content_.size());
}

// A closed descriptor cannot be reopened, which looks like a refusal.
TEST(PosixStreamsRefusedTest, ReadsThroughThePageCacheAndLogsItOnce) {
  constexpr int kNotOpen = 1 << 30;
  const TempDirectory directory;
  const std::string path = directory / "file";
  const std::string content = random_bytes(size_t{3} << 20);
  FileSystem::posix().create(path)->append(content);
  const LogCapture log;
  PosixStreams streams(ReadWay::kDirect);
  const PosixReadableFile file(path, streams);
  for (int i = 0; i < 2; ++i) {
    const auto stream = streams.open(file, kNotOpen, path, streams.rings(), 0, content.size());
    std::string found(content.size(), '?');
    stream->read(std::as_writable_bytes(std::span(found)));
    EXPECT_TRUE(found == content);
  }
  EXPECT_EQ(log.lines().size(), 1);
  EXPECT_TRUE(log.contains("read through the page cache"));
}

TEST(IoRingPoolTest, ReusesReturnedRings) {
  IoRingPool pool;
  const auto make = [] {
    int error = 0;
    return IoRing::make(DirectCalls::real(), 2, kDirectAlignment, error);
  };
  std::unique_ptr<IoRing> ring = make();
  if (!ring) GTEST_SKIP() << "io_uring is refused here";
  EXPECT_EQ(pool.take(), nullptr);
  const IoRing* const first = ring.get();
  pool.give_back(std::move(ring));
  EXPECT_EQ(pool.take().get(), first);
  EXPECT_EQ(pool.take(), nullptr);
}

TEST(PosixStreamsTest, KeepsRingsWhileAFileIsOpen) {
  PosixStreams streams;
  const std::weak_ptr<IoRingPool> rings = streams.rings();
  EXPECT_TRUE(rings.expired());
  const auto first = streams.rings();
  EXPECT_EQ(streams.rings(), first);
}

TEST(PageCacheTest, FindsPagesJustWritten) {
  const TempDirectory directory;
  FileSystem::posix().create(directory / "file")->append(std::string(100'000, 'x'));
  const FileDescriptor file =
      open_file({directory / "file", directory / "file"}, OpenFor::kReading);
  EXPECT_EQ(part_in_page_cache(file.get(), 0, 100'000), 1);
  EXPECT_EQ(part_in_page_cache(file.get(), 99'999, 1), 1);
  EXPECT_EQ(part_in_page_cache(file.get(), 5'000, 0), 0);
}

TEST(PageCacheTest, FindsThatPagesWereDropped) {
  const TempDirectory directory;
  const std::string path = directory / "file";
  FileSystem::posix().create(path)->append(std::string(400'000, 'x'));
  if (!drop_from_page_cache(path, 400'000)) GTEST_SKIP() << "files live in memory here";
  std::byte byte{};
  FileSystem::posix().open(path)->read_at(0, {&byte, 1});
  const FileDescriptor file = open_file({path, path}, OpenFor::kReading);
  EXPECT_EQ(part_in_page_cache(file.get(), 0, 1), 1);
}

// Reads all of a stream and returns whether the bytes are right.
bool reads_all(ReadStream& stream) {
  std::string found(large_content().size(), '?');
  stream.read(std::as_writable_bytes(std::span(found)));
  return found == large_content();
}

// In a child of its own, so that a hang is a failure.
TEST_P(PosixStreamsTest, AForkedProcessAndItsParentReadAtOnce) {
  EXPECT_EQ(run_in_child([&] {
              const PosixReadableFile file(path_, streams_);
              const auto read_often = [&] {
                for (int i = 0; i < 3; ++i)
                  if (!reads_all(*file.stream(0, content_.size()))) return 1;
                return 0;
              };
              if (read_often() != 0) return 1;  // Leaves an idle lane.
              const pid_t other = fork_child(read_often);
              const int result = read_often();
              const int result_of_other = wait_for_child(other);
              return result != 0 ? 2 : result_of_other != 0 ? 3 : 0;
            }),
            0);
}

TEST_P(PosixStreamsTest, AForkedProcessDoesNotUseItsParentsLane) {
  EXPECT_EQ(run_in_child([&] {
              const PosixReadableFile file(path_, streams_);
              const auto stream = file.stream(0, content_.size());  // Reads are under way.
              auto destroyed = file.stream(0, content_.size());
              const int result_of_child = run_in_child([&] {
                destroyed.reset();
                return reads_all(*stream) ? 0 : 1;
              });
              if (result_of_child != 0) return 2;
              return reads_all(*stream) && reads_all(*destroyed) ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace crochet::internal
