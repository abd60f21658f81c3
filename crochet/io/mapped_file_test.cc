// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/io/file_system.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class MappedFileTest : public testing::Test {
 protected:
  MappedFileTest() {
    for (size_t i = 0; i < content_.size(); ++i) content_[i] = static_cast<char>(i * i / 7);
    FileSystem::posix().create(path_)->append(content_);
  }
  std::unique_ptr<MappedBytes> map(uint64_t offset, uint64_t num_bytes) {
    return FileSystem::posix().open(path_)->map(offset, num_bytes);
  }
  static std::string_view text(const MappedBytes& mapped) {
    return {reinterpret_cast<const char*>(mapped.bytes().data()), mapped.bytes().size()};
  }

  const TempDirectory directory_;
  const std::string path_ = directory_ / "file";
  std::string content_ = std::string(20'000, '\0');
};

TEST_F(MappedFileTest, HasTheBytesOfEveryPart) {
  for (const uint64_t offset : {0, 1, 4095, 4096, 4097, 12288, 19'999, 20'000})
    for (const uint64_t length : {0, 1, 4096, 9000, 20'000}) {
      const uint64_t fitting = std::min(length, content_.size() - offset);
      const auto mapped = map(offset, fitting);
      ASSERT_NE(mapped, nullptr);
      EXPECT_TRUE(text(*mapped) == content_.substr(offset, fitting)) << fitting << " at " << offset;
    }
}

TEST_F(MappedFileTest, OutlivesFileAndName) {
  const auto mapped = map(0, content_.size());
  FileSystem::posix().remove(path_);
  EXPECT_TRUE(text(*mapped) == content_);
}

TEST_F(MappedFileTest, BeyondTheEndIsDataLoss) {
  const std::vector<std::pair<uint64_t, uint64_t>> beyond = {
      {0, 20'001}, {20'000, 1}, {20'001, 0}, {UINT64_MAX, 1}, {1, UINT64_MAX}};
  for (const auto& part : beyond)
    EXPECT_THAT([&] { map(part.first, part.second); },
                ThrowsMessage<DataLossError>(HasSubstr("the file has 20000 bytes")));
}

TEST(MappedMemoryTest, IsNotSupported) {
  MemoryFileSystem files;
  files.create("a")->append("x");
  EXPECT_EQ(files.open("a")->map(0, 1), nullptr);
}

}  // namespace
}  // namespace crochet
