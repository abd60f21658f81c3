// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/merge_bundles.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/io/file_system.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/attack_count.h"
#include "tests/support/raw_bundle.h"

namespace crochet {
namespace {

using internal::RawBundle;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::ThrowsMessage;

const std::vector<std::string> kParts = {"in/a", "in/b"};

void write(FileSystem& files, const std::string& prefix, const TensorMap& tensors) {
  internal::BundleWriter writer(files, prefix);
  for (const auto& [name, tensor] : tensors) writer.add(name, tensor);
  writer.finish();
}

// Two parts, each with some tensors and half of a partitioned one.
void write_parts(FileSystem& files) {
  for (const int64_t i : {0, 1}) {
    internal::BundleWriter writer(files, kParts[static_cast<size_t>(i)]);
    writer.add(fmt::format("t{}", i), Tensor::scalar(static_cast<double>(i)));
    writer.add(fmt::format("tags{}", i), Tensor::from({"x", "yy"}));
    writer.add_slice("p", {4}, {{2 * i, 2}}, Tensor::from<int64_t>({2 * i, 2 * i + 1}));
    writer.finish();
  }
}

void expect_merged(FileSystem& files) {
  const CheckpointReader reader("out/m", files);
  reader.verify();
  EXPECT_THAT(reader.tensors(),
              ElementsAre(Key("p"), Key("t0"), Key("t1"), Key("tags0"), Key("tags1")));
  EXPECT_EQ(reader.read("t0").scalar<double>(), 0);
  EXPECT_EQ(reader.read("t1").scalar<double>(), 1);
  EXPECT_EQ(reader.read("tags1"), Tensor::from({"x", "yy"}));
  EXPECT_EQ(reader.read("p"), Tensor::from<int64_t>({0, 1, 2, 3}));
}

// TB-2, TB-10
TEST(MergeBundlesTest, TwoBecomeOneOfTwoShards) {
  MemoryFileSystem files;
  write_parts(files);
  merge_bundles(files, kParts, "out/m");
  EXPECT_THAT(files.list("out"),
              ElementsAre("m.data-00000-of-00002", "m.data-00001-of-00002", "m.index"));
  EXPECT_THAT(files.list("in"), testing::IsEmpty());
  expect_merged(files);
  files.power_cut();
  expect_merged(files);
}

const auto kJoinsX = [](std::string_view name) { return name == "x"; };

TEST(MergeBundlesTest, JoinsRows) {
  for (const std::vector<int64_t>& counts :
       std::vector<std::vector<int64_t>>{{2, 3}, {0, 3}, {3, 0}, {0, 0}, {1, 0, 0, 4}, {7}}) {
    MemoryFileSystem files;
    std::vector<std::string> parts;
    std::vector<float> all;
    for (const int64_t count : counts) {
      std::vector<float> elements;
      for (int64_t i = 0; i < 2 * count; ++i)
        elements.push_back(static_cast<float>(all.size() + elements.size()));
      all.insert(all.end(), elements.begin(), elements.end());
      parts.push_back(fmt::format("in/{}", parts.size()));
      write(files, parts.back(), {{"x", Tensor::from(elements, {count, 2})}});
    }
    merge_bundles(files, parts, "out/m", kJoinsX);
    const CheckpointReader reader("out/m", files);
    reader.verify();
    const auto rows = static_cast<int64_t>(all.size()) / 2;
    EXPECT_EQ(reader.read("x"), Tensor::from(all, {rows, 2}));
  }
}

TEST(MergeBundlesTest, RejectsRowsThatDoNotFit) {
  const auto rejects = [](const TensorMap& other, const std::string& why) {
    MemoryFileSystem files;
    write(files, "in/a", {{"x", Tensor::zeros<float>({2, 2})}});
    write(files, "in/b", other);
    EXPECT_THAT([&] { merge_bundles(files, kParts, "out/m", kJoinsX); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(why)));
  };
  rejects({{"y", Tensor::scalar(1)}}, "\"x\" is in 1 of 2 parts, expected its rows in all");
  rejects({{"x", Tensor::zeros<float>({2, 3})}}, "expected rows of the same type");
  rejects({{"x", Tensor::zeros<double>({2, 2})}}, "expected rows of the same type");
  rejects({{"x", Tensor::scalar(1.0F)}}, "expected rows");
}

// TB-10
TEST(MergeBundlesTest, OneIsRenamed) {
  MemoryFileSystem files;
  write(files, "in/a", {{"w", Tensor::from<float>({1, 2})}});
  merge_bundles(files, {{"in/a"}}, "m");
  EXPECT_THAT(files.list(""), ElementsAre("in", "m.data-00000-of-00001", "m.index"));
  EXPECT_EQ(CheckpointReader("m", files).read("w"), Tensor::from<float>({1, 2}));
}

TEST(MergeBundlesTest, MergedBundlesAreMergedAgain) {
  MemoryFileSystem files;
  write_parts(files);
  merge_bundles(files, kParts, "in/ab");
  write(files, "in/c", {{"w", Tensor::from<float>({1, 2})}});
  merge_bundles(files, {{"in/c", "in/ab"}}, "out/m");
  EXPECT_EQ(files.list("out").size(), 4u);
  const CheckpointReader reader("out/m", files);
  reader.verify();
  EXPECT_EQ(reader.read("w"), Tensor::from<float>({1, 2}));
  EXPECT_EQ(reader.read("p"), Tensor::from<int64_t>({0, 1, 2, 3}));
}

// Header and file names agree even if one of the inputs has no data.
TEST(MergeBundlesTest, EmptyInputsAreIgnored) {
  MemoryFileSystem files;
  write(files, "in/a", {});
  write(files, "in/b", {{"w", Tensor::from<float>({1, 2})}});
  merge_bundles(files, kParts, "out/m");
  EXPECT_THAT(files.list("out"), ElementsAre("m.data-00000-of-00001", "m.index"));
  EXPECT_EQ(CheckpointReader("out/m", files).read("w"), Tensor::from<float>({1, 2}));
  EXPECT_THAT(files.list("in"), testing::IsEmpty());
  write(files, "in/a", {});
  merge_bundles(files, {{"in/a"}}, "out/empty");
  CheckpointReader("out/empty", files).verify();
}

TEST(MergeBundlesTest, RejectsIncompatibleInputsAndChangesNothing) {
  MemoryFileSystem files;
  files.create_directories("in");
  const auto expect_refused = [&](const std::string& reason) {
    const size_t before = files.list("in").size();
    EXPECT_THAT([&] { merge_bundles(files, kParts, "out/m"); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(reason)));
    EXPECT_EQ(files.list("in").size(), before);
    EXPECT_FALSE(files.exists("out/m.index"));
  };
  const auto put_slice = [&](const std::string& prefix, const Shape& shape, int64_t start) {
    internal::BundleWriter writer(files, prefix);
    writer.add_slice("w", shape, {{start, 2}}, Tensor::from<float>({1, 2}));
    writer.finish();
  };
  write(files, "in/a", {{"w", Tensor::from<float>({1, 2})}});
  write(files, "in/b", {{"w", Tensor::from<float>({1, 2})}});
  expect_refused("\"w\" is in in/b");
  put_slice("in/b", {4}, 0);
  expect_refused("\"w\" is in in/b");
  put_slice("in/a", {4}, 1);
  expect_refused("overlaps 1,2");
  put_slice("in/a", {5}, 2);
  expect_refused("\"w\" is float32 [4] in in/b and float32 [5]");
  RawBundle{.header = {.big_endian = true}, .shards = {""}}.put(files, "in/a");
  expect_refused("differ in byte order");
  RawBundle{.header = {.producer = 2}, .shards = {""}}.put(files, "in/a");
  expect_refused("differ in byte order or version");
  EXPECT_THROW(merge_bundles(files, {}, "out/m"), InvalidArgumentError);
}

TEST(MergeBundlesTest, RejectsMissingInputsAndAnExistingOutput) {
  MemoryFileSystem files;
  write_parts(files);
  EXPECT_THROW(merge_bundles(files, {{"in/a", "in/c"}}, "out/m"), NotFoundError);
  EXPECT_THROW(merge_bundles(files, kParts, "in/b"), AlreadyExistsError);
  files.remove(internal::data_filename("in/b", 0, 1));
  EXPECT_THAT([&] { merge_bundles(files, kParts, "out/m"); },
              ThrowsMessage<DataLossError>(HasSubstr("in/b.data-00000-of-00001")));
  EXPECT_TRUE(files.exists(internal::data_filename("in/a", 0, 1)));
}

// A disk may persist the name of the index before those of the data.
TEST(MergeBundlesTest, IsCompleteWhicheverNewNamesADiskKept) {
  MemoryFileSystem disk;
  write_parts(disk);
  FailingFileSystem files(disk);
  AttackCount cuts("power_cuts");
  files.watch([&](const std::string& operation) {
    SCOPED_TRACE("before " + operation);
    for (const std::string& name : disk.unsynced_names()) {
      if (directory_of(name) != "out") continue;
      cuts.add();
      const auto left = disk.after_power_cut({.kept_names = {name}});
      if (!left->exists("out/m.index")) merge_bundles(*left, kParts, "out/m");
      expect_merged(*left);
    }
  });
  merge_bundles(files, kParts, "out/m");
  EXPECT_GT(cuts.number(), 3);
}

class MergeBundlesCrashTest : public testing::TestWithParam<PowerCut> {};

TEST_P(MergeBundlesCrashTest, TheSameCallFinishesTheWork) {
  for (int64_t n = 0;; ++n) {
    SCOPED_TRACE(fmt::format("operation {}", n));
    MemoryFileSystem disk;
    write_parts(disk);
    FailingFileSystem files(disk);
    files.fail_operation(n, Code::kResourceExhausted, Failing::kFromThenOn);
    try {
      merge_bundles(files, kParts, "out/m");
    } catch (const ResourceExhaustedError&) {
    }
    if (files.num_failures() == 0) break;
    disk.power_cut(GetParam());
    if (!disk.exists("out/m.index")) merge_bundles(disk, kParts, "out/m");
    expect_merged(disk);
    ASSERT_LT(n, 100);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFate, MergeBundlesCrashTest,
                         testing::Values(PowerCut{UnsyncedNames::kLost, UnsyncedBytes::kLost},
                                         PowerCut{UnsyncedNames::kKept, UnsyncedBytes::kLost},
                                         PowerCut{UnsyncedNames::kKept, UnsyncedBytes::kHalf},
                                         PowerCut{UnsyncedNames::kKept, UnsyncedBytes::kKept}));

}  // namespace
}  // namespace crochet
