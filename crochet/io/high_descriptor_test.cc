// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/io/internal/direct_writer.h"
#include "crochet/io/internal/file_descriptor.h"
#include "crochet/io/internal/posix_files.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/forked_child.h"

namespace crochet {
namespace {

void close_standard_streams() {
  for (const int descriptor : {0, 1, 2}) ::close(descriptor);
}

// True if the descriptor is closed, or occupied so that nothing can be printed to it.
bool are_standard_streams_closed() {
  for (const int descriptor : {0, 1, 2})
    if (::write(descriptor, "x", 1) >= 0 || errno != EBADF) return false;
  return true;
}

TEST(HighDescriptorTest, LeavesHighDescriptorsAndErrorsAlone) {
  EXPECT_EQ(internal::above_standard_streams(-1), -1);
  EXPECT_EQ(internal::above_standard_streams(3), 3);
  EXPECT_EQ(internal::above_standard_streams(1000), 1000);
}

TEST(HighDescriptorTest, MovesLowDescriptorsAndMarksThemCloseOnExec) {
  EXPECT_EQ(run_in_child([] {
              close_standard_streams();
              const int low = ::open("/dev/null", O_RDONLY);
              const int high = internal::above_standard_streams(low);
              if (low != 0 || high < 3 || !are_standard_streams_closed()) return 1;
              return ::fcntl(high, F_GETFD) == FD_CLOEXEC ? 0 : 2;
            }),
            0);
}

// Neither files nor rings of the library use descriptors to which other code prints.
TEST(HighDescriptorTest, DirectWritesAndReadsLeaveTheStandardStreamsClosed) {
  const TempDirectory directory;
  const std::string path = directory / "file";
  const std::string content(size_t{3} << 20, 'x');
  EXPECT_EQ(run_in_child([&] {
              close_standard_streams();
              internal::DirectWriter writer;
              const auto file = writer.create(path, content.size());
              if (!are_standard_streams_closed()) return 1;
              file->append(content);
              file->sync();
              if (!are_standard_streams_closed()) return 2;
              file->close();
              return 0;
            }),
            0);
  EXPECT_EQ(run_in_child([&] {
              internal::PosixStreams streams(internal::ReadWay::kDirect);
              const internal::PosixReadableFile file(path, streams);
              close_standard_streams();
              std::string found(content.size(), '?');
              const auto stream = file.stream(0, content.size());
              if (!are_standard_streams_closed()) return 2;
              stream->read(std::as_writable_bytes(std::span(found)));
              return found == content ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace crochet
