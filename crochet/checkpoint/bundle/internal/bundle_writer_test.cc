// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"

#include <errno.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <numeric>
#include <span>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_format.h"
#include "crochet/checkpoint/bundle/internal/bundle_index.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/format/internal/stored_tensor.h"
#include "crochet/io/internal/crc32c.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Matches;
using testing::StartsWith;
using testing::Throws;
using testing::ThrowsMessage;

const std::string kBundle = "runs/x/model.ckpt-2";

Tensor numbers(int count, float first = 0) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return Tensor::from(values);
}

void write_bundle(FileSystem& files, const std::string& prefix, float first) {
  BundleWriter writer(files, prefix);
  writer.add("w", numbers(100, first));
  writer.add("step", Tensor::scalar<int64_t>(7));
  writer.finish();
}

bool has(FileSystem& files, const std::string& prefix) {
  return files.exists(index_filename(prefix));
}

// The whole content that a reader finds afterwards.
void expect_whole(FileSystem& files, const std::string& prefix, float first) {
  const CheckpointReader reader(prefix, files);
  reader.verify();
  EXPECT_EQ(reader.tensors().size(), 2u);
  EXPECT_EQ(reader.read("w"), numbers(100, first));
  EXPECT_EQ(reader.read("step").scalar<int64_t>(), 7);
}

