// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How the direct writer handles a kernel that refuses, fails, or writes only a part.
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/direct_writer.h"
#include "crochet/io/internal/posix_files.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/forked_child.h"
#include "tests/support/refused_call.h"
#include "tests/support/scripted_calls.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

constexpr size_t kBufferBytes = 16384;
constexpr int kNumWrites = 10;  // For the content below, without its tail.

std::string pattern(size_t size, size_t seed = 0) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>((i + seed) * 2654435761u >> 13);
  return bytes;
}

class DirectRefusalsTest : public testing::Test {
 protected:
  void SetUp() override {
    write(0);
    if (calls_.num_results != kNumWrites) GTEST_SKIP() << "no direct files here";
    calls_.num_opens = calls_.num_reserves = calls_.num_results = calls_.num_submits = 0;
    calls_.num_waits = calls_.num_write_ats = calls_.num_rings = calls_.num_syncs = 0;
    log_.clear();
  }

  internal::DirectWriterOptions options() {
    return {.min_bytes = 0, .num_buffers = 3, .buffer_bytes = kBufferBytes, .calls = &calls_};
  }

  // A file with the content, written from reused buffers that hold bytes of another file.
  void write(size_t seed) {
    const std::string bytes = pattern(kNumWrites * kBufferBytes + 5, seed);
    const auto file = writer_.create(path_, bytes.size());
    file->append(bytes);
    file->sync();
    file->close();
  }
  void expect_content(size_t seed) {
    EXPECT_TRUE(read_file(FileSystem::posix(), path_) ==
                pattern(kNumWrites * kBufferBytes + 5, seed));
  }
  // Writes a file repeatedly with a writer that must use the page cache.
  void expect_logged_once(const std::string& what) {
    internal::DirectWriter writer(options());
    for (int i = 0; i < 3; ++i) {
      const auto file = writer.create(path_, 100'000);
      file->append(pattern(100'000));
      file->sync();
      file->close();
      EXPECT_TRUE(read_file(FileSystem::posix(), path_) == pattern(100'000));
    }
    EXPECT_THAT(log_.lines(), SizeIs(1));
    EXPECT_TRUE(log_.contains(path_ + ": written through the page cache, since " + what))
        << testing::PrintToString(log_.lines());
  }

  const TempDirectory directory_;
  const std::string path_ = directory_ / "file";
  ScriptedCalls calls_;
  LogCapture log_;
  internal::DirectWriter writer_{options()};
};

TEST_F(DirectRefusalsTest, UsesThePageCacheWithoutDirectFiles) {
  calls_.on_open = [](int) { return -EINVAL; };
  expect_logged_once("O_DIRECT is refused: Invalid argument (EINVAL)");
  EXPECT_EQ(calls_.num_rings, 0);
}

TEST_F(DirectRefusalsTest, UsesThePageCacheForFilesInMemory) {
  calls_.on_block_bytes = [](int) { return -EOPNOTSUPP; };
  expect_logged_once("O_DIRECT is refused: Operation not supported (EOPNOTSUPP)");
}

TEST_F(DirectRefusalsTest, UsesThePageCacheForBlocksLargerThanABuffer) {
  calls_.on_block_bytes = [](int) { return 65536; };
  expect_logged_once("O_DIRECT is refused: Invalid argument (EINVAL)");
}

TEST_F(DirectRefusalsTest, UsesThePageCacheWithoutRings) {
  for (const int error : {ENOSYS, EPERM, ENOMEM, EINVAL}) {
    log_.clear();
    calls_.on_make_ring = [error](int) { return -error; };
    expect_logged_once("io_uring is refused: ");
  }
}

TEST_F(DirectRefusalsTest, DoesNotLogThatBuffersAreNotRegistered) {
  calls_.on_register = [](int) { return -ENOMEM; };
  internal::DirectWriter writer(options());
  const auto file = writer.create(path_, 100'000);
  file->append(pattern(100'000));
  file->sync();
  EXPECT_GT(calls_.num_results, 0);
  EXPECT_TRUE(read_file(FileSystem::posix(), path_) == pattern(100'000));
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(DirectRefusalsTest, LogsEachReasonOnce) {
  internal::DirectWriter writer(options());
  calls_.on_open = [](int n) { return n < 2 ? -EINVAL : 0; };
  calls_.on_make_ring = [](int) { return -EPERM; };
  for (int i = 0; i < 4; ++i) writer.create(path_, 100'000)->close();
  EXPECT_THAT(log_.lines(), SizeIs(2));
}

// The file system accepts the flag, but refuses the write.
TEST_F(DirectRefusalsTest, FallsBackToThePageCacheIfAWriteIsRefused) {
  for (const int error : {EINVAL, EOPNOTSUPP, ENOSYS})
    for (int n = 0; n < kNumWrites; ++n) {
      const int first = calls_.num_results;
      calls_.on_result = [=](int i, const internal::IoRequest& request, int result) {
        if (i != first + n) return result;
        // Pretends that nothing was written, whatever the kernel did.
        const std::string garbage(request.end - request.begin, '!');
        EXPECT_EQ(::pwrite(request.file, garbage.data(), 0, 0), 0);
        return -error;
      };
      write(static_cast<size_t>(n) + 1);
      expect_content(static_cast<size_t>(n) + 1);
    }
  EXPECT_THAT(log_.lines(), SizeIs(1));
}

TEST_F(DirectRefusalsTest, ContinuesIfReservingIsNotSupported) {
  for (const int error : {EOPNOTSUPP, ENOSYS, EPERM, EINVAL}) {
    calls_.on_reserve = [error](int) { return -error; };
    write(1);
    expect_content(1);
  }
  EXPECT_THAT(log_.lines(), IsEmpty());
}

TEST_F(DirectRefusalsTest, RemovesTheFileIfThereIsNoRoom) {
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    calls_.on_reserve = [error](int n) { return n % 2 == 0 ? -EINTR : -error; };
    calls_.num_reserves = 0;
    EXPECT_THAT([&] { writer_.create(path_, 123'456); },
                ThrowsMessage<ResourceExhaustedError>(AllOf(
                    HasSubstr(path_ + ": 123456 bytes are needed, "), HasSubstr(" are free: "))));
    EXPECT_FALSE(FileSystem::posix().exists(path_));
  }
  EXPECT_EQ(calls_.num_results, 0);
}

TEST_F(DirectRefusalsTest, RetriesInterruptedWrites) {
  for (const int error : {EINTR, EAGAIN, ECANCELED})
    for (int n = 0; n < kNumWrites; ++n) {
      const int first = calls_.num_results;
      calls_.on_result = [=](int i, const internal::IoRequest&, int result) {
        return i == first + n || i == first + n + 1 ? -error : result;
      };
      write(static_cast<size_t>(n) + 2);
      expect_content(static_cast<size_t>(n) + 2);
      EXPECT_EQ(calls_.num_results, first + kNumWrites + 2);
    }
}

// Overwrites the bytes that the kernel claims not to have written.
void spoil_from(const internal::IoRequest& request, size_t written, const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const std::string garbage(request.end - request.begin - written, '!');
  EXPECT_EQ(
      ::pwrite(file, garbage.data(), garbage.size(), static_cast<off_t>(request.offset + written)),
      static_cast<ssize_t>(garbage.size()));
  ::close(file);
}

TEST_F(DirectRefusalsTest, CompletesShortWrites) {
  for (const size_t written : {0, 1, 511, 4096, 4097, 12'288, 16'383})
    for (int n = 0; n < kNumWrites; n += 3) {
      const int first = calls_.num_results;
      calls_.on_result = [=, this](int i, const internal::IoRequest& request, int result) {
        if (i != first + n) return result;
        spoil_from(request, written, path_);
        return static_cast<int>(written);
      };
      write(written + static_cast<size_t>(n));
      expect_content(written + static_cast<size_t>(n));
    }
}

TEST_F(DirectRefusalsTest, ThrowsIfAWriteMakesNoProgress) {
  for (const int result : {-EAGAIN, 0}) {
    calls_.on_result = [=](int, const internal::IoRequest&, int) { return result; };
    EXPECT_THAT([&] { write(0); }, ThrowsMessage<UnknownError>(HasSubstr(path_)));
  }
}

TEST_F(DirectRefusalsTest, AFailedWriteKillsOnlyItsFile) {
  for (const int error : {EIO, ENOSPC, EDQUOT, EFBIG, EROFS})
    for (int n = 0; n < kNumWrites; ++n) {
      SCOPED_TRACE(n);
      const int first = calls_.num_results;
      calls_.on_result = [=](int i, const internal::IoRequest&, int result) {
        return i == first + n ? -error : result;
      };
      const auto file = writer_.create(path_, kNumWrites * kBufferBytes);
      std::string message;
      try {
        file->append(pattern(kNumWrites * kBufferBytes));
        file->sync();
      } catch (const Error& e) {
        message = e.what();
      }
      EXPECT_THAT(message, AllOf(HasSubstr(path_), HasSubstr(::strerrorname_np(error))));
      EXPECT_THROW(file->append("x"), FailedPreconditionError);
      EXPECT_THROW(file->sync(), FailedPreconditionError);
      EXPECT_NO_THROW(file->close());
      calls_.on_result = nullptr;
      write(5);
      expect_content(5);
    }
  EXPECT_EQ(calls_.num_syncs, 5 * kNumWrites);  // Only of the good files.
}

TEST_F(DirectRefusalsTest, AFailureOfTheTailOrTheLengthKillsTheFile) {
  for (int n = 0; n < 2; ++n) {
    calls_.on_write_at = [n](int) { return n == 0 ? -ENOSPC : 0; };
    calls_.on_truncate = [n](int) { return n == 1 ? -EIO : 0; };
    const auto file = writer_.create(path_, 100'000);
    file->append(pattern(70'001));
    EXPECT_THROW(file->sync(), Error);
    EXPECT_THROW(file->sync(), FailedPreconditionError);
    const auto closed = writer_.create(path_, 100'000);
    closed->append(pattern(70'001));
    EXPECT_THROW(closed->close(), Error);
  }
  EXPECT_EQ(calls_.num_syncs, 0);
}

TEST_F(DirectRefusalsTest, CompletesATailWrittenByteByByte) {
  calls_.on_write_at = [](int n) { return n % 2 == 0 ? -EINTR : 1; };
  write(8);
  expect_content(8);
  EXPECT_EQ(calls_.num_write_ats, 10);
}

TEST_F(DirectRefusalsTest, RetriesSyncOnlyIfInterrupted) {
  calls_.on_sync = [](int n) { return n < 2 ? -EINTR : 0; };
  write(8);
  expect_content(8);
  EXPECT_EQ(calls_.num_syncs, 3);
}

TEST_F(DirectRefusalsTest, RetriesInterruptedCallsOfTheRing) {
  calls_.on_submit = [](int n) { return n % 3 == 0 ? -EINTR : n % 3 == 1 ? -EBUSY : 0; };
  calls_.on_wait = [](int n) { return n % 2 == 0 ? -EINTR : 0; };
  write(9);
  expect_content(9);
}

TEST_F(DirectRefusalsTest, DoesNotReuseABrokenRing) {
  for (const bool submitting : {true, false}) {
    calls_.num_rings = calls_.num_submits = calls_.num_waits = 0;
    calls_.on_submit = [=](int n) { return submitting && n == 2 ? -EFAULT : 0; };
    calls_.on_wait = [=](int n) { return !submitting && n == 2 ? -EFAULT : 0; };
    EXPECT_THAT([&] { write(1); },
                ThrowsMessage<UnknownError>(AllOf(HasSubstr(path_), HasSubstr("EFAULT"))));
    calls_.on_submit = calls_.on_wait = nullptr;
    write(2);
    expect_content(2);
    EXPECT_EQ(calls_.num_rings, 1);
  }
}

TEST_F(DirectRefusalsTest, FallsBackToThePageCacheIfTheRingRefusesRequests) {
  for (const int error : {EPERM, EACCES, ENOSYS, EAGAIN}) {
    calls_.on_submit = [=](int) { return -error; };
    internal::DirectWriter writer(options());
    const auto file = writer.create(path_, 100'000);
    file->append(pattern(100'000, 3));
    file->sync();
    file->close();
    EXPECT_TRUE(read_file(FileSystem::posix(), path_) == pattern(100'000, 3));
  }
  calls_.on_submit = [](int) { return -EPERM; };
  log_.clear();
  expect_logged_once("io_uring is refused: Operation not permitted (EPERM)");
}

// A real sandbox, which lets programs create rings but not use them, set up before the first file
// and between two files.
TEST_F(DirectRefusalsTest, WritesAndReadsInASandboxThatRefusesOnlyRequests) {
  constexpr int kNoSandbox = 77;
  const std::string bytes = pattern(size_t{3} << 20, 9);
  for (const int error : {EPERM, EACCES, ENOSYS})
    for (const int num_before : {0, 2}) {
      const int result = run_in_child([&] {
        internal::DirectWriter writer;
        internal::PosixStreams streams(internal::ReadWay::kDirect);
        for (int i = 0; i < 4; ++i) {
          if (i == num_before && !refuse_system_call(SYS_io_uring_enter, error)) return kNoSandbox;
          const auto file = writer.create(path_, bytes.size());
          file->append(bytes);
          file->sync();
          file->close();
          std::string found(bytes.size(), '?');
          const internal::PosixReadableFile written(path_, streams);
          written.stream(0, bytes.size())->read(std::as_writable_bytes(std::span(found)));
          if (found != bytes) return 1;
        }
        return 0;
      });
      if (result == kNoSandbox) GTEST_SKIP() << "no seccomp here";
      EXPECT_EQ(result, 0) << error << " after " << num_before;
    }
}

}  // namespace
}  // namespace crochet
