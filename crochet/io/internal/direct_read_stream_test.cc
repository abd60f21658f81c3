// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/direct_read_stream.h"

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/random_bytes.h"

namespace crochet::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr size_t kBlockBytes = 2 * kDirectAlignment;
constexpr size_t kNumBlocks = 4;

// A fault of one completion.
struct Fault {
  int result = 0;        // A negated number of <errno.h>; or
  size_t max_bytes = 0;  // a short read; or
  bool breaks = false;   // the ring is unusable.
};

// State of a ring that a test can read after the ring is destroyed.
struct RingLog {
  std::string content = {};
  std::optional<Fault> fault = {};  // Of completion `faulty`.
  bool for_good = false;            // Also of the later ones.
  int64_t faulty = 0;
  bool newest_first = false;
  int64_t num_completions = 0;
  size_t most_under_way = 0;
  size_t left_under_way = 0;  // When the ring ended.
  std::vector<uint64_t> offsets = {};
};

// Reads from a string, with faults on demand, and enforces the rules of O_DIRECT.
class StringRing final : public IoRing {
 public:
  explicit StringRing(std::shared_ptr<RingLog> log)
      : IoRing(DirectCalls::real(), kNumBlocks, kBlockBytes), log_(std::move(log)) {
    EXPECT_TRUE(map_buffers());
  }
  ~StringRing() override { log_->left_under_way = reads_.size(); }

 private:
  struct Read {
    size_t buffer;
    uint64_t offset;
    std::span<std::byte> to;
  };

  int submit(const IoRequest& request) override {
    const auto to = buffer(request.buffer).subspan(request.begin, request.end - request.begin);
    EXPECT_EQ(request.kind, IoRequest::Kind::kRead);
    EXPECT_EQ(request.offset % kDirectAlignment, 0);
    EXPECT_EQ(to.size() % kDirectAlignment, 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(to.data()) % kDirectAlignment, 0);
    EXPECT_GT(to.size(), 0);
    for (const Read& read : reads_) EXPECT_NE(read.buffer, request.buffer);
    reads_.push_back({request.buffer, request.offset, to});
    log_->offsets.push_back(request.offset);
    log_->most_under_way = std::max(log_->most_under_way, reads_.size());
    return 0;
  }

  int receive(size_t& buffer, int& result) override {
    const Read read = log_->newest_first ? reads_.back() : reads_.front();
    const int64_t n = log_->num_completions++;
    const bool fails = log_->fault && (n == log_->faulty || (log_->for_good && n > log_->faulty));
    if (fails && log_->fault->breaks) return -EBADF;
    if (log_->newest_first) {
      reads_.pop_back();
    } else {
      reads_.pop_front();
    }
    buffer = read.buffer;
    result = fails && log_->fault->result < 0 ? log_->fault->result : copy(read, fails);
    return 0;
  }

  int copy(const Read& read, bool fails) {
    const uint64_t from = std::min<uint64_t>(read.offset, log_->content.size());
    size_t size = std::min<uint64_t>(read.to.size(), log_->content.size() - from);
    if (fails) size = std::min(size, log_->fault->max_bytes);
    const auto bytes = std::as_bytes(std::span(log_->content)).subspan(from, size);
    std::ranges::copy(bytes, read.to.begin());
    return static_cast<int>(size);
  }

  std::shared_ptr<RingLog> log_;
  std::deque<Read> reads_;
};

class DirectReadStreamTest : public testing::Test {
 protected:
  DirectReadStreamTest() { log_->content = content_; }

  std::unique_ptr<DirectReadStream> open(uint64_t offset, uint64_t num_bytes) {
    files_.create("plain")->append(plain_content_);
    plain_file_ = files_.open("plain");
    return std::make_unique<DirectReadStream>(
        FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "the/file", offset, num_bytes,
        std::make_unique<StringRing>(log_), pool_,
        [this, end = offset + num_bytes](uint64_t from, const std::string& reason) {
          reasons_.push_back(reason);
          return plain_file_->stream(from, end - from);
        });
  }

