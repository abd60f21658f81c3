// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/format/internal/open_files.h"

#include <sys/resource.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/forked_child.h"

namespace crochet::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr int kMore = static_cast<int>(OpenFiles::kMaxOpen) + 10;

std::string path_of(int number) { return fmt::format("d/file{}", number); }

class OpenFilesTest : public testing::Test {
 protected:
  OpenFilesTest() {
    files_.create_directories("d");
    for (int i = 0; i < kMore; ++i) files_.create(path_of(i))->append(std::to_string(i));
  }

  std::string read(int number) {
    std::string found(open_.size(number, [&] { return path_of(number); }), '?');
    open_.stream(number, path_of(number), 0, found.size())
        ->read(std::as_writable_bytes(std::span(found)));
    return found;
  }

  MemoryFileSystem files_;
  OpenFiles open_{files_, "the index"};
};

TEST_F(OpenFilesTest, ReadsMoreFilesThanItKeepsOpen) {
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < kMore; ++i) EXPECT_EQ(read(i), std::to_string(i));
}

// An open file can be read, whatever its name leads to now.
TEST_F(OpenFilesTest, KeepsTheMostRecentlyUsedFilesOpen) {
  for (int i = 0; i < kMore; ++i) read(i);
  for (int i = 0; i < kMore; ++i) files_.remove(path_of(i));
  for (int i = 10; i < kMore; ++i) EXPECT_EQ(read(i), std::to_string(i));
  for (int i = 0; i < 10; ++i)
    EXPECT_THAT([&] { read(i); },
                ThrowsMessage<DataLossError>(path_of(i) + ": removed while being read"));
}

TEST_F(OpenFilesTest, AMissingFileIsDataLoss) {
  EXPECT_THROW(open_.get(kMore, path_of(kMore)), DataLossError);
}

TEST_F(OpenFilesTest, AStreamKeepsItsFileOpen) {
  const auto stream = open_.stream(0, path_of(0), 0, 1);
  for (int i = 1; i < kMore; ++i) read(i);
  files_.remove(path_of(0));
  std::string found = "?";
  stream->read(std::as_writable_bytes(std::span(found)));
  EXPECT_EQ(found, "0");
}

TEST_F(OpenFilesTest, AcceptsOpenFiles) {
  open_.put(0, path_of(0), files_.open(path_of(0)));
  files_.remove(path_of(0));
  EXPECT_EQ(read(0), "0");
}

TEST_F(OpenFilesTest, RejectsAFileThatChangedWhileClosed) {
  for (int i = 0; i < kMore; ++i) read(i);
  files_.create(path_of(0))->append("00");
  EXPECT_THAT(
      [&] { open_.get(0, path_of(0)); },
      ThrowsMessage<DataLossError>("d/file0: changed while being read: found 2 bytes, expected 1"));
}

TEST(OpenFilesOnDiskTest, RejectsARewrittenFileOfTheSameSize) {
  const TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  OpenFiles open(files, "the index");
  for (int i = 0; i < kMore; ++i) {
    files.create(directory / std::to_string(i))->append("x");
    open.get(i, directory / std::to_string(i));
  }
  const double former = files.modified_time(directory / "0");
  while (files.modified_time(directory / "0") == former) files.create(directory / "0")->append("y");
  EXPECT_THAT([&] { open.get(0, directory / "0"); },
              ThrowsMessage<DataLossError>(HasSubstr("changed while being read")));
}

class ManyShardsTest : public testing::TestWithParam<CheckpointFormat> {};

INSTANTIATE_TEST_SUITE_P(Formats, ManyShardsTest,
                         testing::Values(CheckpointFormat::kTensorBundle,
                                         CheckpointFormat::kSafetensors));

// In a child process with a lower limit.
TEST_P(ManyShardsTest, NeedsFewDescriptors) {
  constexpr int kNumShards = 300;
  MemoryFileSystem memory;  // Syncing that many files on a disk would be slow.
  const auto writer =
      new_checkpoint_writer(GetParam(), memory, "d/model.ckpt-1", {.num_shards = kNumShards});
  for (int i = 0; i < kNumShards; ++i) {
    if (i > 0) writer->next_shard();
    writer->add(fmt::format("w{}", i), Tensor::scalar<int64_t>(i));
  }
  writer->finish();
  const TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  for (const std::string& name : memory.list("d"))
    files.create(directory / name)->append(read_file(memory, "d/" + name));
  EXPECT_EQ(run_in_child([&] {
              const rlimit limit = {.rlim_cur = 128, .rlim_max = 128};
              if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
              const CheckpointReader reader(directory / "model.ckpt-1");
              reader.verify();
              for (int i = 0; i < kNumShards; ++i)
                if (reader.read(fmt::format("w{}", i)).scalar<int64_t>() != i) return 2;
              return 0;
            }),
            0);
}

}  // namespace
}  // namespace crochet::internal
