// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Every type that can be tracked, saved by a Loop in each format and restored by another program,
// which has a fresh value, or one that has changed.
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <valarray>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/eigen.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet::tracked_types {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::ThrowsMessage;

struct Point {
  double x = 0, y = 0;
  void track(Tracker& tracker) { tracker("x", x)("y", y); }
  // NOLINTNEXTLINE(modernize-use-nullptr): the check misreads a defaulted comparison.
  friend auto operator<=>(const Point&, const Point&) = default;
};

struct Layer {
  std::vector<float> weights;
  std::optional<Point> origin;
  std::map<std::string, std::vector<double>> moments;
  void track(Tracker& tracker) {
    tracker("weights", weights)("origin", origin)("moments", moments);
  }
  friend bool operator==(const Layer&, const Layer&) = default;
};

// Saves itself.
struct Counter {
  int count = 0;
  TensorMap save() const { return {{"count", Tensor::scalar(count)}}; }
  void restore(const TensorMap& state) { count = state.at("count").scalar<int>(); }
  friend bool operator==(const Counter&, const Counter&) = default;
};

struct Tree {
  int value = 0;
  std::unique_ptr<Tree> left, right;
  void track(Tracker& tracker) { tracker("value", value)("left", left)("right", right); }
};

// It lists nothing.
struct Settings {
  float rate = 0.5F;
  std::string name = {};
  std::vector<int> sizes = {};
  double grid[2][2] = {};
  std::optional<Point> origin = {};
  std::map<std::string, Settings> children = {};
  friend bool operator==(const Settings&, const Settings&) = default;
};
struct Sample {
  std::array<float, 2> input = {};
  int64_t label = 0;
  friend bool operator==(const Sample&, const Sample&) = default;
};

enum class Phase : uint8_t { kWarmUp, kTraining, kDone };
enum Plain { kFirst = 3, kSecond = 300 };

template <typename T>
bool same(const T& a, const T& b) {
  return a == b;
}
bool same(const Tree& a, const Tree& b);
template <typename T>
bool same(const std::unique_ptr<T>& a, const std::unique_ptr<T>& b) {
  return a && b ? same(*a, *b) : !a == !b;
}
template <typename T>
bool same(const std::shared_ptr<T>& a, const std::shared_ptr<T>& b) {
  return a && b ? same(*a, *b) : !a == !b;
}
template <typename T>
bool same(const std::vector<std::unique_ptr<T>>& a, const std::vector<std::unique_ptr<T>>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& one, const auto& other) { return same(one, other); });
}
template <typename T>
bool same(const std::valarray<T>& a, const std::valarray<T>& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b));
}
template <typename T>
bool same(const std::atomic<T>& a, const std::atomic<T>& b) {
  return a.load() == b.load();
}
template <typename T, size_t kSize>
bool same(const T (&a)[kSize], const T (&b)[kSize]) {
  for (size_t i = 0; i < kSize; ++i)
    if (!same(a[i], b[i])) return false;
  return true;
}
bool same(const Tree& a, const Tree& b) {
  return a.value == b.value && same(a.left, b.left) && same(a.right, b.right);
}

class TrackedTypesTest : public testing::TestWithParam<CheckpointFormat> {
 protected:
  LoopOptions options() {
    return {.checkpoint = {.dir = "run", .saver = {.format = GetParam()}},
            .summaries = {.every_steps = 0, .count_every_steps = 0},
            .hooks = {StopAtStepHook({.last_step = 1})},
            .files = &*files_};
  }

  template <typename T>
  void save(T& value) {
    files_.emplace();
    Loop loop(options());
    loop.track("value", value);
    loop.run([] {});
  }

  // `value` is what one program saves; the others are what programs have that restore it.
  template <typename T, typename... Others>
  void expect_kept_in(T& value, Others&... others) {
    save(value);
    const auto restore = [&](T& other) {
      Loop loop(options());
      loop.track("value", other);
      EXPECT_EQ(loop.restore(), 1);
      EXPECT_TRUE(same(other, value)) << typeid(T).name();
    };
    (restore(others), ...);
  }
  template <typename T>
  void expect_kept(T value, T changed = {}) {
    T fresh{};
    expect_kept_in(value, fresh, changed);
  }

