// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/any_format/internal/checkpoint_pass.h"

#include <algorithm>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/checkpoint/saver/internal/restore_plan.h"
#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"
#include "tests/support/raw_bundle.h"

namespace crochet::internal {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The accesses to the data files: streams as "<shard> from <offset>", and bytes.
struct ReadLog {
  std::vector<std::string> streams;
  uint64_t bytes_streamed = 0;
  uint64_t bytes_skipped = 0;
  uint64_t bytes_read_at = 0;
};

class CountedStream final : public ReadStream {
 public:
  CountedStream(std::unique_ptr<ReadStream> stream, ReadLog& log)
      : stream_(std::move(stream)), log_(log) {}
  void read(std::span<std::byte> destination) override {
    log_.bytes_streamed += destination.size();
    stream_->read(destination);
  }
  void skip(uint64_t num_bytes) override {
    log_.bytes_skipped += num_bytes;
    stream_->skip(num_bytes);
  }

 private:
  std::unique_ptr<ReadStream> stream_;
  ReadLog& log_;
};

class CountedFile final : public ReadableFile {
 public:
  CountedFile(std::unique_ptr<ReadableFile> file, std::string shard, ReadLog& log)
      : file_(std::move(file)), shard_(std::move(shard)), log_(log) {}
  uint64_t size() const override { return file_->size(); }
  void read_at(uint64_t offset, std::span<std::byte> destination) const override {
    log_.bytes_read_at += destination.size();
    file_->read_at(offset, destination);
  }
  std::unique_ptr<ReadStream> stream(uint64_t offset, uint64_t num_bytes) const override {
    log_.streams.push_back(fmt::format("{} from {} to {}", shard_, offset, offset + num_bytes));
    return std::make_unique<CountedStream>(file_->stream(offset, num_bytes), log_);
  }

 private:
  std::unique_ptr<ReadableFile> file_;
  const std::string shard_;
  ReadLog& log_;
};

// Counts how data files are read.
class CountedFiles final : public MemoryFileSystem {
 public:
  std::unique_ptr<ReadableFile> open(const std::string& path) override {
    const size_t data = path.find(".data-");
    auto file = MemoryFileSystem::open(path);
    if (data == std::string::npos) return file;
    return std::make_unique<CountedFile>(std::move(file), path.substr(data + 10, 1), log);
  }
  ReadLog log;
};

Tensor counted(int64_t size, float first) {
  std::vector<float> values(static_cast<size_t>(size));
  std::iota(values.begin(), values.end(), first);
  return Tensor::from(values);
}

constexpr int64_t kLarge = 300'000;  // Floats: larger than a gap that is read through.

// Two data files with numbers, strings, and a matrix in slices, not ordered by name: 0 has w9,
// words, two rows of m and large; 1 has the last row of m, nothing and w1.
class CheckpointPassTest : public testing::Test {
 protected:
  CheckpointPassTest() { write(files_); }

