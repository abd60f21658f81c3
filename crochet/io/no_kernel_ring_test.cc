// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Large files in a build without liburing; crochet_io_plain_test is one.
#include <errno.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/io/internal/direct_writer.h"
#include "crochet/io/internal/io_ring.h"
#include "crochet/io/internal/posix_files.h"
#include "crochet/io/internal/posix_streams.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(NoKernelRingTest, SaysThatTheSystemHasNoRings) {
  int error = 0;
  EXPECT_EQ(
      internal::IoRing::make(internal::DirectCalls::real(), 2, internal::kDirectAlignment, error),
      nullptr);
  EXPECT_EQ(error, ENOSYS);
}

TEST(NoKernelRingTest, FilesAreWrittenAndReadThroughThePageCache) {
  const TempDirectory directory;
  const std::string path = directory / "file";
  const std::string content(size_t{3} << 20, 'x');
  const LogCapture log;
  internal::DirectWriter writer;
  internal::PosixStreams streams(internal::ReadWay::kDirect);
  for (int i = 0; i < 3; ++i) {
    const auto file = writer.create(path, content.size());
    file->append(content);
    file->sync();
    file->close();
    std::string found(content.size(), '?');
    const internal::PosixReadableFile written(path, streams);
    written.stream(0, content.size())->read(std::as_writable_bytes(std::span(found)));
    EXPECT_TRUE(found == content);
  }
  // Not every file system has O_DIRECT.
  const auto reason = AnyOf(HasSubstr("ENOSYS"), HasSubstr("EINVAL"), HasSubstr("EOPNOTSUPP"));
  EXPECT_THAT(log.lines(), ElementsAre(AllOf(HasSubstr("written through the page cache"), reason),
                                       AllOf(HasSubstr("read through the page cache"), reason)));
}

}  // namespace
}  // namespace crochet
