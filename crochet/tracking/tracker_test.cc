// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/tracker.h"

#include <deque>
#include <list>
#include <random>
#include <set>
#include <unordered_set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/eigen.h"
#include "crochet/testing/memory_file_system.h"

namespace elsewhere {

// A third-party type, tracked by a free function in its namespace.
struct Point {
  double x = 0, y = 0;
};
void track(crochet::Tracker& tracker, Point& point) { tracker("x", point.x)("y", point.y); }

}  // namespace elsewhere

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Saves the values that one program tracks and restores them into those of another.
class TrackerTest : public testing::Test {
 protected:
  template <typename T>
  void save(T&& value) {
    local::Graph graph;
    graph.create_global_step();
    Tracker(graph, "")("value", value);
    saver_.save(*graph.new_session(""), "run/ckpt", 1);
  }

  template <typename T>
  void restore(T&& value) {
    local::Graph graph;
    graph.create_global_step();
    Tracker(graph, "")("value", value);
    saver_.restore(*graph.new_session(""), "run/ckpt-1");
  }

  Tensor stored(const std::string& name) {
    return CheckpointReader("run/ckpt-1", files_).read(name);
  }

  MemoryFileSystem files_;
  Saver saver_{{.files = &files_}};
};

TEST_F(TrackerTest, KeepsNumbersOfEveryKind) {
  save(-7);
  int restored = 0;
  restore(restored);
  EXPECT_EQ(restored, -7);

  save(true);
  bool flag = false;
  restore(flag);
  EXPECT_TRUE(flag);

  save(0.1);
  double precise = 0;
  restore(precise);
  EXPECT_EQ(precise, 0.1);

  save(uint64_t{1} << 63);
  uint64_t big = 0;
  restore(big);
  EXPECT_EQ(big, uint64_t{1} << 63);
}

TEST_F(TrackerTest, KeepsSequences) {
  save(std::vector<float>{1, 2, 3});
  std::vector<float> grown(1000);
  restore(grown);
  EXPECT_THAT(grown, ElementsAre(1, 2, 3));

  save(std::array<int16_t, 3>{4, 5, 6});
  int16_t array[3] = {};
  restore(array);
  EXPECT_THAT(array, ElementsAre(4, 5, 6));

  save(std::deque<double>{7, 8});
  std::list<double> list;
  restore(list);
  EXPECT_THAT(list, ElementsAre(7, 8));

  save(std::vector<bool>{true, false, true});
  std::vector<bool> bits;
  restore(bits);
  EXPECT_THAT(bits, ElementsAre(true, false, true));

  save(std::vector<float>{});
  restore(grown);
  EXPECT_TRUE(grown.empty());
}

TEST_F(TrackerTest, KeepsSets) {
  save(std::set<int64_t>{3, 1, 2});
  EXPECT_EQ(stored("value"), Tensor::from<int64_t>({1, 2, 3}));
  std::unordered_set<int64_t> restored = {7};
  restore(restored);
  EXPECT_THAT(restored, testing::UnorderedElementsAre(1, 2, 3));
}

TEST_F(TrackerTest, KeepsTheMemoryOfASpan) {
  std::vector<float> memory = {1, 2, 3, 4};
  save(std::span(memory));
  memory = {0, 0, 0, 0};
  restore(std::span(memory));
  EXPECT_THAT(memory, ElementsAre(1, 2, 3, 4));
}

TEST_F(TrackerTest, ContinuesEveryStandardGenerator) {
  const auto check = [this]<typename Generator>(Generator generator) {
    generator.discard(1001);
    save(generator);
    Generator other(99);
    restore(other);
    EXPECT_EQ(other, generator);
    EXPECT_EQ(other(), generator());
  };
  check(std::mt19937(1));
  check(std::mt19937_64(1));
  check(std::minstd_rand(1));
  check(std::ranlux48(1));
  check(std::knuth_b(1));
}

TEST_F(TrackerTest, StoresAGeneratorAsNumbers) {
  save(std::mt19937_64(1));
  EXPECT_EQ(stored("value").dtype(), DType::kUint64);
  EXPECT_EQ(stored("value").shape(), Shape{313});  // 312 words and the position.
}

TEST_F(TrackerTest, RejectsAnotherGeneratorsState) {
  save(std::mt19937_64(1));
  std::minstd_rand other;
  std::ranlux48 third;
  const auto before = third;
  save(std::minstd_rand(5));
  EXPECT_THAT([&] { restore(third); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("not a state of this generator type")));
  EXPECT_EQ(third, before);
}