  void write(FileSystem& files) {
    BundleWriter writer(files, "c", {.num_shards = 2});
    writer.add("w9", values_.at("w9"));
    writer.add("words", values_.at("words"));
    writer.add_slice("m", {3, 2}, parse_slice("0,2:-"), Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
    writer.add("large", values_.at("large"));
    writer.next_shard();
    writer.add_slice("m", {3, 2}, parse_slice("2,1:-"), Tensor::from<float>({5, 6}, {1, 2}));
    writer.add("nothing", values_.at("nothing"));
    writer.add("w1", values_.at("w1"));
    writer.finish();
  }

  // In front of "large", which starts at a page.
  static constexpr uint64_t kPadding = 161;

  std::vector<TensorRequest> all_requests() const {
    std::vector<TensorRequest> requests;
    for (const auto& [name, value] : values_) requests.push_back({name});
    return requests;
  }

  const TensorMap values_ = {{"large", counted(kLarge, 7)},
                             {"m", Tensor::from<float>({1, 2, 3, 4, 5, 6}, {3, 2})},
                             {"nothing", Tensor::zeros<float>({0, 4})},
                             {"w1", counted(1000, 1)},
                             {"w9", counted(2000, 2)},
                             {"words", Tensor::from({"cat", "", "a dog"})}};
  CountedFiles files_;
};

TEST_F(CheckpointPassTest, ReadsEachDataFileInOnePass) {
  const CheckpointReader reader("c", files_);
  CheckpointPass pass(reader, {{"large"},
                               {"m", parse_slice("0,2:-")},
                               {"m", parse_slice("2,1:-")},
                               {"nothing"},
                               {"w1"},
                               {"w9"},
                               {"words"}});
  EXPECT_THAT(files_.log.streams, IsEmpty());
  EXPECT_THAT(pass.order(), ElementsAre(5, 6, 1, 0, 2, 3, 4));
  for (const size_t i : pass.order()) pass.read(i);
  const uint64_t first = files_.file_size("c.data-00000-of-00002");
  const uint64_t second = files_.file_size("c.data-00001-of-00002");
  EXPECT_THAT(files_.log.streams, ElementsAre(fmt::format("0 from 0 to {}", first),
                                              fmt::format("1 from 0 to {}", second)));
  EXPECT_EQ(files_.log.bytes_streamed, first + second - kPadding);
  EXPECT_EQ(files_.log.bytes_skipped, kPadding);
  EXPECT_EQ(files_.log.bytes_read_at, 0);
}

// The part in the first file is skipped and read separately.
TEST_F(CheckpointPassTest, ATensorInSeveralFilesLeavesTheOthersInOnePass) {
  const CheckpointReader reader("c", files_);
  const std::vector<TensorRequest> requests = all_requests();
  CheckpointPass pass(reader, requests);
  for (const size_t i : pass.order())
    EXPECT_EQ(pass.read(i), values_.at(requests[i].name)) << requests[i].name;
  const uint64_t first = files_.file_size("c.data-00000-of-00002");
  const uint64_t second = files_.file_size("c.data-00001-of-00002");
  EXPECT_EQ(files_.log.streams.size(), 3);
  EXPECT_EQ(files_.log.bytes_streamed, first + second - kPadding);
  EXPECT_EQ(files_.log.bytes_skipped, 16 + kPadding);
}

TEST_F(CheckpointPassTest, ReadsTheSameInEveryOrder) {
  const CheckpointReader reader("c", files_);
  const std::vector<TensorRequest> requests = all_requests();
  std::vector<size_t> order(requests.size());
  std::iota(order.begin(), order.end(), size_t{0});
  do {
    CheckpointPass pass(reader, requests);
    for (const size_t i : order) ASSERT_EQ(pass.read(i), values_.at(requests[i].name));
  } while (std::ranges::next_permutation(order).found);
}

TEST_F(CheckpointPassTest, ReadsOneTensorSeveralTimesAndSkipsOthers) {
  const CheckpointReader reader("c", files_);
  CheckpointPass pass(reader, {{"w9"}, {"w1"}, {"w9"}, {"words"}});
  for (const size_t i : {size_t{0}, size_t{1}, size_t{2}, size_t{0}, size_t{1}, size_t{3}})
    EXPECT_EQ(pass.read(i), values_.at(i == 1 ? "w1" : i == 3 ? "words" : "w9"));
}

TEST_F(CheckpointPassTest, ReadsSlices) {
  const CheckpointReader reader("c", files_);
  CheckpointPass pass(reader, {{"m", parse_slice("1,2:0,1")},
                               {"large", parse_slice("10,2")},
                               {"m", parse_slice("0,2:-")},
                               {"words", parse_slice("2,1")}});
  std::vector<Tensor> found(4);
  for (const size_t i : pass.order()) found[i] = pass.read(i);
  EXPECT_EQ(found[0], Tensor::from<float>({3, 5}, {2, 1}));
  EXPECT_EQ(found[1], counted(2, 17));
  EXPECT_EQ(found[2], Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
  EXPECT_EQ(found[3], Tensor::from({"a dog"}));
}

TEST_F(CheckpointPassTest, SkipsLargeGapsAndReadsThroughSmallOnes) {
  {
    BundleWriter writer(files_, "gaps");
    for (const char* const name : {"a", "b", "c"}) writer.add(name, counted(1000, 1));
    writer.add("large", values_.at("large"));
    writer.add("z", counted(1000, 2));
    writer.finish();
  }
  const CheckpointReader reader("gaps", files_);
  CheckpointPass pass(reader, {{"a"}, {"c"}, {"z"}});
  for (const size_t i : pass.order()) pass.read(i);
  EXPECT_THAT(files_.log.streams, ElementsAre("0 from 0 to 12000", "0 from 1212288 to 1216288"));
  EXPECT_EQ(files_.log.bytes_streamed, 12000);
  EXPECT_EQ(files_.log.bytes_skipped, 4000);
}

TEST_F(CheckpointPassTest, OpensOneStreamAheadOfTheCurrentOne) {
  const CheckpointReader reader("c", files_);
  CheckpointPass pass(reader, all_requests());
  pass.read(pass.order().front());
  EXPECT_EQ(files_.log.streams.size(), 2);
}

TEST_F(CheckpointPassTest, FindsMissingDataBeforeReading) {
  const CheckpointReader reader("c", files_);
  EXPECT_THROW(CheckpointPass(reader, {{"w1"}, {"unknown"}}), NotFoundError);
  EXPECT_THROW(CheckpointPass(reader, {{"w1", parse_slice("0,2000")}}), InvalidArgumentError);
  files_.truncate("c.data-00001-of-00002", 10);
  const CheckpointReader cut("c", files_);
  EXPECT_THROW(CheckpointPass(cut, {{"w9"}, {"w1"}}), DataLossError);
  EXPECT_THAT(files_.log.streams, IsEmpty());
}

TEST_F(CheckpointPassTest, ContinuesAfterADamagedTensor) {
  std::string data = read_file(files_, "c.data-00000-of-00002");
  data[100] ^= 1;  // In w9.
  put_file(files_, "c.data-00000-of-00002", data);
  const CheckpointReader reader("c", files_);
  const std::vector<TensorRequest> requests = all_requests();
  CheckpointPass pass(reader, requests);
  for (const size_t i : pass.order()) {
    if (requests[i].name == "w9") {
      EXPECT_THROW(pass.read(i), DataLossError);
    } else {
      EXPECT_EQ(pass.read(i), values_.at(requests[i].name));
    }
  }
}

TEST_F(CheckpointPassTest, ReportsATruncatedFileAsDataLoss) {
  const CheckpointReader reader("c", files_);
  CheckpointPass pass(reader, {{"w9"}, {"large"}});
  pass.read(0);
  files_.truncate("c.data-00000-of-00002", 9000);
  EXPECT_THROW(pass.read(1), DataLossError);
}

TEST_F(CheckpointPassTest, VerifiesInOnePass) {
  CheckpointReader("c", files_).verify();
  EXPECT_EQ(files_.log.streams.size(), 2);
  EXPECT_EQ(files_.log.bytes_streamed, files_.file_size("c.data-00000-of-00002") +
                                           files_.file_size("c.data-00001-of-00002") - kPadding);
  EXPECT_EQ(files_.log.bytes_read_at, 0);
}

TEST_F(CheckpointPassTest, RestoresInOnePass) {
  ScriptedGraph graph({.counts_steps = false});
  std::vector<Variable> variables;
  for (const auto& [name, value] : values_)
    if (name != "m")
      variables.push_back(graph.variable(name, value.dtype() == DType::kString
                                                   ? Tensor::from({"", "", ""})
                                                   : Tensor(value.dtype(), value.shape())));
  const auto session = graph.new_session("");
  const CheckpointReader reader("c", files_);
  restore_state(*session, reader, {}, {.options = {.allow_surplus = true}});
  EXPECT_EQ(files_.log.streams.size(), 2);
  const uint64_t total =
      files_.file_size("c.data-00000-of-00002") + files_.file_size("c.data-00001-of-00002");
  EXPECT_EQ(files_.log.bytes_streamed, total - 24 - kPadding);  // All except m.
  EXPECT_EQ(files_.log.bytes_skipped, 16 + kPadding);           // The part of m between others.
  EXPECT_EQ(files_.log.bytes_read_at, 0);
  const Snapshot state = session->snapshot(variables);
  for (const auto& [name, value] : state.tensors()) EXPECT_EQ(value, values_.at(name)) << name;
}

TEST_F(CheckpointPassTest, ARestoreFindsATruncatedFileBeforeItOverwritesAnything) {
  ScriptedGraph graph({.counts_steps = false});
  const Variable w9 = graph.variable("w9", Tensor::zeros<float>({2000}));
  graph.variable("w1", Tensor::zeros<float>({1000}));
  const auto session = graph.new_session("");
  files_.truncate("c.data-00001-of-00002", 100);
  const CheckpointReader reader("c", files_);
  EXPECT_THROW(restore_state(*session, reader, {}, {.options = {.allow_surplus = true}}),
               DataLossError);
  EXPECT_EQ(session->snapshot({&w9, 1}).tensors()[0].tensor, Tensor::zeros<float>({2000}));
}

TEST_F(CheckpointPassTest, ReadingAllocatesNothingPerTensor) {
  constexpr size_t kNumTensors = 1000;
  MemoryFileSystem files;
  BundleWriter writer(files, "many");
  std::vector<TensorRequest> requests;
  for (size_t i = 0; i < kNumTensors; ++i) {
    requests.push_back({fmt::format("v{:04}", i)});
    writer.add(requests.back().name, counted(10, static_cast<float>(i)));
  }
  writer.finish();
  const CheckpointReader reader("many", files);
  CheckpointPass pass(reader, requests);
  std::vector<std::byte> destination(40);
  const AllocationCounter allocations;
  for (const size_t i : pass.order()) pass.read_into(i, destination);
  EXPECT_LE(allocations.count(), 10);  // For the stream.
}

// With real files, large enough to be read past the page cache.
TEST(CheckpointPassOnDiskTest, ReadsManyTensorsOfManyFiles) {
  const TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  constexpr int kNumShards = 5;
  std::mt19937 random(1);
  TensorMap values;
  BundleWriter writer(files, directory / "c", {.num_shards = kNumShards});
  for (int shard = 0; shard < kNumShards; ++shard) {
    if (shard > 0) writer.next_shard();
    for (int i = 0; i < 12; ++i) {
      const int64_t size = i % 4 == 0 ? 100'000 + static_cast<int64_t>(random() % 200'000) : i;
      const std::string name = fmt::format("{}/{}", random(), i);
      values[name] = counted(size, static_cast<float>(random() % 1000));
      writer.add(name, values[name]);
    }
  }
  writer.finish();
  const CheckpointReader reader(directory / "c");
  std::vector<TensorRequest> requests;
  for (const auto& [name, value] : values) requests.push_back({name});
  CheckpointPass pass(reader, requests);
  for (const size_t i : pass.order()) EXPECT_EQ(pass.read(i), values.at(requests[i].name));
  std::ranges::shuffle(requests, random);
  CheckpointPass shuffled(reader, requests);
  for (size_t i = 0; i < requests.size(); ++i)
    EXPECT_EQ(shuffled.read(i), values.at(requests[i].name));
  reader.verify();
}

}  // namespace
}  // namespace crochet::internal
