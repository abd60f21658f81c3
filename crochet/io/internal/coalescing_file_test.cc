// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/coalescing_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;

constexpr size_t kChunk = CoalescingFile::kChunkBytes;

class CoalescingFileTest : public testing::Test {
 protected:
  MemoryFileSystem disk_;
  FailingFileSystem files_{disk_};
  CoalescingFile file_{"a", files_.create("a")};
};

TEST_F(CoalescingFileTest, BuffersSmallPiecesAndPassesOnLargeOnes) {
  const std::string small(kChunk / 2, 's');
  const std::string large(kChunk + 1, 'l');
  file_.append("head");
  file_.append(small);
  file_.append(small);
  file_.append(large);
  file_.append("tail");
  file_.append("");
  EXPECT_THAT(files_.operations(),
              ElementsAre("create a", "append a 524292", "append a 524288", "append a 1048577"));
  file_.sync();
  file_.sync();
  file_.close();
  EXPECT_THAT(files_.operations(),
              ElementsAre("create a", "append a 524292", "append a 524288", "append a 1048577",
                          "append a 4", "sync a", "sync a", "close a"));
  EXPECT_TRUE(read_file(disk_, "a") == "head" + small + small + large + "tail");
}

TEST_F(CoalescingFileTest, FlushWritesBufferedBytes) {
  file_.append("head");
  file_.flush();
  EXPECT_THAT(files_.operations(), ElementsAre("create a", "append a 4"));
  file_.flush();
  file_.append("tail");
  file_.close();
  EXPECT_THAT(files_.operations(), ElementsAre("create a", "append a 4", "append a 4", "close a"));
  EXPECT_THROW(file_.flush(), FailedPreconditionError);
}

TEST_F(CoalescingFileTest, WritesOnlyWhenTheBufferOverflows) {
  file_.append(std::string(kChunk - 1, 'x'));
  file_.append("y");
  EXPECT_THAT(files_.operations(), ElementsAre("create a"));
  file_.append("z");
  EXPECT_THAT(files_.operations(), ElementsAre("create a", "append a 1048576"));
}

TEST_F(CoalescingFileTest, ExtendsChecksums) {
  const std::string text(3 * kChunk + 17, 'q');
  EXPECT_EQ(file_.append_with_crc32c(crc32c("abc"), std::as_bytes(std::span(text))),
            crc32c("abc" + text));
}

TEST_F(CoalescingFileTest, IsDeadAfterAnError) {
  files_.fail_operation(1, Code::kResourceExhausted);
  file_.append("gathered");
  EXPECT_THROW(file_.sync(), ResourceExhaustedError);
  EXPECT_THROW(file_.append("x"), FailedPreconditionError);
  EXPECT_THROW(file_.sync(), FailedPreconditionError);
  EXPECT_NO_THROW(file_.close());
  EXPECT_THROW(file_.close(), FailedPreconditionError);
}

TEST_F(CoalescingFileTest, CloseWritesBufferedBytesOrThrows) {
  files_.fail_operation(1, Code::kResourceExhausted);
  file_.append("gathered");
  EXPECT_THROW(file_.close(), ResourceExhaustedError);
}

}  // namespace
}  // namespace crochet::internal