TEST(BundleWriterTest, WritesTheSameBytesWhateverTheBuffering) {
  MemoryFileSystem files;
  BundleWriter writer(files, kBundle);
  std::string expected;
  for (const int count : {3, 0, 200'000, 5, 300'000, 262'144, 1'000'000, 1}) {
    const Tensor tensor = numbers(count);
    writer.add(fmt::format("t{}", count), tensor);
    const auto bytes = tensor.bytes();
    if (bytes.size() >= kPageAlignedBytes)
      expected.resize((expected.size() + kDataPageBytes - 1) / kDataPageBytes * kDataPageBytes);
    expected.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  writer.finish();
  EXPECT_TRUE(read_file(files, data_filename(kBundle, 0, 1)) == expected);
  CheckpointReader(kBundle, files).verify();
}

// The files do not show whether the elements were in memory.
TEST(BundleWriterTest, ReadsElementsThatAreNotInMemory) {
  const std::vector<Tensor> tensors = {numbers(3), numbers(0), numbers(1'000'000), numbers(7)};
  const auto write = [&](FileSystem& files, bool in_memory) {
    BundleWriter writer(files, kBundle);
    std::vector<Tensor> memory;
    for (const Tensor& tensor : tensors) {
      memory.emplace_back(tensor.dtype(), tensor.shape());
      const std::string name = fmt::format("t{}", tensor.num_elements());
      if (in_memory) {
        writer.add(name, tensor);
        continue;
      }
      const auto bytes = tensor.bytes();
      writer.add(name, {memory.back(), [bytes](size_t begin, std::span<std::byte> into) {
                          std::ranges::copy(bytes.subspan(begin, into.size()), into.begin());
                        }});
    }
    writer.finish();
  };
  MemoryFileSystem files, expected;
  write(files, false);
  write(expected, true);
  for (const std::string& file : {index_filename(kBundle), data_filename(kBundle, 0, 1)})
    EXPECT_TRUE(read_file(files, file) == read_file(expected, file)) << file;
}

TEST(BundleWriterTest, RefusesTypesThatTensorFlowLacks) {
  MemoryFileSystem files;
  BundleWriter writer(files, "m");
  EXPECT_THAT([&] { writer.add("w", Tensor(DType::kFloat8E8m0fnu, {2})); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("m: \"w\" is float8_e8m0fnu, a type that TensorFlow does not have")));
}

TEST(BundleWriterTest, ReportsSizesAndChecksum) {
  MemoryFileSystem files;
  BundleWriter writer(files, kBundle);
  writer.add("w", numbers(100));
  writer.finish();
  const std::string index = read_file(files, index_filename(kBundle));
  EXPECT_EQ(CheckpointReader(kBundle, files).tensors().size(), 1u);
  EXPECT_EQ(writer.data_bytes(), 400u);
  EXPECT_EQ(writer.total_bytes(), 400u + index.size());
  EXPECT_EQ(writer.index_crc32c(), mask_crc32c(crc32c(index)));
}

// TB-16: content and order of names are the same as without an alignment.
TEST(BundleWriterTest, AcceptsAnyAlignment) {
  MemoryFileSystem files;
  TensorMap tensors{{"tags", Tensor::from({"ab", "", "c"})}};
  for (const int count : {0, 1, 7, 10, 11, 42})
    tensors[fmt::format("t{:02}", count)] = numbers(count);
  BundleWriter writer(files, kBundle, {.alignment = 42});
  for (const auto& [name, tensor] : tensors) writer.add(name, tensor);
  writer.finish();
  for (const auto& [name, entry] : read_bundle_index(files, index_filename(kBundle)).entries)
    EXPECT_EQ(entry.offset % 42, 0) << name;
  EXPECT_EQ(files.file_size(data_filename(kBundle, 0, 1)) % 42, 0u);
  const CheckpointReader reader(kBundle, files);
  reader.verify();
  auto expected = tensors.begin();
  for (const auto& [name, info] : reader.tensors()) {
    EXPECT_EQ(name, expected->first);
    EXPECT_EQ(reader.read(name), expected++->second);
  }
}

// TB-14
TEST(BundleWriterTest, TheHeaderHasShardsByteOrderAndVersion) {
  MemoryFileSystem files;
  write_bundle(files, kBundle, 1);
  const BundleHeader header = read_bundle_index(files, index_filename(kBundle)).header;
  EXPECT_EQ(header.num_shards, 1);
  EXPECT_FALSE(header.big_endian);
  EXPECT_EQ(header.producer, 1);
  EXPECT_EQ(header.min_consumer, 0);
  EXPECT_THAT(header.bad_consumers, IsEmpty());
}

TEST(BundleWriterTest, AlignsEveryTensor) {
  MemoryFileSystem files;
  BundleWriter writer(files, kBundle, {.alignment = 64});
  writer.add("a", numbers(1, 1));
  writer.add("b", numbers(16, 2));
  writer.add("c", numbers(17, 3));
  writer.finish();
  EXPECT_EQ(files.file_size(data_filename(kBundle, 0, 1)), 64u + 64 + 128);
  const CheckpointReader reader(kBundle, files);
  reader.verify();
  EXPECT_EQ(reader.read("c"), numbers(17, 3));
}

TEST(BundleWriterTest, LargeTensorsStartAtPagesAndSmallOnesWithoutAGap) {
  constexpr int kLarge = static_cast<int>(kPageAlignedBytes / sizeof(float));
  MemoryFileSystem files;
  const TensorMap tensors{{"a", numbers(1)},
                          {"b", numbers(kLarge)},
                          {"c", numbers(3)},
                          {"d", numbers(kLarge + 1)},
                          {"e", numbers(kLarge - 1)}};
  BundleWriter writer(files, kBundle);
  for (const auto& [name, tensor] : tensors) writer.add(name, tensor);
  writer.finish();
  const int64_t page = kDataPageBytes;
  const int64_t large = kPageAlignedBytes;
  std::vector<int64_t> offsets;
  for (const auto& [name, entry] : read_bundle_index(files, index_filename(kBundle)).entries)
    offsets.push_back(entry.offset);
  EXPECT_THAT(offsets,
              ElementsAre(0, page, page + large, 2 * page + large, 2 * page + 2 * large + 4));
  const CheckpointReader reader(kBundle, files);
  reader.verify();
  for (const auto& [name, tensor] : tensors) EXPECT_EQ(reader.read(name), tensor) << name;
}

// The order that makes a checkpoint either complete or absent: do not change it lightly.
TEST(BundleWriterTest, OperationsHappenInOrder) {
  MemoryFileSystem disk;
  disk.create_directories("runs/x");
  FailingFileSystem files(disk);
  write_bundle(files, kBundle, 1);
  const std::string data = data_filename(kBundle, 0, 1);
  const std::string index = index_filename(kBundle);
  const auto ends_with = [](const std::string& end) { return testing::EndsWith(end); };
  EXPECT_THAT(
      files.operations(),
      ElementsAre(
          StartsWith("create_large " + data + ".tempstate"), ends_with(" 400"), ends_with(" 8"),
          StartsWith("sync " + data + ".tempstate"), StartsWith("close " + data + ".tempstate"),
          StartsWith("create " + index + ".tempstate"),
          StartsWith("append " + index + ".tempstate"), StartsWith("sync " + index + ".tempstate"),
          StartsWith("close " + index + ".tempstate"), ends_with(" -> " + data),
          "sync_directory runs/x", ends_with(" -> " + index), "sync_directory runs/x"));
}

TEST(BundleWriterTest, AllDataFilesAreSyncedBeforeAnyHasItsName) {
  MemoryFileSystem disk;
  FailingFileSystem files(disk);
  BundleWriter writer(files, kBundle, {.num_shards = 3});
  writer.add("a", numbers(1, 1));
  writer.next_shard();
  writer.add("b", numbers(2, 2));
  writer.add_slice("c", {4}, parse_slice("0,2"), Tensor::from<float>({1, 2}));
  writer.finish();  // The third is empty.
  std::vector<std::string> kinds;
  for (const std::string& operation : files.operations())
    kinds.push_back(operation.substr(0, operation.find(' ')));
  EXPECT_THAT(kinds, ElementsAre("create_directories", "create_large", "append",    //
                                 "create_large", "append", "append",                // Two are open.
                                 "sync", "close", "create_large", "sync", "close",  //
                                 "sync", "close",                                   //
                                 "create", "append", "sync", "close",               //
                                 "rename", "rename", "rename", "sync_directory", "rename",
                                 "sync_directory"));
  EXPECT_THAT(disk.list("runs/x"),
              ElementsAre("model.ckpt-2.data-00000-of-00003", "model.ckpt-2.data-00001-of-00003",
                          "model.ckpt-2.data-00002-of-00003", "model.ckpt-2.index"));
  EXPECT_EQ(writer.data_bytes(), disk.file_size(data_filename(kBundle, 0, 3)) +
                                     disk.file_size(data_filename(kBundle, 1, 3)));
  const CheckpointReader reader(kBundle, disk);
  reader.verify();
  EXPECT_EQ(reader.read("a"), numbers(1, 1));
  EXPECT_EQ(reader.read("b"), numbers(2, 2));
  EXPECT_EQ(reader.read_slice("c", parse_slice("1,1")), Tensor::from<float>({2}));
}

TEST(BundleWriterTest, EachDataFileReservesItsExpectedSize) {
  MemoryFileSystem files;
  files.create_directories("runs/x");
  files.set_capacity(1000);
  EXPECT_THROW(BundleWriter(files, kBundle, {.expected_bytes = {1001}}), ResourceExhaustedError);
  EXPECT_THAT(files.list("runs/x"), IsEmpty());
  BundleWriter writer(files, kBundle, {.num_shards = 3, .expected_bytes = {1000, 1001}});
  writer.add("a", numbers(1));
  EXPECT_EQ(writer.data_bytes(), 4u);
  EXPECT_THAT([&] { writer.next_shard(); }, ThrowsMessage<ResourceExhaustedError>(
                                                HasSubstr("1001 bytes are needed, 0 are free")));
  EXPECT_THAT(files.list("runs/x"), IsEmpty());
}

TEST(BundleWriterTest, TheExpectedSizeIsNotALimit) {
  for (const uint64_t expected : {0, 1, 1'000'000}) {
    MemoryFileSystem files;
    BundleWriter writer(files, kBundle, {.num_shards = 2, .expected_bytes = {expected}});
    writer.add("a", numbers(1000));
    writer.next_shard();
    writer.add("b", numbers(2000));
    writer.finish();
    const CheckpointReader reader(kBundle, files);
    reader.verify();
    EXPECT_EQ(reader.read("b"), numbers(2000));
    EXPECT_EQ(writer.data_bytes(), 12'000u);
  }
}

TEST(BundleWriterTest, RejectsMoreDataFilesThanConfigured) {
  MemoryFileSystem files;
  BundleWriter writer(files, kBundle, {.num_shards = 2});
  writer.next_shard();
  EXPECT_THROW(writer.next_shard(), InvalidArgumentError);
  EXPECT_THAT(files.list("runs/x"), IsEmpty());
  for (const int num_shards : {-1, 0, 100'000})
    EXPECT_THROW(BundleWriter(files, kBundle, {.num_shards = num_shards}), InvalidArgumentError);
}

TEST(BundleWriterTest, NothingHasItsNameBeforePublish) {
  MemoryFileSystem files;
  BundleWriter writer(files, kBundle);
  writer.add("w", numbers(3));
  writer.write_and_sync();
  EXPECT_FALSE(has(files, kBundle));
  EXPECT_FALSE(files.exists(data_filename(kBundle, 0, 1)));
  writer.publish();
  EXPECT_TRUE(has(files, kBundle));
  EXPECT_EQ(files.list("runs/x").size(), 2u);
}

TEST(BundleWriterTest, LeavesNothingWithoutPublish) {
  MemoryFileSystem files;
  { BundleWriter writer(files, kBundle); }
  {
    BundleWriter writer(files, kBundle);
    writer.add("w", numbers(300'000));
    writer.write_and_sync();
  }
  EXPECT_THAT(files.list("runs/x"), IsEmpty());
}

TEST(BundleWriterTest, CreatesTheDirectory) {
  MemoryFileSystem files;
  write_bundle(files, "a/b/c/model.ckpt-1", 1);
  files.power_cut();
  expect_whole(files, "a/b/c/model.ckpt-1", 1);
}

TEST(BundleWriterTest, WritesToTheCurrentDirectory) {
  MemoryFileSystem files;
  write_bundle(files, "model.ckpt-1", 1);
  expect_whole(files, "model.ckpt-1", 1);
}

// TB-11
TEST(BundleWriterTest, RejectsBadTensorsAndIsDeadAfterwards) {
  const auto refused = [](const std::string& name, const Tensor& tensor) {
    MemoryFileSystem files;
    BundleWriter writer(files, kBundle);
    writer.add("taken", numbers(1));
    EXPECT_THROW(writer.add(name, tensor), InvalidArgumentError) << name;
    EXPECT_THROW(writer.add("fine", numbers(1)), FailedPreconditionError);
    EXPECT_THROW(writer.finish(), FailedPreconditionError);
    EXPECT_THAT(files.list("runs/x"), IsEmpty());
  };
  refused("", numbers(1));
  refused("taken", numbers(1));
  refused(std::string("\0a", 2), numbers(1));
  refused("unset", Tensor());
}

// TB-11
TEST(BundleWriterTest, RejectsCallsOutOfOrder) {
  MemoryFileSystem files;
  BundleWriter writer(files, kBundle);
  EXPECT_THROW(writer.publish(), FailedPreconditionError);
  writer.write_and_sync();
  EXPECT_THROW(writer.add("late", numbers(1)), FailedPreconditionError);
  EXPECT_THROW(writer.write_and_sync(), FailedPreconditionError);
  writer.publish();
  EXPECT_THROW(writer.publish(), FailedPreconditionError);
  EXPECT_THROW(writer.finish(), FailedPreconditionError);
  EXPECT_TRUE(has(files, kBundle));
}

TEST(BundleWriterTest, RejectsAnAlignmentOfZero) {
  MemoryFileSystem files;
  EXPECT_THROW(BundleWriter(files, kBundle, {.alignment = 0}), InvalidArgumentError);
}

// Calls `save` on a disk prepared by `prepare` with its n-th operation failing, for each n.
// `check(disk, n)` checks what each attempt leaves.
void with_each_operation_failing(Failing failing, const std::function<void(FileSystem&)>& prepare,
                                 const std::function<void(FileSystem&)>& save,
                                 const std::function<void(MemoryFileSystem&, int64_t)>& check) {
  const LogCapture quiet;
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem disk;
    prepare(disk);
    FailingFileSystem files(disk);
    files.fail_operation(n, Code::kResourceExhausted, failing);
    try {
      save(files);
    } catch (const ResourceExhaustedError&) {
    }
    if (files.num_failures() == 0) break;
    check(disk, n);
    ASSERT_LT(n, 1000);
  }
}

TEST(BundleWriterTest, AnErrorLeavesNoTemporaryFileAndADeadWriter) {
  with_each_operation_failing(
      Failing::kOnce, [](FileSystem& files) { files.create_directories("runs/x"); },
      [](FileSystem& files) {
        BundleWriter writer(files, kBundle);
        try {
          writer.add("w", numbers(300'000));
          writer.finish();
        } catch (const ResourceExhaustedError&) {
          EXPECT_THROW(writer.publish(), FailedPreconditionError);
        }
      },
      [](MemoryFileSystem& disk, int64_t n) {
        for (const std::string& name : disk.list("runs/x"))
          EXPECT_THAT(name, testing::Not(HasSubstr(".tempstate"))) << "operation " << n;
      });
}

// The program dies at each operation (nothing happens after it), then the power is cut, with every
// possible outcome for unsynced data.
class BundleWriterCrashTest : public testing::TestWithParam<PowerCut> {};

TEST_P(BundleWriterCrashTest, ACheckpointIsCompleteOrAbsent) {
  int num_there = 0;
  with_each_operation_failing(
      Failing::kFromThenOn,
      [](FileSystem& files) { write_bundle(files, "runs/x/model.ckpt-1", 1); },
      [](FileSystem& files) { write_bundle(files, kBundle, 2); },
      [&](MemoryFileSystem& disk, int64_t n) {
        SCOPED_TRACE(fmt::format("operation {}", n));
        disk.power_cut(GetParam());
        expect_whole(disk, "runs/x/model.ckpt-1", 1);
        if (!has(disk, kBundle)) return;
        ++num_there;
        expect_whole(disk, kBundle, 2);
      });
  // Renamed, but the directory is not synced.
  EXPECT_EQ(num_there, GetParam().names == UnsyncedNames::kKept ? 1 : 0);
}

TEST_P(BundleWriterCrashTest, ReplacingACheckpointNeverMixesTwo) {
  with_each_operation_failing(
      Failing::kFromThenOn, [](FileSystem& files) { write_bundle(files, kBundle, 1); },
      [](FileSystem& files) { write_bundle(files, kBundle, 2); },
      [&](MemoryFileSystem& disk, int64_t n) {
        SCOPED_TRACE(fmt::format("operation {}", n));
        disk.power_cut(GetParam());
        if (!has(disk, kBundle)) return;
        const bool is_new = CheckpointReader(kBundle, disk).read("w") == numbers(100, 2);
        expect_whole(disk, kBundle, is_new ? 2 : 1);
      });
}

TEST_P(BundleWriterCrashTest, AFinishedCheckpointSurvives) {
  MemoryFileSystem disk;
  write_bundle(disk, kBundle, 3);
  disk.power_cut(GetParam());
  expect_whole(disk, kBundle, 3);
}

INSTANTIATE_TEST_SUITE_P(EveryFate, BundleWriterCrashTest,
                         testing::Values(PowerCut{UnsyncedNames::kLost, UnsyncedBytes::kLost},
                                         PowerCut{UnsyncedNames::kLost, UnsyncedBytes::kKept},
                                         PowerCut{UnsyncedNames::kKept, UnsyncedBytes::kLost},
                                         PowerCut{UnsyncedNames::kKept, UnsyncedBytes::kHalf},
                                         PowerCut{UnsyncedNames::kKept, UnsyncedBytes::kZeroed},
                                         PowerCut{UnsyncedNames::kKept, UnsyncedBytes::kKept}));

}  // namespace
}  // namespace crochet::internal