TEST_F(TrackerTest, KeepsTensorsWithTheirShape) {
  save(Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
  Tensor restored = Tensor::scalar(0.0f);
  restore(restored);
  EXPECT_EQ(restored, Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
  Tensor integers = Tensor::scalar(1);
  EXPECT_THROW(restore(integers), InvalidArgumentError);
}

TEST_F(TrackerTest, StoresMatricesRowMajorWhateverTheirMemoryOrder) {
  Eigen::MatrixXf columns(2, 3);
  columns << 1, 2, 3, 4, 5, 6;
  save(columns);
  EXPECT_EQ(stored("value"), Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));

  Eigen::Matrix<float, 2, 3, Eigen::RowMajor> rows;
  restore(rows);
  EXPECT_EQ(rows, columns);
  save(rows);
  EXPECT_EQ(stored("value"), Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  columns.setZero();
  restore(columns);
  EXPECT_EQ(columns, rows);
}

TEST_F(TrackerTest, StoresVectorsWithOneDimension) {
  save(Eigen::VectorXd(Eigen::Vector3d(1, 2, 3)));
  EXPECT_EQ(stored("value"), Tensor::from<double>({1, 2, 3}));
  Eigen::RowVector3d row;
  restore(row);
  EXPECT_EQ(row, Eigen::RowVector3d(1, 2, 3));
}

TEST_F(TrackerTest, DetectsAMatrixThatChangedItsSize) {
  Eigen::MatrixXf matrix = Eigen::MatrixXf::Zero(2, 3);
  local::Graph graph;
  Tracker(graph, "")("model", matrix);
  const auto session = graph.new_session("");
  matrix = Eigen::MatrixXf::Zero(3, 3);
  EXPECT_THAT(
      [&] { saver_.snapshot(*session); },
      ThrowsMessage<FailedPreconditionError>(HasSubstr(
          "array \"model\" was float32 [2,3] when it was tracked and is float32 [3,3] now")));
}

struct Layer {
  std::vector<float> weights;
  elsewhere::Point origin;
  void track(Tracker& tracker) { tracker("weights", weights)("origin", origin); }
};

TEST_F(TrackerTest, TracksStructsByMemberAndByFunction) {
  save(Layer{{1, 2}, {3, 4}});
  EXPECT_EQ(stored("value/weights"), Tensor::from<float>({1, 2}));
  EXPECT_EQ(stored("value/origin/y"), Tensor::scalar(4.0));
  Layer restored;
  restore(restored);
  EXPECT_THAT(restored.weights, ElementsAre(1, 2));
  EXPECT_EQ(restored.origin.x, 3);
}

struct TrackedByACopy {
  std::vector<float> weights;
  std::vector<Layer> layers;
  void track(Tracker tracker) { tracker("weights", weights)("layers", layers); }
};

TEST_F(TrackerTest, ATrackFunctionMayTakeACopyOfTheTracker) {
  save(TrackedByACopy{{1, 2}, {Layer{{5}, {3, 4}}}});
  TrackedByACopy restored;
  restore(restored);
  EXPECT_THAT(restored.weights, ElementsAre(1, 2));
  ASSERT_EQ(restored.layers.size(), 1u);
  EXPECT_EQ(restored.layers[0].origin.y, 4);
}

class Counter {
 public:
  TensorMap save() const { return {{"count", Tensor::scalar(count)}}; }
  void restore(const TensorMap& state) { count = state.at("count").scalar<int>(); }
  int count = 0;
};

TEST_F(TrackerTest, SavesObjectsThatSaveThemselves) {
  Counter counter;
  counter.count = 5;
  save(counter);
  EXPECT_EQ(stored("value/count"), Tensor::scalar(5));
  Counter restored;
  restore(restored);
  EXPECT_EQ(restored.count, 5);
}

TEST_F(TrackerTest, RejectsANameThatIsTakenOrEmpty) {
  local::Graph graph;
  Tracker tracker(graph, "model");
  float a = 0, b = 0;
  std::mt19937 generator;
  tracker("a", a)("generator", generator);
  EXPECT_THAT([&] { tracker("a", b); },
              ThrowsMessage<AlreadyExistsError>(HasSubstr("\"model/a\"")));
  EXPECT_THROW(tracker("generator", generator), AlreadyExistsError);
  EXPECT_THAT([&] { tracker("", b); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("without a name")));
}

TEST_F(TrackerTest, RejectsAnotherElementType) {
  save(std::vector<float>{1});
  std::vector<double> other;
  EXPECT_THAT([&] { restore(other); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "\"value\" is float32 [1] in the checkpoint and float64 [?] in the program")));
}

}  // namespace
}  // namespace crochet
