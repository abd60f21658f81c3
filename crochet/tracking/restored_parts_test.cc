// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How values whose structure may change are read from a checkpoint: in place, in the order of the
// file, keys before what they lead to; and what is left of a restore that fails halfway.
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/eigen.h"
#include "crochet/engines/local/graph.h"
#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/tracking/tracker.h"

namespace crochet::restored_parts {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;
using ::testing::ThrowsMessage;

// A program whose state is `value`.
template <typename T>
class Program {
 public:
  Program(MemoryFileSystem& files, T& value) : saver_({.files = &files}) {
    graph_.create_global_step();
    Tracker tracker(graph_, "");
    tracker("value", value);
    session_ = graph_.new_session("");
  }

  void save(int64_t step) { saver_.save(*session_, "run/ckpt", step); }
  void restore(int64_t step) { saver_.restore(*session_, "run/ckpt-" + std::to_string(step)); }

 private:
  Saver saver_;
  local::Graph graph_;
  std::unique_ptr<Session> session_;
};

class RestoredPartsTest : public testing::Test {
 protected:
  MemoryFileSystem files_;
};

// A name with "//" has a key that looks like an absolute path.
TEST_F(RestoredPartsTest, AnEntryThatAPartDoesNotHaveIsATypedError) {
  std::vector<std::set<std::string>> value = {{"a"}, {"b"}};
  Program program(files_, value);
  program.save(1);
  const CheckpointReader saved("run/ckpt-1", files_);
  internal::BundleWriter writer(files_, "run/ckpt-2");
  for (const auto& [name, info] : saved.tensors()) writer.add(name, saved.read(name));
  writer.add("value/1//x", Tensor::scalar(true));
  writer.finish();
  EXPECT_THROW(program.restore(2), InvalidArgumentError);
}

constexpr size_t kMebibyte = size_t{1} << 20;

TEST_F(RestoredPartsTest, AreReadIntoTheirMemory) {
  std::map<std::string, std::vector<uint8_t>> value;
  for (const char* const name : {"a", "b", "c"}) value[name].assign(16 * kMebibyte, name[0]);
  Program program(files_, value);
  program.save(1);
  const uint8_t* const memory = value["b"].data();
  for (auto& [name, bytes] : value) bytes.assign(bytes.size(), 0);

  const AllocationCounter allocations;
  program.restore(1);
  EXPECT_LT(allocations.largest(), 16 * kMebibyte);
  for (const auto& [name, bytes] : value)
    EXPECT_EQ(bytes, std::vector<uint8_t>(16 * kMebibyte, static_cast<uint8_t>(name[0])));
  EXPECT_EQ(value["b"].data(), memory);
}

TEST_F(RestoredPartsTest, MayBeTransposed) {
  std::vector<Eigen::MatrixXf> value(2, Eigen::MatrixXf(3, 2));
  value[0] << 1, 2, 3, 4, 5, 6;
  value[1] << 7, 8, 9, 10, 11, 12;
  const std::vector<Eigen::MatrixXf> saved = value;
  Program program(files_, value);
  program.save(1);
  for (Eigen::MatrixXf& matrix : value) matrix.setZero();
  program.restore(1);
  EXPECT_EQ(value[0], saved[0]);
  EXPECT_EQ(value[1], saved[1]);
}

struct Key {
  std::pair<int, std::string> place;
  void track(Tracker& tracker) { tracker("place", place); }
  bool operator<(const Key& other) const { return place < other.place; }
};

TEST_F(RestoredPartsTest, KeysComeBeforeWhatTheyLeadTo) {
  using Value = std::pair<std::map<Key, std::vector<float>>, std::set<Key>>;
  Value value = {{{{{2, "x"}}, {1, 2}}, {{{1, "y"}}, {3}}}, {{{3, "z"}}, {{1, "w"}}}};
  Program program(files_, value);
  program.save(1);
  value = {{{{{2, "x"}}, {9}}}, {}};
  program.restore(1);
  ASSERT_EQ(value.first.size(), 2);
  EXPECT_THAT((value.first[{{1, "y"}}]), ElementsAre(3));
  EXPECT_THAT((value.first[{{2, "x"}}]), ElementsAre(1, 2));
  std::vector<std::pair<int, std::string>> places;
  for (const Key& key : value.second) places.push_back(key.place);
  EXPECT_THAT(places, ElementsAre(Pair(1, "w"), Pair(3, "z")));
}

TEST_F(RestoredPartsTest, NoHalfOfACheckpointIsSaved) {
  std::map<std::string, std::vector<float>> value = {{"a", std::vector<float>(100, 1)},
                                                     {"b", std::vector<float>(100, 1)}};
  Program program(files_, value);
  program.save(1);
  program.save(2);
  const std::string data = "run/ckpt-2.data-00000-of-00001";
  std::string bytes = read_file(files_, data);
  bytes[bytes.size() - 1] ^= 1;  // Of "b", which is read last.
  files_.create(data)->append(std::as_bytes(std::span(bytes)));

  value["a"].assign(100, 0);
  EXPECT_THROW(program.restore(2), DataLossError);
  EXPECT_EQ(value["a"], std::vector<float>(100, 1));
  EXPECT_THAT([&] { program.save(3); },
              ThrowsMessage<FailedPreconditionError>(
                  "no snapshot: a restore of \"value\" failed in the middle: it may hold half of "
                  "it"));
  program.restore(1);
  program.save(3);
}

}  // namespace
}  // namespace crochet::restored_parts