  std::vector<std::string> stored_names() {
    std::vector<std::string> names;
    for (const auto& [name, info] :
         CheckpointReader(*latest_checkpoint(*files_, "run"), *files_).tensors())
      names.push_back(name);
    return names;
  }

  std::optional<MemoryFileSystem> files_;
  LogCapture log_;
};

INSTANTIATE_TEST_SUITE_P(Formats, TrackedTypesTest,
                         testing::Values(CheckpointFormat::kTensorBundle,
                                         CheckpointFormat::kSafetensors),
                         [](const auto& info) {
                           return info.param == CheckpointFormat::kTensorBundle ? "Bundle"
                                                                                : "Safetensors";
                         });

TEST_P(TrackedTypesTest, Numbers) {
  expect_kept(0.1);
  expect_kept(-7);
  expect_kept(true);
  expect_kept('x');
  expect_kept(uint64_t{1} << 63);
  expect_kept(std::byte{200});
  expect_kept(std::complex<float>(1, -2));
  expect_kept(std::complex<double>(0.1, -0.2));
  expect_kept(Phase::kDone);
  expect_kept(kSecond, kFirst);
  expect_kept(std::chrono::milliseconds(-1500));
  expect_kept(std::chrono::duration<double>(0.1));
  expect_kept(std::chrono::system_clock::time_point(std::chrono::seconds(1'700'000'000)));
  expect_kept(std::chrono::steady_clock::time_point(std::chrono::seconds(5)));
}

TEST_P(TrackedTypesTest, Atomics) {
  std::atomic<int64_t> number = -5, other_number = 0;
  expect_kept_in(number, other_number);
  std::atomic<bool> flag = true, other_flag = false;
  expect_kept_in(flag, other_flag);
  std::atomic<double> real = 0.1, other_real = 0;
  expect_kept_in(real, other_real);
  std::atomic<Phase> phase = Phase::kDone, other_phase = Phase::kWarmUp;
  expect_kept_in(phase, other_phase);
}

TEST_P(TrackedTypesTest, Strings) {
  using namespace std::string_literals;
  expect_kept("a text"s, "another"s);
  expect_kept(""s, "another"s);
  expect_kept("\0\xff/\n"s);
  expect_kept(std::u16string(u"text"));
  expect_kept(std::vector<std::string>{"", "b", "a\0b"s}, {"c"});
  expect_kept(std::vector<std::string>{}, {"c"});
  expect_kept(std::list<std::string>{"x", "y"});
  expect_kept(std::deque<std::string>{"x", "y"});
  expect_kept(std::set<std::string>{"x", "y"}, {"z"});
  expect_kept(std::unordered_set<std::string>{"x", "y"}, {"z"});
  expect_kept(std::array<std::string, 2>{"x", "y"});
}

TEST_P(TrackedTypesTest, Sequences) {
  expect_kept(std::vector<float>{1, 2, 3}, {4});
  expect_kept(std::vector<float>{}, {4});
  expect_kept(std::vector<Phase>{Phase::kDone, Phase::kTraining});
  expect_kept(std::vector<std::chrono::seconds>{std::chrono::seconds(4)});
  expect_kept(std::vector<std::complex<double>>{{1, 2}, {3, 4}});
  expect_kept(std::vector<std::array<float, 3>>{{1, 2, 3}, {4, 5, 6}}, {{9, 9, 9}});
  expect_kept(std::vector<bool>{true, false, true}, {false});
  expect_kept(std::vector<bool>{}, {false});
  expect_kept(std::deque<double>{7, 8}, {1});
  expect_kept(std::deque<bool>{true, false});
  expect_kept(std::deque<Phase>{Phase::kDone});
  expect_kept(std::list<int>{7, 8}, {1, 2, 3});
  expect_kept(std::forward_list<int>{7, 8}, {1, 2, 3});
  expect_kept(std::valarray<float>{1, 2, 3}, {4});
  expect_kept(std::valarray<double>{}, {4});
  expect_kept(std::bitset<70>("101").flip(69), std::bitset<70>(7));
  expect_kept(std::bitset<0>());
}

TEST_P(TrackedTypesTest, Arrays) {
  expect_kept(std::array<int16_t, 3>{4, 5, 6});
  expect_kept(std::array<float, 0>{});
  expect_kept(std::array<std::array<bool, 2>, 2>{{{true, false}, {false, true}}});
  expect_kept(std::array<Point, 2>{Point{1, 2}, Point{3, 4}});
  expect_kept(std::array<std::vector<int>, 2>{{{1}, {2, 3}}}, {{{4, 5}, {}}});
  float matrix[2][3][2] = {{{1, 2}, {3, 4}, {5, 6}}, {{7, 8}}}, other_matrix[2][3][2] = {};
  expect_kept_in(matrix, other_matrix);
  Point points[2][1] = {{{1, 2}}, {{3, 4}}}, other_points[2][1] = {};
  expect_kept_in(points, other_points);
  std::vector<int> lists[2] = {{1}, {2, 3}}, other_lists[2] = {{}, {4}};
  expect_kept_in(lists, other_lists);
}

TEST_P(TrackedTypesTest, SequencesOfParts) {
  expect_kept(std::vector<Point>{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}, {9, 9}});
  expect_kept(std::vector<Point>{}, {{5, 6}});
  expect_kept(std::deque<Point>{{1, 2}}, {{5, 6}, {7, 8}});
  expect_kept(std::list<Point>{{1, 2}, {3, 4}});
  expect_kept(std::forward_list<Point>{{1, 2}, {3, 4}});
  expect_kept(std::vector<std::vector<float>>{{1}, {}, {2, 3}}, {{4, 5}});
  expect_kept(std::vector<std::vector<std::vector<std::string>>>{{{"a"}, {}}, {}, {{"b", "c"}}});
  expect_kept(std::vector<std::pair<int, std::string>>{{1, "a"}, {2, "b"}});
  expect_kept(std::vector<Counter>{{1}, {2}}, {{3}});
  expect_kept(std::vector<Layer>{{{1, 2}, Point{1, 2}, {{"m", {1}}}}, {}},
              {{{3}, {}, {{"n", {2, 3}}}}});
  expect_kept(std::vector<std::optional<float>>{1.0F, std::nullopt}, {std::nullopt, 2.0F, 3.0F});
}

TEST_P(TrackedTypesTest, Sets) {
  expect_kept(std::set<int64_t>{3, 1, 2}, {7});
  expect_kept(std::set<int, std::greater<>>{3, 1, 2});
  expect_kept(std::multiset<int>{3, 1, 1}, {7});
  expect_kept(std::unordered_set<int>{3, 1, 2}, {7});
  expect_kept(std::unordered_multiset<int>{3, 1, 1});
  expect_kept(std::set<Phase>{Phase::kDone});
  expect_kept(std::set<std::pair<int, int>>{{1, 2}, {3, 4}}, {{5, 6}});
  expect_kept(std::set<std::pair<int, int>>{}, {{5, 6}});
  expect_kept(std::set<std::vector<int>>{{1, 2}, {3}}, {{5, 6}});
  expect_kept(std::set<std::array<float, 2>>{{1, 2}, {3, 4}});
  expect_kept(std::multiset<Point>{{1, 2}, {1, 2}, {3, 4}}, {{5, 6}});
}

TEST_P(TrackedTypesTest, Maps) {
  using namespace std::string_literals;
  expect_kept(std::unordered_map<std::string, int>{{"the", 1}, {"a", 2}}, {{"of", 3}});
  expect_kept(std::map<int, float>{{2, 0.5F}, {1, 1.5F}}, {{2, 3.0F}});
  expect_kept(std::map<int, float>{}, {{2, 3.0F}});
  expect_kept(std::map<std::string, std::string>{{"", "x"}, {"y", ""}});
  expect_kept(std::map<double, bool>{{0.5, true}});
  expect_kept(std::multimap<int, int>{{1, 2}, {1, 1}, {0, 5}}, {{1, 9}});
  expect_kept(std::unordered_multimap<std::string, int>{{"a", 2}, {"a", 1}});
  expect_kept(std::map<std::string, Point>{{"p", {1, 2}}, {"q", {3, 4}}},
              {{"q", {5, 6}}, {"r", {7, 8}}});
  expect_kept(std::map<std::string, Point>{}, {{"q", {5, 6}}});
  expect_kept(std::map<std::string, Point>{
      {"", {1, 2}}, {"a/b", {3, 4}}, {"%", {5, 6}}, {"%empty", {7, 8}}, {"\xff\0"s, {9, 9}}});
  expect_kept(std::unordered_map<std::string, std::vector<float>>{{"w", {1, 2}}, {"b", {}}},
              {{"w", {3}}, {"c", {4}}});
  expect_kept(std::map<int, std::map<int, std::vector<int>>>{{-1, {{5, {1, 2}}}}, {3, {}}});
  expect_kept(std::map<Phase, Layer>{{Phase::kDone, {{1}, {}, {{"m", {1}}}}}});
  expect_kept(std::map<bool, Point>{{true, {1, 2}}});
  expect_kept(std::map<std::pair<int, int>, float>{{{1, 2}, 0.5F}, {{3, 4}, 1.5F}},
              {{{3, 4}, 9.0F}, {{5, 6}, 9.0F}});
  expect_kept(std::map<std::pair<int, int>, float>{}, {{{3, 4}, 9.0F}});
  expect_kept(std::map<double, Point>{{0.5, {1, 2}}, {-0.5, {3, 4}}});
  expect_kept(std::multimap<int, Point>{{1, {1, 2}}, {1, {3, 4}}, {0, {5, 6}}}, {{1, {9, 9}}});
  expect_kept(std::unordered_map<double, Point>{{0.5, {1, 2}}, {-0.5, {3, 4}}});
}

TEST_P(TrackedTypesTest, PairsAndTuples) {
  expect_kept(std::pair<int, std::string>(5, "a"));
  expect_kept(std::pair<Layer, std::vector<int>>({{1}, {}, {}}, {1, 2}));
  expect_kept(std::tuple<int, std::string, Point>(5, "a", {1, 2}));
  expect_kept(std::tuple<std::tuple<float>, bool>({0.5F}, true));
}

TEST_P(TrackedTypesTest, WhatMayBeAbsent) {
  expect_kept(std::optional<float>(0.5F), {});
  expect_kept(std::optional<float>(), std::optional<float>(0.5F));
  expect_kept(std::optional<bool>(false));
  expect_kept(std::optional<std::string>(""));
  expect_kept(std::optional<Layer>({{1, 2}, Point{1, 2}, {}}));
  expect_kept(std::optional<std::optional<int>>(std::optional<int>()));
  expect_kept(std::optional<std::optional<int>>(std::optional<int>(5)));
  expect_kept(std::optional<std::map<std::string, Point>>(std::map<std::string, Point>()));
  std::unique_ptr<Layer> layer(new Layer{{1, 2}, {}, {}}), null, other(new Layer);
  std::unique_ptr<Layer> to_be_null(new Layer);
  expect_kept_in(layer, null, other);
  std::unique_ptr<Layer> absent;
  expect_kept_in(absent, to_be_null, layer);
  std::shared_ptr<int> number = std::make_shared<int>(7), no_number;
  expect_kept_in(number, no_number);
  std::vector<std::unique_ptr<Point>> points, fresh;
  points.push_back(std::make_unique<Point>(Point{1, 2}));
  points.push_back(nullptr);
  expect_kept_in(points, fresh);
}

TEST_P(TrackedTypesTest, Variants) {
  using Schedule = std::variant<std::monostate, float, Point, std::vector<Point>, float>;
  const Schedule all[] = {std::monostate(), Schedule(std::in_place_index<1>, 0.5F), Point{1, 2},
                          std::vector<Point>{{3, 4}, {5, 6}},
                          Schedule(std::in_place_index<4>, 1.5F)};
  for (const Schedule& one : all)
    for (const Schedule& other : all) expect_kept(one, other);
  expect_kept(std::vector<Schedule>{all[2], all[0], all[1]}, {all[3]});
}

TEST_P(TrackedTypesTest, TreesOfPointers) {
  Tree tree{1, std::make_unique<Tree>(Tree{2, nullptr, std::make_unique<Tree>(Tree{3, {}, {}})}),
            nullptr};
  Tree fresh, other{4, nullptr, std::make_unique<Tree>(Tree{5, {}, {}})};
  expect_kept_in(tree, fresh, other);
}

TEST_P(TrackedTypesTest, GeneratorsAndDistributions) {
  std::mt19937_64 generator(3);
  std::normal_distribution<float> noise(1, 2);
  noise(generator);  // Keeps a second number.
  std::pair state(generator, noise);
  expect_kept(state);
  expect_kept(std::vector<std::mt19937>{std::mt19937(1), std::mt19937(2)});
  expect_kept(std::map<std::string, std::gamma_distribution<double>>{
      {"a", std::gamma_distribution<double>(2, 30)}});
}

TEST_P(TrackedTypesTest, TensorsAndMatrices) {
  expect_kept(Tensor::from<float>({1, 2, 3, 4}, {2, 2}), Tensor::scalar(0.0F));
  expect_kept(std::map<std::string, Tensor>{{"t", Tensor::from<int>({1, 2})}});
  Eigen::MatrixXf matrix(2, 3);
  matrix << 1, 2, 3, 4, 5, 6;
  Eigen::MatrixXf other = Eigen::MatrixXf::Zero(2, 3);
  expect_kept_in(matrix, other);
  Eigen::MatrixXf empty;
  expect_kept_in(matrix, empty);
  Eigen::VectorXd vector = Eigen::Vector3d(1, 2, 3);
  Eigen::VectorXd empty_vector;
  expect_kept_in(vector, empty_vector);
  expect_kept(std::vector<Eigen::MatrixXf>{matrix, matrix.transpose()});
  expect_kept(std::map<std::string, Eigen::VectorXd>{{"b", Eigen::Vector3d(1, 2, 3)}});
}

TEST_P(TrackedTypesTest, SpansOfParts) {
  std::vector<Point> memory = {{1, 2}, {3, 4}};
  std::span<Point> span(memory);
  {
    files_.emplace();
    Loop loop(options());
    loop.track("value", span);
    loop.run([] {});
  }
  memory = {{}, {}};
  Loop loop(options());
  loop.track("value", std::span<Point>(memory));
  loop.restore();
  EXPECT_THAT(memory, testing::ElementsAre(Point{1, 2}, Point{3, 4}));
}

TEST_P(TrackedTypesTest, StructsThatListNothing) {
  const Settings settings{
      .rate = 0.1F,
      .name = "wide",
      .sizes = {3, 4},
      .grid = {{1, 2}, {3, 4}},
      .origin = Point{1, 2},
      .children = {
          {"deep", {.rate = 7, .name = "child", .sizes = {}, .origin = {}, .children = {}}}}};
  expect_kept(settings, Settings{.rate = 2, .sizes = {9}, .children = {{"other", {}}}});
  expect_kept(std::optional(settings));
  expect_kept(std::vector<Settings>{settings, {}, settings}, std::vector<Settings>(7));
  expect_kept(std::vector<Settings>(), {settings});
  expect_kept(std::variant<int, Settings>(settings), {3});
  expect_kept(std::tuple(7, Sample{{1, 2}, 3}));
  expect_kept(std::deque<Sample>{{{1, 2}, 3}, {{4, 5}, 6}}, std::deque<Sample>(5));
  auto pointer = std::make_unique<Settings>(settings);
  auto other = std::make_unique<Settings>();
  std::unique_ptr<Settings> none;
  expect_kept_in(pointer, other, none);
  struct Local {
    std::mt19937 generator;
    std::atomic<int> count = 0;
  };
  Local local;
  local.generator.seed(3);
  local.count = 4;
  save(local);
  Local restored;
  Loop loop(options());
  loop.track("value", restored);
  EXPECT_EQ(loop.restore(), 1);
  EXPECT_EQ(restored.generator, local.generator);
  EXPECT_EQ(restored.count, 4);
}

TEST_P(TrackedTypesTest, MembersThatListNothingAreCalledAsInTheProgram) {
  std::vector<Sample> samples(3);
  Settings settings{.children = {{"a", {}}}};
  save(settings);
  EXPECT_THAT(stored_names(), IsSupersetOf({"value/rate", "value/name", "value/sizes", "value/grid",
                                            "value/children/a/rate"}));
  save(samples);
  EXPECT_THAT(stored_names(), IsSupersetOf({"value/input", "value/label"})) << "columns";
  // A member is missing in the checkpoint: what it should be, nobody knows.
  struct Longer {
    std::array<float, 2> input = {};
    int64_t label = 0;
    float weight = 1;
  };
  Longer longer;
  Sample sample{{1, 2}, 3};
  save(sample);
  Loop loop(options());
  loop.track("value", longer);
  EXPECT_THAT([&] { loop.restore(); }, ThrowsMessage<Error>(HasSubstr("value/weight")));
  EXPECT_EQ(longer.label, 0) << "nothing is changed";
}

}  // namespace
}  // namespace crochet::tracked_types
