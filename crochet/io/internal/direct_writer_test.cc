// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/direct_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <span>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/scripted_calls.h"

namespace crochet::internal {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr size_t kMebibyte = size_t{1} << 20;
constexpr size_t kSmallBufferBytes = 16384;

std::string scrambled(size_t size, uint64_t seed = 1) {
  std::string bytes(size, '\0');
  uint64_t state = seed * 0x9e3779b97f4a7c15u;
  for (char& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

size_t num_open_files() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

class DirectWriterTest : public testing::Test {
 protected:
  // Options for files written from a few small buffers, whatever their size.
  DirectWriterOptions small_buffers() {
    return {.min_bytes = 0, .num_buffers = 3, .buffer_bytes = kSmallBufferBytes, .calls = &calls_};
  }

  // For behaviour that only shows where the directory's file system and the kernel support it.
  bool is_direct() {
    const LogCapture log;
    DirectWriter(small_buffers()).create(directory_ / "probe", 1)->close();
    const bool direct = calls_.num_rings == 1 && log.lines().empty();
    calls_.num_rings = calls_.num_truncates = 0;
    return direct;
  }

  std::string content() { return read_file(FileSystem::posix(), path_); }
  // The size of the file on disk.
  uint64_t stored_bytes() {
    struct stat status;
    EXPECT_EQ(::stat(path_.c_str(), &status), 0);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  }

  // Writes a file that uses all buffers more than once.
  void write_through(DirectWriter& writer) {
    const auto file = writer.create(path_, content_.size());
    file->append(content_);
    file->sync();
    file->close();
  }

  const TempDirectory directory_;
  const std::string path_ = directory_ / "file";
  const std::string content_ = scrambled(10 * kSmallBufferBytes + 5);
  ScriptedCalls calls_;
};

enum class WriteWay { kRegistered, kUnregistered, kPlain, kRefusedLate };

class EveryWayTest : public DirectWriterTest, public testing::WithParamInterface<WriteWay> {
 protected:
  EveryWayTest() {
    if (GetParam() == WriteWay::kUnregistered) calls_.on_register = [](int) { return -ENOMEM; };
    if (GetParam() == WriteWay::kRefusedLate)
      calls_.on_result = [](int n, const IoRequest&, int result) {
        return n == 1 ? -EINVAL : result;
      };
  }

  DirectWriterOptions options() {
    DirectWriterOptions options = small_buffers();
    options.use_direct = GetParam() != WriteWay::kPlain;
    return options;
  }

  const LogCapture quiet_;
};

INSTANTIATE_TEST_SUITE_P(All, EveryWayTest,
                         testing::Values(WriteWay::kRegistered, WriteWay::kUnregistered,
                                         WriteWay::kPlain, WriteWay::kRefusedLate));

std::vector<size_t> sizes_around_boundaries() {
  std::vector<size_t> sizes;
  for (const size_t boundary :
       {size_t{0}, size_t{512}, size_t{4096}, size_t{8192}, kSmallBufferBytes,
        2 * kSmallBufferBytes, 3 * kSmallBufferBytes, 7 * kSmallBufferBytes})
    for (const int delta : {-1, 0, 1})
      if (boundary > 0 || delta >= 0) sizes.push_back(boundary + static_cast<size_t>(delta));
  return sizes;
}

TEST_P(EveryWayTest, WritesFilesOfEverySize) {
  DirectWriter writer(options());
  for (const size_t size : sizes_around_boundaries()) {
    for (const uint64_t expected : {uint64_t{size}, uint64_t{1}, uint64_t{size} * 2 + 10'000}) {
      const std::string bytes = scrambled(size, size + 1);
      const auto file = writer.create(path_, expected);
      const uint32_t crc = file->append_with_crc32c(0, std::as_bytes(std::span(bytes)));
      file->sync();
      EXPECT_EQ(FileSystem::posix().file_size(path_), size);
      file->close();
      const std::string found = content();
      EXPECT_TRUE(found == bytes) << size << " of " << expected;
      EXPECT_EQ(crc, crc32c(found));
    }
  }
}

TEST_P(EveryWayTest, WritesEveryPatternOfAppends) {
  DirectWriter writer(options());
  for (const size_t step : {1u, 7u, 511u, 4095u, 4097u, 16383u, 16384u, 16385u, 40'000u}) {
    const auto file = writer.create(path_, content_.size());
    uint32_t crc = 0;
    for (size_t done = 0; done < content_.size(); done += step) {
      const auto piece = std::as_bytes(std::span(content_))
                             .subspan(done)
                             .first(std::min(step, content_.size() - done));
      if (done % 2 == 0) {
        crc = file->append_with_crc32c(crc, piece);
      } else {
        file->append(piece);
        crc = extend_crc32c(crc, piece);
      }
    }
    file->close();
    EXPECT_TRUE(content() == content_) << step;
    EXPECT_EQ(crc, crc32c(content_));
  }
}

// Bytes aligned to a page, as those of tensors are.
class HeldBytes {
 public:
  explicit HeldBytes(size_t size, uint64_t seed = 1)
      : memory_(size + kPage), begin_(-reinterpret_cast<uintptr_t>(memory_.data()) % kPage) {
    const std::string bytes = scrambled(size, seed);
    std::ranges::copy(bytes, memory_.begin() + static_cast<std::ptrdiff_t>(begin_));
  }
  std::string_view text() const {
    return std::string_view(memory_.data(), memory_.size()).substr(begin_, memory_.size() - kPage);
  }
  std::span<const std::byte> from(size_t offset) const {
    return std::as_bytes(std::span(text())).subspan(offset);
  }

 private:
  static constexpr size_t kPage = 4096;
  std::vector<char> memory_;
  size_t begin_;
};

TEST_P(EveryWayTest, WritesHeldBytesBetweenOthers) {
  const HeldBytes held(5 * kSmallBufferBytes + 700);
  DirectWriter writer(options());
  for (const size_t before : {size_t{0}, size_t{100}, size_t{4096}, kSmallBufferBytes})
    for (const size_t skipped : {size_t{0}, size_t{1}, size_t{4096}}) {
      const std::string head = scrambled(before, 7);
      std::string expected = head;
      const auto file = writer.create(path_, before + 2 * held.text().size());
      file->append(head);
      for (int i = 0; i < 2; ++i) {
        const uint32_t crc = file->append_held_with_crc32c(3, held.from(skipped));
        EXPECT_EQ(crc, extend_crc32c(3, held.from(skipped)));
        expected += held.text().substr(skipped);
        file->sync();
        EXPECT_TRUE(content() == expected) << before << " before, without " << skipped;
      }
      file->close();
      EXPECT_TRUE(content() == expected);
    }
}

TEST_F(DirectWriterTest, WritesHeldBytesWithoutACopy) {
  if (!is_direct()) GTEST_SKIP() << "no direct files here";
  const HeldBytes held(7 * kSmallBufferBytes + 700);
  std::vector<size_t> places;
  calls_.on_result = [&](int, const IoRequest& request, int result) {
    if (request.held != nullptr)
      places.push_back(static_cast<size_t>(request.held - held.from(0).data()));
    return result;
  };
  DirectWriter writer(small_buffers());
  const auto file = writer.create(path_, 30 * kSmallBufferBytes);
  file->append_held_with_crc32c(0, held.from(0));  // Its end is copied; what follows is unaligned.
  EXPECT_THAT(places, SizeIs(Ge(4)));
  file->append_held_with_crc32c(0, held.from(0));
  file->sync();
  std::ranges::sort(places);
  EXPECT_THAT(places,
              ElementsAre(0, kSmallBufferBytes, 2 * kSmallBufferBytes, 3 * kSmallBufferBytes,
                          4 * kSmallBufferBytes, 5 * kSmallBufferBytes, 6 * kSmallBufferBytes));
}

TEST_P(EveryWayTest, WritesWhatAFunctionReads) {
  DirectWriter writer(options());
  std::string expected = "head";
  const auto file = writer.create(path_, expected.size() + 2 * content_.size());
  file->append("head");
  for (const size_t size : {content_.size(), size_t{0}, content_.size() - 3}) {
    size_t next = 0;
    const uint32_t crc =
        file->append_read_with_crc32c(7, size, [&](size_t begin, std::span<std::byte> into) {
          EXPECT_EQ(begin, next);
          next += into.size();
          std::memcpy(into.data(), content_.data() + begin, into.size());
        });
    EXPECT_EQ(next, size);
    const std::string written = content_.substr(0, size);
    EXPECT_EQ(crc, extend_crc32c(7, std::as_bytes(std::span(written))));
    expected += written;
    file->sync();
    EXPECT_TRUE(content() == expected) << size;
  }
}

TEST_P(EveryWayTest, FailsWithWhatAReadFunctionThrows) {
  DirectWriter writer(options());
  const auto file = writer.create(path_, content_.size());
  const auto read = [](size_t, std::span<std::byte>) { throw DataLossError("lost"); };
  EXPECT_THAT([&] { file->append_read_with_crc32c(0, 5, read); },
              ThrowsMessage<DataLossError>("lost"));
}

TEST_F(DirectWriterTest, ContinuesAShortWriteOfHeldBytes) {
  const HeldBytes held(4 * kSmallBufferBytes);
  // The kernel wrote only the first half: what follows is wrong until it is written.
  calls_.on_result = [&](int n, const IoRequest& request, int result) {
    if (result < 0 || n % 2 == 0 || request.end - request.begin < kSmallBufferBytes) return result;
    const std::string wrong(kSmallBufferBytes / 2, '?');
    const int file = ::open(path_.c_str(), O_WRONLY);
    EXPECT_EQ(::pwrite(file, wrong.data(), wrong.size(),
                       static_cast<off_t>(request.offset + wrong.size())),
              std::ssize(wrong));
    EXPECT_EQ(::fdatasync(file), 0);
    ::close(file);
    return result / 2;
  };
  DirectWriter writer(small_buffers());
  const auto file = writer.create(path_, held.text().size());
  file->append_held_with_crc32c(0, held.from(0));
  file->close();
  EXPECT_TRUE(content() == held.text());
}

TEST_P(EveryWayTest, ContinuesAfterEverySync) {
  DirectWriter writer(options());
  const auto file = writer.create(path_, 2 * kSmallBufferBytes);
  size_t done = 0;
  for (size_t n = 1; done < content_.size(); n = n * 3 + 1) {
    const size_t end = std::min(content_.size(), done + n);
    file->append(std::string_view(content_).substr(done, end - done));
    file->sync();
    file->sync();
    EXPECT_TRUE(content() == content_.substr(0, end)) << end;
    done = end;
  }
}

TEST_P(EveryWayTest, ReleasesUnusedRoom) {
  DirectWriter writer(options());
  const auto file = writer.create(path_, 8 * kMebibyte);
  EXPECT_GE(stored_bytes(), 8 * kMebibyte);
  file->append("short");
  file->sync();
  EXPECT_EQ(content(), "short");
  EXPECT_LE(stored_bytes(), 65536u);
}

TEST_F(DirectWriterTest, IsDeadAfterAFailedSync) {
  if (!is_direct()) GTEST_SKIP() << "no direct files here";
  DirectWriter writer(small_buffers());
  calls_.num_syncs = 0;
  calls_.on_sync = [](int) { return -EIO; };
  const auto file = writer.create(path_, content_.size());
  file->append(content_);
  EXPECT_THAT([&] { file->sync(); },
              ThrowsMessage<UnknownError>(
                  AllOf(HasSubstr(path_), HasSubstr("fdatasync"), HasSubstr("EIO"))));
  EXPECT_THROW(file->sync(), FailedPreconditionError);
  EXPECT_THROW(file->append("x"), FailedPreconditionError);
  EXPECT_NO_THROW(file->close());
  EXPECT_EQ(calls_.num_syncs, 1);
}

TEST_F(DirectWriterTest, WritesFilesWithDefaultBuffers) {
  DirectWriter writer({.min_bytes = 0});
  for (const size_t size : {kMebibyte - 1, kMebibyte, kMebibyte + 1, 17 * kMebibyte + 3}) {
    const std::string bytes = scrambled(size, size);
    const auto file = writer.create(path_, size);
    file->append(bytes);
    file->sync();
    EXPECT_TRUE(content() == bytes) << size;
  }
}

TEST_F(DirectWriterTest, WritesWholeBlocksPastTheCacheAndTheTailThroughIt) {
  if (!is_direct()) GTEST_SKIP() << "no direct files here";
  calls_.num_results = calls_.num_write_ats = 0;
  uint64_t direct_bytes = 0;
  calls_.on_result = [&](int, const IoRequest& request, int result) {
    EXPECT_EQ(request.offset % 4096, 0u);
    EXPECT_EQ((request.end - request.begin) % 4096, 0u);
    direct_bytes += static_cast<uint64_t>(result);
    return result;
  };
  DirectWriter writer(small_buffers());
  write_through(writer);
  EXPECT_EQ(direct_bytes, 10 * kSmallBufferBytes);
  EXPECT_EQ(calls_.num_results, 10);
  EXPECT_EQ(calls_.num_write_ats, 1);
  EXPECT_EQ(calls_.num_truncates, 0);  // The length was as expected.
}

TEST_F(DirectWriterTest, ReusesOneRingForConsecutiveFiles) {
  if (!is_direct()) GTEST_SKIP() << "no direct files here";
  DirectWriter writer(small_buffers());
  write_through(writer);
  const size_t open_files = num_open_files();
  for (int i = 0; i < 5; ++i) write_through(writer);
  EXPECT_EQ(calls_.num_rings, 1);
  EXPECT_EQ(num_open_files(), open_files);
  EXPECT_TRUE(content() == content_);
}

TEST_F(DirectWriterTest, LeaksNoDescriptors) {
  const size_t open_files = num_open_files();
  {
    DirectWriter writer(small_buffers());
    const auto first = writer.create(path_, 100'000);
    const auto second = writer.create(directory_ / "second", 100'000);
    first->append(content_);
    second->append(content_);
  }
  EXPECT_EQ(num_open_files(), open_files);
}

TEST_F(DirectWriterTest, AFileOutlivesItsWriter) {
  std::unique_ptr<WritableFile> file = DirectWriter(small_buffers()).create(path_, content_.size());
  file->append(content_);
  file->close();
  EXPECT_TRUE(content() == content_);
}

// Writes in flight read from buffers that the next file fills: they must have ended before.
TEST_F(DirectWriterTest, AnAbandonedFileDoesNotDamageTheNext) {
  const bool direct = is_direct();
  DirectWriter writer(small_buffers());
  for (int i = 0; i < 20; ++i) {
    writer.create(directory_ / "abandoned", content_.size())
        ->append(scrambled(6 * kSmallBufferBytes, 3));
    const std::string bytes = scrambled(3 * kSmallBufferBytes + 1, static_cast<uint64_t>(i) + 9);
    const auto file = writer.create(path_, bytes.size());
    file->append(bytes);
    file->close();
    EXPECT_TRUE(content() == bytes);
    const std::string abandoned = read_file(FileSystem::posix(), directory_ / "abandoned");
    EXPECT_TRUE(!direct || abandoned.starts_with(
                               scrambled(6 * kSmallBufferBytes, 3).substr(0, kSmallBufferBytes)));
  }
}

TEST_F(DirectWriterTest, ManyThreadsWriteAtOnce) {
  DirectWriter writer(small_buffers());
  {
    std::vector<std::jthread> threads;
    for (uint64_t i = 0; i < 6; ++i)
      threads.emplace_back([&, i] {
        for (uint64_t round = 0; round < 5; ++round) {
          const std::string path = directory_ / fmt::format("file-{}", i);
          const std::string bytes = scrambled(5 * kSmallBufferBytes + i, i * 100 + round);
          const auto file = writer.create(path, bytes.size());
          file->append(bytes);
          file->sync();
          file->close();
          EXPECT_TRUE(read_file(FileSystem::posix(), path) == bytes);
        }
      });
  }
}

// A thread that ends cancels the writes it started.
TEST_F(DirectWriterTest, AFileMayBeWrittenBySeveralThreadsInTurn) {
  DirectWriter writer(small_buffers());
  for (int round = 0; round < 10; ++round) {
    const auto file = writer.create(path_, content_.size());
    for (size_t done = 0; done < content_.size(); done += 50'000)
      std::jthread([&] { file->append(std::string_view(content_).substr(done, 50'000)); });
    file->close();
    EXPECT_TRUE(content() == content_);
  }
}

TEST_F(DirectWriterTest, FlushMakesAllAppendedBytesVisible) {
  DirectWriter writer(small_buffers());
  const auto file = writer.create(path_, content_.size());
  const std::string_view all = content_;
  size_t begin = 0;
  // Within a buffer, at its end, and after it.
  for (const size_t end : {size_t{1}, size_t{4096}, size_t{70'001}, all.size()}) {
    file->append(all.substr(begin, end - begin));
    file->flush();
    EXPECT_TRUE(content() == all.substr(0, end)) << end;
    begin = end;
  }
  file->close();
  EXPECT_TRUE(content() == all);
}

TEST_F(DirectWriterTest, RejectsInvalidBuffers) {
  EXPECT_THROW(DirectWriter({.num_buffers = 0}), InvalidArgumentError);
  EXPECT_THROW(DirectWriter({.num_buffers = 4097}), InvalidArgumentError);
  EXPECT_THROW(DirectWriter({.buffer_bytes = 0}), InvalidArgumentError);
  EXPECT_THROW(DirectWriter({.buffer_bytes = 4095}), InvalidArgumentError);
}

TEST_F(DirectWriterTest, SmallFilesNeedNoRing) {
  DirectWriterOptions options = small_buffers();
  options.min_bytes = 1000;
  DirectWriter writer(options);
  const auto file = writer.create(path_, 999);
  file->append(content_);
  file->close();
  EXPECT_EQ(calls_.num_rings, 0);
  EXPECT_EQ(calls_.num_reserves, 0);
  EXPECT_TRUE(content() == content_);
}

// The child has neither the ring's memory nor its completions.
TEST_F(DirectWriterTest, AForkedProcessWritesOnlyItsOwnFiles) {
  DirectWriter writer(small_buffers());
  write_through(writer);  // Leaves an idle ring.
  auto file = writer.create(directory_ / "parent", content_.size());
  file->append(std::string_view(content_).substr(0, 70'000));
  write_through(writer);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // Rather than hang.
    int result = 0;
    try {
      const auto own = writer.create(directory_ / "child", content_.size());
      own->append(content_);
      own->sync();
      own->close();
      if (calls_.num_rings > 0) {
        file->append("x");
        result = 1;
      }
    } catch (const FailedPreconditionError&) {
    } catch (...) {
      result = 2;
    }
    file.reset();
    ::_exit(result);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  file->append(std::string_view(content_).substr(70'000));
  file->close();
  EXPECT_TRUE(read_file(FileSystem::posix(), directory_ / "parent") == content_);
  EXPECT_TRUE(read_file(FileSystem::posix(), directory_ / "child") == content_);
}

// A real full disk, where this test may make one.
TEST_F(DirectWriterTest, ReportsAFullDiskBeforeWriting) {
  if (::mount("none", directory_.path().c_str(), "tmpfs", 0, "size=1m") != 0)
    GTEST_SKIP() << "needs to mount a file system";
  const std::shared_ptr<const void> unmounts(
      &directory_, [this](const void*) { ::umount2(directory_.path().c_str(), MNT_DETACH); });
  const LogCapture quiet;
  EXPECT_THAT([&] { DirectWriter().create(path_, 3 * kMebibyte); },
              ThrowsMessage<ResourceExhaustedError>(
                  path_ + ": 3145728 bytes are needed, 1048576 are free: No space left on device "
                          "(ENOSPC)"));
  EXPECT_FALSE(FileSystem::posix().exists(path_));
  {
    const auto file = DirectWriter().create(path_, 100);  // Expected to be small.
    EXPECT_THROW(file->append(scrambled(3 * kMebibyte)), ResourceExhaustedError);
    EXPECT_THROW(file->sync(), FailedPreconditionError);
  }
}

}  // namespace
}  // namespace crochet::internal
