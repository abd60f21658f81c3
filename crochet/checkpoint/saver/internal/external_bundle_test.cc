// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Syncing and publishing files written by the graph's own operations.
#include "crochet/checkpoint/saver/internal/external_bundle.h"

#include <errno.h>

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/attack_count.h"

namespace crochet::internal {
namespace {

constexpr char kPrefix[] = "d/m-1";

void write(FileSystem& files, const std::string& prefix, float value) {
  BundleWriter writer(files, prefix, {.num_shards = 2});
  writer.add("a", Tensor::scalar(value));
  writer.next_shard();
  writer.add("b", Tensor::scalar(value));
  writer.finish();
}

class ExternalBundleTest : public testing::Test {
 protected:
  ExternalBundleTest() { disk_.create_directories("d"); }

  // Like the graph's operations: files that are not synced.
  void write_unsynced(const ExternalBundle& stored, float value) {
    MemoryFileSystem elsewhere;
    write(elsewhere, stored.prefix(), value);
    for (const std::string& name : elsewhere.list("d")) {
      const auto file = files_.create("d/" + name);
      file->append(read_file(elsewhere, "d/" + name));
      file->close();
    }
  }

  MemoryFileSystem disk_;
  FailingFileSystem files_{disk_};
};

TEST_F(ExternalBundleTest, IsNeverSyncedAgainAfterASyncThatFailed) {
  int num_failures = 0;
  for (int64_t n = 0;; ++n, ++num_failures) {
    ExternalBundle stored(files_.open_directory("d"), kPrefix);
    write_unsynced(stored, 1);
    stored.open();
    const int64_t before = files_.num_failures();
    files_.fail_operation_with_errno(files_.num_operations() + n, EIO);
    try {
      stored.sync();
    } catch (const Error&) {
      EXPECT_THROW(stored.sync(), Error) << "after operation " << n;
    }
    if (files_.num_failures() == before) break;
  }
  EXPECT_GE(num_failures, 3) << "two data files and an index";
}

// The data files have the same names: one's index must never refer to the other's bytes.
TEST_F(ExternalBundleTest, ReplacesAnotherCheckpointOfItsNameAsAWhole) {
  AttackCount cuts("power_cuts");
  write(disk_, kPrefix, 1);
  disk_.sync_directory("d");
  ExternalBundle stored(files_.open_directory("d"), kPrefix);
  write_unsynced(stored, 2);
  stored.open();
  stored.sync();
  files_.watch([&](const std::string& operation) {
    std::vector<std::set<std::string>> kept = {{}};
    for (const std::string& name : disk_.unsynced_names()) kept.push_back({name});
    for (const auto& names : kept) {
      cuts.add();
      const auto left = disk_.after_power_cut({.kept_names = names});
      if (!checkpoint_exists(*left, kPrefix)) continue;
      EXPECT_NO_THROW(CheckpointReader(kPrefix, *left).verify())
          << "before " << operation << ", kept: " << testing::PrintToString(names);
    }
  });
  stored.publish();
  files_.watch({});
  EXPECT_GT(cuts.number(), 10);
  EXPECT_EQ(CheckpointReader(kPrefix, disk_).read("b").scalar<float>(), 2);
}

}  // namespace
}  // namespace crochet::internal