  // Reads all of a part in pieces of this size, and checks the bytes.
  void expect_reads(uint64_t offset, uint64_t num_bytes, size_t piece_bytes) {
    SCOPED_TRACE(fmt::format("{} bytes at {} by {}", num_bytes, offset, piece_bytes));
    const auto stream = open(offset, num_bytes);
    std::string found(num_bytes, '?');
    uint32_t crc = 0;
    for (size_t done = 0; done < num_bytes; done += piece_bytes) {
      const auto piece = std::as_writable_bytes(std::span(found))
                             .subspan(done)
                             .first(std::min<size_t>(piece_bytes, num_bytes - done));
      crc = stream->read_with_crc32c(crc, piece);
    }
    EXPECT_TRUE(found == content_.substr(offset, num_bytes));
    EXPECT_EQ(crc, crc32c(found));
  }

  // Four times what the ring holds, and an odd number of bytes at the end.
  const std::string content_ = random_bytes(4 * kNumBlocks * kBlockBytes + 1001);
  std::string plain_content_ = content_;
  const std::shared_ptr<RingLog> log_ = std::make_shared<RingLog>();
  MemoryFileSystem files_;
  std::unique_ptr<ReadableFile> plain_file_;
  std::vector<std::string> reasons_;
  const std::shared_ptr<IoRingPool> pool_ = std::make_shared<IoRingPool>();
};

TEST_F(DirectReadStreamTest, ReadsAroundEveryBoundary) {
  const size_t size = content_.size();
  for (const bool newest_first : {false, true}) {
    log_->newest_first = newest_first;
    for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, uint64_t{4095}, uint64_t{4096},
                                  uint64_t{4097}, uint64_t{kBlockBytes - 1}, uint64_t{kBlockBytes},
                                  uint64_t{size - 1001}, uint64_t{size - 1}})
      for (const uint64_t num_bytes :
           {uint64_t{0}, uint64_t{1}, uint64_t{4096}, uint64_t{kBlockBytes},
            uint64_t{kBlockBytes + 1}, uint64_t{size}})
        for (const size_t piece_bytes : {size_t{777}, kBlockBytes, size})
          expect_reads(offset, std::min<uint64_t>(num_bytes, size - offset), piece_bytes);
  }
  EXPECT_TRUE(reasons_.empty());
}

TEST_F(DirectReadStreamTest, ReadsWithoutAChecksum) {
  const auto stream = open(5, 3 * kBlockBytes);
  std::string found(3 * kBlockBytes, '?');
  stream->read(std::as_writable_bytes(std::span(found)));
  EXPECT_TRUE(found == content_.substr(5, found.size()));
}

TEST_F(DirectReadStreamTest, ReadsEachBlockOnceAndNeverMoreThanTheRingHolds) {
  expect_reads(0, content_.size(), 1000);
  EXPECT_EQ(log_->most_under_way, kNumBlocks);
  std::vector<uint64_t> expected;
  for (uint64_t offset = 0; offset < content_.size(); offset += kBlockBytes)
    expected.push_back(offset);
  EXPECT_EQ(log_->offsets, expected);
}

TEST_F(DirectReadStreamTest, ReadsNothingPastThePart) {
  expect_reads(100, kBlockBytes, kBlockBytes);
  EXPECT_EQ(log_->offsets, (std::vector<uint64_t>{0, kBlockBytes}));
}

TEST_F(DirectReadStreamTest, SkipsWithoutReadingSkippedBlocks) {
  const auto stream = open(0, content_.size());
  const auto read_byte = [&] {
    std::byte byte{};
    stream->read({&byte, 1});
    return static_cast<char>(byte);
  };
  EXPECT_EQ(read_byte(), content_[0]);
  stream->skip(kBlockBytes - 1);
  EXPECT_EQ(read_byte(), content_[kBlockBytes]);
  stream->skip(10 * kBlockBytes);
  EXPECT_EQ(read_byte(), content_[11 * kBlockBytes + 1]);
  for (const uint64_t offset : log_->offsets)
    EXPECT_TRUE(offset < 5 * kBlockBytes || offset >= 11 * kBlockBytes) << offset;
  stream->skip(content_.size() - 11 * kBlockBytes - 3);
  EXPECT_EQ(read_byte(), content_.back());
}

