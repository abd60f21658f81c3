// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What remains of a process that is killed after its checkpoint is written and before it is synced.
#include <signal.h>
#include <unistd.h>

#include <map>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/format/checkpoint_writer.h"
#include "crochet/io/file_system.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/forked_child.h"

namespace crochet {
namespace {

struct Case {
  CheckpointFormat format;
  int num_shards;
  int64_t num_elements;  // Of the largest tensor.
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << checkpoint_format_name(c.format) << " of " << c.num_shards << " files, " << c.num_elements
       << " elements";
}

class KilledWriterTest : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<CheckpointWriter> add_all(const std::string& directory) {
    const auto [format, num_shards, num_elements] = GetParam();
    const std::vector<uint64_t> expected(static_cast<size_t>(num_shards), num_elements * 4);
    auto writer = new_checkpoint_writer(format, FileSystem::posix(), directory + "/model.ckpt-1",
                                        {.num_shards = num_shards, .expected_bytes = expected});
    std::mt19937 random(1);
    std::vector<uint32_t> numbers(static_cast<size_t>(num_elements));
    for (int shard = 0; shard < num_shards; ++shard) {
      if (shard > 0) writer->next_shard();
      for (uint32_t& number : numbers) number = static_cast<uint32_t>(random());
      writer->add(fmt::format("large{}", shard), Tensor::from(numbers));
      writer->add(fmt::format("text{}", shard),
                  Tensor::from(std::vector<std::string>{"a", "bc", ""}));
    }
    return writer;
  }
  // The data files, by their names without temporary suffixes.
  std::map<std::string, std::string> data_files(const std::string& directory) {
    std::map<std::string, std::string> files;
    for (const std::string& name : FileSystem::posix().list(directory)) {
      const std::string final_name = name.substr(0, name.find(".tempstate"));
      if (final_name.ends_with(".index") || final_name.ends_with(".index.json")) continue;
      files[final_name] = read_file(FileSystem::posix(), join_path(directory, name));
    }
    return files;
  }

  const TempDirectory killed_;
  const TempDirectory sound_;
};

INSTANTIATE_TEST_SUITE_P(Formats, KilledWriterTest,
                         testing::Values(Case{CheckpointFormat::kTensorBundle, 1, 1000},
                                         Case{CheckpointFormat::kTensorBundle, 1, 1'000'003},
                                         Case{CheckpointFormat::kTensorBundle, 3, 1'000'003},
                                         Case{CheckpointFormat::kSafetensors, 1, 1000},
                                         Case{CheckpointFormat::kSafetensors, 1, 1'000'003},
                                         Case{CheckpointFormat::kSafetensors, 3, 1'000'003}));

TEST_P(KilledWriterTest, LeavesAllBytesOfTheTensors) {
  const auto in_child = [&] {
    const auto writer = add_all(killed_.path());
    writer->write();
    ::kill(::getpid(), SIGKILL);
    return 0;
  };
  ASSERT_EQ(run_in_child(in_child), -SIGKILL);
  add_all(sound_.path())->finish();
  const auto found = data_files(killed_.path());
  const auto expected = data_files(sound_.path());
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, bytes] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_EQ(found.at(name).size(), bytes.size()) << name;
    EXPECT_TRUE(found.at(name) == bytes) << name;
  }
}

}  // namespace
}  // namespace crochet
