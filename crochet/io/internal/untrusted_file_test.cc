// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/io/internal/untrusted_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"

namespace crochet::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr uint64_t kMegabyte = uint64_t{1} << 20;

class UntrustedFileTest : public ::testing::Test {
 protected:
  // A file with `content` at its start, the rest a hole.
  std::string sparse(uint64_t size, const std::string& content = "") {
    std::string path = directory_ / "file";
    const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    EXPECT_EQ(::write(file, content.data(), content.size()), static_cast<ssize_t>(content.size()));
    EXPECT_EQ(::ftruncate(file, static_cast<off_t>(size)), 0);
    ::close(file);
    return path;
  }

  FileSystem& files_ = FileSystem::posix();
  const TempDirectory directory_;
};

TEST_F(UntrustedFileTest, HolesAreNotStored) {
  EXPECT_EQ(files_.open(sparse(100, std::string(100, 'x')))->stored_bytes(), 100U);
  const auto hollow = files_.open(sparse(uint64_t{200} << 30, "some"));
  EXPECT_EQ(hollow->size(), uint64_t{200} << 30);
  EXPECT_LE(hollow->stored_bytes(), kMegabyte);
}

TEST_F(UntrustedFileTest, ReadsAPlausibleFile) {
  EXPECT_EQ(read_untrusted_file(files_, sparse(4, "some"), 4), "some");
  EXPECT_EQ(read_untrusted_file(files_, sparse(kMegabyte), kMegabyte).size(), kMegabyte);
  const std::string dense(3 * kMegabyte, 'x');
  EXPECT_EQ(read_untrusted_file(files_, sparse(3 * kMegabyte, dense), 3 * kMegabyte), dense);
  EXPECT_THROW(read_untrusted_file(files_, directory_ / "none", 4), NotFoundError);
}

// As over NFS.
class ReplacedFiles final : public MemoryFileSystem {
 public:
  explicit ReplacedFiles(int times) : times_(times) { create("file")->append("new"); }
  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    if (times_-- > 0) throw UnavailableError("replaced");
    return MemoryFileSystem::open(path);
  }

 private:
  int times_;
};

TEST_F(UntrustedFileTest, AReplacedFileIsReadAgain) {
  ReplacedFiles sometimes(10);
  EXPECT_EQ(read_untrusted_file(sometimes, "file", 4), "new");
  ReplacedFiles always(1000);
  EXPECT_THROW(read_untrusted_file(always, "file", 4), UnavailableError);
}

TEST_F(UntrustedFileTest, AllocatesNothingForOversizedOrHollowFiles) {
  const AllocationCounter allocations;
  EXPECT_THAT([&] { read_untrusted_file(files_, sparse(5), 4); },
              ThrowsMessage<DataLossError>(HasSubstr("5 bytes, expected at most 4")));
  for (const uint64_t size : {100 * kMegabyte, uint64_t{200} << 30})
    EXPECT_THAT(
        [&] {
          read_untrusted_file(files_, sparse(size, "some"), std::numeric_limits<uint64_t>::max());
        },
        ThrowsMessage<DataLossError>(HasSubstr(" are stored on disk")));
  EXPECT_LT(allocations.largest(), kMegabyte);
}

// Holes left by a sparse copy are valid zeros.
TEST_F(UntrustedFileTest, OpensDataWithHolesButNotHollowFiles) {
  EXPECT_EQ(open_untrusted_file(files_, sparse(1024 * kMegabyte))->size(), 1024 * kMegabyte);
  const std::string some(10 * kMegabyte, 'x');
  EXPECT_NO_THROW(open_untrusted_file(files_, sparse(8192 * kMegabyte, some)));
  EXPECT_THROW(open_untrusted_file(files_, sparse(uint64_t{200} << 30, some)), DataLossError);
}

TEST_F(UntrustedFileTest, RejectsADirectory) {
  files_.create_directories(directory_ / "d");
  EXPECT_THAT([&] { read_untrusted_file(files_, directory_ / "d", 10); },
              ThrowsMessage<FailedPreconditionError>(
                  HasSubstr("d: found a directory, expected a plain file")));
  MemoryFileSystem memory;
  memory.create_directories("d");
  EXPECT_THROW(open_untrusted_file(memory, "d"), FailedPreconditionError);
}

TEST_F(UntrustedFileTest, RejectsASizeBeyondAllMemory) {
  const auto claims = [](size_t size) {
    return [size] {
      return with_bounded_memory("dir/x", [&] { return std::vector<double>(size).size(); });
    };
  };
  EXPECT_EQ(claims(10)(), 10U);
  for (const size_t size : {std::numeric_limits<size_t>::max(), size_t{1} << 59})
    EXPECT_THAT(claims(size), ThrowsMessage<DataLossError>(HasSubstr("dir/x: ")));
}

}  // namespace
}  // namespace crochet::internal