TEST_F(DirectReadStreamTest, FallsBackToPlainReadsAfterAnyFailedRead) {
  for (const int error : {EIO, EINVAL, EOPNOTSUPP, ENOMEM})
    for (int64_t n = 0; n < 17; ++n) {
      *log_ = {.content = content_, .fault = Fault{.result = -error}, .faulty = n};
      reasons_.clear();
      expect_reads(3, content_.size() - 3, 5000);
      ASSERT_EQ(reasons_.size(), 1) << n;
      EXPECT_THAT(reasons_[0], HasSubstr("the/file: direct read failed"));
    }
  *log_ = {.content = content_, .fault = Fault{.result = -EIO}, .faulty = 17};
  reasons_.clear();
  expect_reads(3, content_.size() - 3, 5000);
  EXPECT_TRUE(reasons_.empty());  // There are 17 blocks.
}

TEST_F(DirectReadStreamTest, ContinuesAfterInterruptionsAndShortReads) {
  for (const Fault fault :
       {Fault{.result = -EINTR}, Fault{.result = -EAGAIN}, Fault{.max_bytes = kDirectAlignment}})
    for (int64_t n = 0; n < 18; ++n) {
      *log_ = {.content = content_, .fault = fault, .faulty = n};
      expect_reads(3, content_.size() - 3, 5000);
    }
  *log_ = {.content = content_, .fault = Fault{.max_bytes = kDirectAlignment}, .for_good = true};
  expect_reads(0, content_.size(), 5000);
  EXPECT_TRUE(reasons_.empty());
}

TEST_F(DirectReadStreamTest, FallsBackIfAReadIsRefusedForever) {
  log_->fault = Fault{.result = -EAGAIN};
  log_->for_good = true;
  expect_reads(0, content_.size(), 5000);
  EXPECT_EQ(reasons_.size(), 1);
}

TEST_F(DirectReadStreamTest, FallsBackIfTheRingBreaks) {
  for (int64_t n = 0; n < 17; ++n) {
    *log_ = {.content = content_, .fault = Fault{.breaks = true}, .for_good = true, .faulty = n};
    reasons_.clear();
    expect_reads(0, content_.size(), 5000);
    EXPECT_EQ(reasons_.size(), 1) << n;
  }
}

// A short read may or may not mean the end of the file.
TEST_F(DirectReadStreamTest, CompletesAShortReadWithPlainReads) {
  for (const size_t max_bytes : {size_t{0}, size_t{1}, size_t{5000}}) {
    *log_ = {.content = content_, .fault = Fault{.max_bytes = max_bytes}, .faulty = 3};
    expect_reads(0, content_.size(), 5000);
  }
}

TEST_F(DirectReadStreamTest, ReportsATruncatedFileAsDataLoss) {
  for (const size_t size : {size_t{0}, size_t{1}, kBlockBytes, 5 * kBlockBytes + 7}) {
    SCOPED_TRACE(size);
    plain_content_ = content_.substr(0, size);
    *log_ = {.content = plain_content_};
    const auto stream = open(0, content_.size());
    std::string found(content_.size(), '?');
    const auto all = std::as_writable_bytes(std::span(found));
    stream->read(all.first(size));
    EXPECT_TRUE(found.substr(0, size) == plain_content_);
    EXPECT_THAT([&] { stream->read_with_crc32c(0, all.subspan(size, 100)); },
                ThrowsMessage<DataLossError>(HasSubstr(fmt::format(
                    "cannot read 100 bytes at offset {}: the file has {} bytes", size, size))));
  }
}

TEST_F(DirectReadStreamTest, ReturnsTheRingOnceNoReadIsInFlight) {
  open(0, content_.size());
  ASSERT_NE(pool_->take(), nullptr);
  EXPECT_EQ(log_->left_under_way, 0);
  EXPECT_EQ(log_->num_completions, kNumBlocks);
}

TEST_F(DirectReadStreamTest, DoesNotReturnAFailedRing) {
  log_->fault = Fault{.breaks = true};
  log_->for_good = true;
  expect_reads(0, 10, 10);
  { open(0, content_.size()); }
  EXPECT_EQ(pool_->take(), nullptr);
}

}  // namespace
}  // namespace crochet::internal
