// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Sequences of structs, which are stored as columns: their names, what a restore does to their
// sizes, its options, and checkpoints that do not fit.
#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/eigen.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/load.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/tracking/tracker.h"

namespace crochet::tracked_columns {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

struct Move {
  std::array<double, 2> state{};
  int action = 0;
  bool done = false;

  void track(Tracker& tracker) { tracker("state", state)("action", action)("done", done); }
  friend bool operator==(const Move&, const Move&) = default;
};

Move move_of(int i) { return {{i + 0.25, i + 0.5}, i, i % 2 == 1}; }
template <typename T = std::vector<Move>>
T moves(int count) {
  T all;
  for (int i = 0; i < count; ++i) all.push_back(move_of(i));
  return all;
}

class TrackedColumnsTest : public testing::Test {
 protected:
  // A program with its value.
  struct Program {
    template <typename T>
    explicit Program(T& value) {
      graph.create_global_step();
      Tracker(graph, "")("value", value);
      session = graph.new_session("");
    }
    local::Graph graph;
    std::unique_ptr<Session> session;
  };

  template <typename T>
  void save(T&& value) {
    Saver({.files = &files_}).save(*Program(value).session, "run/ckpt", 1);
  }
  template <typename T>
  RestoreReport restore(T&& value, const RestoreOptions& options = {}) {
    return Saver({.files = &files_}, options).restore(*Program(value).session, "run/ckpt-1");
  }
  // A checkpoint that no program wrote.
  void write(const std::vector<std::pair<std::string, Tensor>>& tensors) {
    internal::BundleWriter writer(files_, "run/ckpt-1");
    writer.add("global_step", Tensor::scalar<int64_t>(1));
    for (const auto& [name, value] : tensors) writer.add(name, value);
    writer.finish();
  }
  // "value/action int32 [3]"
  std::vector<std::string> entries() {
    std::vector<std::string> entries;
    const CheckpointReader reader("run/ckpt-1", files_);
    for (const auto& [name, info] : reader.tensors())
      if (name != "global_step")
        entries.push_back(
            fmt::format("{} {} {}", name, dtype_name(info.dtype), to_string(info.shape)));
    return entries;
  }

  template <typename T>
  void expect_three_columns(const T& value, T restored) {
    T saved = value;
    save(saved);
    EXPECT_THAT(entries(), ElementsAre("value/action int32 [3]", "value/done bool [3]",
                                       "value/state float64 [3,2]"));
    restore(restored);
    EXPECT_EQ(restored, value);
  }

  MemoryFileSystem files_;
  LogCapture log_;
};

TEST_F(TrackedColumnsTest, StoresOneArrayForEachMember) {
  expect_three_columns(moves(3), {});
  expect_three_columns(moves<std::deque<Move>>(3), {});
  expect_three_columns(moves<std::list<Move>>(3), moves<std::list<Move>>(1));
  expect_three_columns(std::array{move_of(0), move_of(1), move_of(2)}, {});
}

TEST_F(TrackedColumnsTest, StoresArraysAndViews) {
  Move array[3] = {move_of(0), move_of(1), move_of(2)};
  save(array);
  EXPECT_EQ(entries().size(), 3);
  Move others[3] = {};
  restore(std::span(others));
  EXPECT_THAT(others, ElementsAre(move_of(0), move_of(1), move_of(2)));
  Move two[2] = {};
  EXPECT_THAT([&] { restore(two); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "\"value/action\" is int32 [3] in the checkpoint and int32 [2] in the program")));
}

enum class Kind : uint8_t { kNone, kSome };

struct Everything {
  Move move;
  std::array<Move, 2> both;
  std::string name;
  Kind kind = Kind::kNone;
  std::chrono::milliseconds time{};
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  Eigen::Matrix2f turn = Eigen::Matrix2f::Zero();
  std::pair<int, std::tuple<float, std::string>> pair;

  void track(Tracker& tracker) {
    tracker("move", move)("both", both)("name", name)("kind", kind)("time", time);
    tracker("position", position)("turn", turn)("pair", pair);
  }
  friend bool operator==(const Everything&, const Everything&) = default;
};

TEST_F(TrackedColumnsTest, StoresMembersOfMembers) {
  std::deque<Everything> value(2);
  value[1].move = value[0].both[1] = move_of(3);
  value[0].name = "first";
  value[1].kind = Kind::kSome;
  value[1].time = std::chrono::milliseconds(7);
  value[0].position = {1, 2, 3};
  value[1].turn << 1, 2, 3, 4;
  value[1].pair = {4, {5, "text"}};
  save(value);
  EXPECT_THAT(
      entries(),
      ElementsAre("value/both/0/action int32 [2]", "value/both/0/done bool [2]",
                  "value/both/0/state float64 [2,2]", "value/both/1/action int32 [2]",
                  "value/both/1/done bool [2]", "value/both/1/state float64 [2,2]",
                  "value/kind uint8 [2]", "value/move/action int32 [2]", "value/move/done bool [2]",
                  "value/move/state float64 [2,2]", "value/name string [2]",
                  "value/pair/first int32 [2]", "value/pair/second/0 float32 [2]",
                  "value/pair/second/1 string [2]", "value/position float64 [2,3]",
                  "value/time int64 [2]", "value/turn float32 [2,2,2]"));
  // Row by row, whatever the order in memory.
  const Tensor turns = CheckpointReader("run/ckpt-1", files_).read("value/turn");
  EXPECT_EQ(turns.flat<float>()[5], 2);
  std::deque<Everything> restored(1);
  restore(restored);
  EXPECT_EQ(restored, value);
}

TEST_F(TrackedColumnsTest, StoresElementsWithoutNamesAsOneArray) {
  std::deque<std::array<double, 2>> pairs = {{1, 2}, {3, 4}};
  save(pairs);
  EXPECT_THAT(entries(), ElementsAre("value float64 [2,2]"));
  std::deque<std::array<double, 2>> restored;
  restore(restored);
  EXPECT_EQ(restored, pairs);
  std::vector<Eigen::Vector3d> points = {{1, 2, 3}};
  save(points);
  EXPECT_THAT(entries(), ElementsAre("value float64 [1,3]"));
  std::vector<Eigen::Vector3d> other_points(4);
  restore(other_points);
  EXPECT_EQ(other_points, points);
  std::vector<std::tuple<int, std::string>> tuples = {{1, "a"}, {2, "b"}};
  save(tuples);
  EXPECT_THAT(entries(), ElementsAre("value/0 int32 [2]", "value/1 string [2]"));
  std::vector<std::tuple<int, std::string>> other_tuples;
  restore(other_tuples);
  EXPECT_EQ(other_tuples, tuples);
  std::vector<std::array<Move, 2>> arrays(3);
  arrays[2][1] = move_of(5);
  save(arrays);
  EXPECT_EQ(entries().size(), 6);
  std::vector<std::array<Move, 2>> other_arrays;
  restore(other_arrays);
  EXPECT_EQ(other_arrays, arrays);
}

// Keys have to be complete before the values are read.
TEST_F(TrackedColumnsTest, StoresKeysOfSetsAndMaps) {
  std::set<std::pair<int, std::string>> set = {{1, "a"}, {2, "b"}};
  save(set);
  EXPECT_THAT(entries(), ElementsAre("value/first int32 [2]", "value/second string [2]"));
  std::set<std::pair<int, std::string>> other_set = {{9, "z"}};
  restore(other_set);
  EXPECT_EQ(other_set, set);
  std::map<std::pair<int, int>, Move> map = {{{1, 2}, move_of(1)}, {{3, 4}, move_of(2)}};
  save(map);
  std::map<std::pair<int, int>, Move> other_map;
  restore(other_map);
  EXPECT_EQ(other_map, map);
}

TEST_F(TrackedColumnsTest, TakesTheCheckpointsSize) {
  for (const int stored : {0, 1, 3, 500}) {
    save(moves(stored));
    for (const int own : {0, 1, 4}) {
      SCOPED_TRACE(fmt::format("{} -> {}", own, stored));
      std::vector<Move> value = moves(own);
      std::ranges::fill(value, Move());
      const RestoreReport report = restore(value);
      EXPECT_EQ(value, moves(stored));
      EXPECT_EQ(report.resized.size(), own == 0 || own == stored ? 0 : 3);
      EXPECT_THAT(report.restored,
                  UnorderedElementsAre("global_step", "value/action", "value/done", "value/state"));
    }
  }
}

TEST_F(TrackedColumnsTest, ReportsEachColumnWhoseSizeChanges) {
  save(moves(3));
  std::vector<Move> value = moves(2);
  const RestoreReport report = restore(value);
  EXPECT_THAT(report.resized, testing::Contains(ResizedValue{"value/state", {3, 2}, {2, 2}}));
  EXPECT_THAT(log_.lines(),
              testing::Contains(
                  AllOf(HasSubstr("\"value/action\" (3 elements, was 2)"), HasSubstr("keep"))));
}

TEST_F(TrackedColumnsTest, AFixedSequenceRefusesAnotherSize) {
  save(moves(3));
  for (const int own : {0, 2, 4}) {
    std::vector<Move> value = moves(own);
    EXPECT_THAT([&] { restore(fixed(value)); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(fmt::format(
                    "\"value/action\" is int32 [3] in the checkpoint and int32 [{}]", own))));
    EXPECT_EQ(value, moves(own));
  }
  std::vector<Move> value(3);
  restore(fixed(value));
  EXPECT_EQ(value, moves(3));
}

// The same with a member more.
struct LongMove : Move {
  double reward = 7;
  void track(Tracker& tracker) {
    Move::track(tracker);
    tracker("reward", reward);
  }
};

TEST_F(TrackedColumnsTest, RefusesAMemberThatTheCheckpointLacks) {
  save(moves(3));
  std::vector<LongMove> value(1);
  EXPECT_THAT([&] { restore(value); },
              ThrowsMessage<NotFoundError>(HasSubstr("Key value/reward not found")));
  EXPECT_EQ(value.size(), 1);
  value[0].reward = 1;
  const RestoreReport report = restore(value, {.allow_missing = {"value/reward"}});
  EXPECT_THAT(report.missing, ElementsAre("value/reward"));
  ASSERT_EQ(value.size(), 3);
  EXPECT_EQ(value[2].action, 2);
  EXPECT_EQ(value[0].reward, 1);
  EXPECT_EQ(value[2].reward, 7);  // Of an element that the restore made.
}

TEST_F(TrackedColumnsTest, RefusesAMemberThatTheProgramLacks) {
  std::vector<LongMove> saved(3);
  save(saved);
  std::vector<Move> value;
  EXPECT_THAT([&] { restore(value); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("\"value/reward\" (float64 [3]) is not in the program")));
  const RestoreReport report = restore(value, {.allow_surplus = {"value/reward"}});
  EXPECT_THAT(report.surplus, ElementsAre("value/reward"));
  EXPECT_EQ(value.size(), 3);
}

struct WideMove {
  std::array<double, 2> state{};
  double action = 0;
  bool done = false;
  void track(Tracker& tracker) { tracker("state", state)("action", action)("done", done); }
};

TEST_F(TrackedColumnsTest, AMemberOfAnotherTypeIsAnError) {
  save(moves(3));
  std::vector<WideMove> value;
  EXPECT_THAT([&] { restore(value); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("\"value/action\" is int32 [3] in the checkpoint and float64 [3]")));
  EXPECT_THAT(value, IsEmpty());
  const RestoreReport report = restore(value, {.convert_dtype = {"value/action"}});
  EXPECT_THAT(report.converted, ElementsAre("value/action"));
  EXPECT_EQ(value.at(2).action, 2.0);
  value.assign(1, {.action = 5});
  restore(value, {.allow_mismatched = {"value/action"}});
  EXPECT_EQ(value.size(), 3);
  EXPECT_EQ(value[0].action, 5);
}

struct SquareMove {
  std::array<std::array<double, 1>, 2> state{};
  int action = 0;
  bool finished = false;
  void track(Tracker& tracker) { tracker("state", state)("action", action)("finished", finished); }
};

TEST_F(TrackedColumnsTest, OptionsReachEachMember) {
  save(moves(3));
  std::vector<SquareMove> value(3);
  value[1].action = 9;
  const RestoreReport report = restore(value, {.keep = {"value/action"},
                                               .rename = {{"value/finished", "value/done"}},
                                               .reshape = {"value/state"}});
  EXPECT_THAT(report.reshaped, ElementsAre("value/state"));
  EXPECT_THAT(report.kept, ElementsAre("value/action"));
  EXPECT_THAT(report.renamed, ElementsAre(Pair("value/finished", "value/done")));
  ASSERT_EQ(value.size(), 3);
  EXPECT_EQ(value[2].state[1][0], 2.5);
  EXPECT_TRUE(value[1].finished);
  EXPECT_EQ(value[1].action, 9);
  EXPECT_EQ(value[2].action, 0);
}

TEST_F(TrackedColumnsTest, RestoresSomeMembers) {
  save(moves(3));
  std::vector<Move> value;
  load({.from = "run/ckpt-1", .only = {"value/action"}}, {{"value", value}}, &files_);
  ASSERT_EQ(value.size(), 3);
  EXPECT_EQ(value[2].action, 2);
  EXPECT_EQ(value[2].state[0], 0);
}

struct Named {
  std::vector<float> weights;
  int number = 0;
  void track(Tracker& tracker) { tracker("weights", weights)("number", number); }
};

TEST_F(TrackedColumnsTest, ElementsWithMembersOfAnySizeAreStoredOneByOne) {
  std::vector<Named> value = {{{1, 2}, 3}, {{}, 4}};
  save(value);
  EXPECT_THAT(entries(), ElementsAre("value/0/number int32 []", "value/0/weights float32 [2]",
                                     "value/1/number int32 []", "value/1/weights float32 [0]"));
  std::vector<Named> restored;
  restore(restored);
  EXPECT_THAT(restored.at(0).weights, ElementsAre(1, 2));
  // Without that member, they still are what is stored.
  struct Number {
    int number = 0;
    void track(Tracker& tracker) { tracker("number", number); }
  };
  std::vector<Number> numbers;
  EXPECT_THAT([&] { restore(numbers); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("\"value/0/weights\" (float32 [2]) is not in the program")));
  restore(numbers, {.allow_surplus = {"*/weights"}});
  EXPECT_EQ(numbers.at(1).number, 4);
}

TEST_F(TrackedColumnsTest, AMemberThatHasGotAnySizeIsNamed) {
  struct Numbers {
    int action = 0;
    bool done = false;
    std::vector<double> state;
    void track(Tracker& tracker) { tracker("state", state)("action", action)("done", done); }
  };
  save(moves(3));
  std::vector<Numbers> value;
  EXPECT_THAT([&] { restore(value); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("\"value/state\": found one float64 [3,2] of all elements")));
  struct More : Move {
    std::vector<double> extra;
    void track(Tracker& tracker) {
      Move::track(tracker);
      tracker("extra", extra);
    }
  };
  std::vector<More> more;
  EXPECT_THAT([&] { restore(more); },
              ThrowsMessage<NotFoundError>(HasSubstr("Key value/extra not found")));
  const RestoreReport report = restore(more, {.allow_missing = {"value/extra"}});
  EXPECT_THAT(report.missing, ElementsAre("value/extra"));
  EXPECT_THAT(report.dropped, IsEmpty());
  EXPECT_THAT(report.made, IsEmpty());
  ASSERT_EQ(more.size(), 3);
  EXPECT_EQ(more[2].action, 2);
}

// What it lists depends on its values.
struct Changeable {
  int first = 0;
  double second = 0;
  void track(Tracker& tracker) {
    tracker("first", first);
    if (first > 0) tracker("second", second);
  }
};

struct Hidden {
  int first = 0;
  double second = 0;
  bool lists_second = true;
  void track(Tracker& tracker) {
    tracker("first", first);
    if (lists_second) tracker("second", second);
  }
};

TEST_F(TrackedColumnsTest, ElementsThatListDifferentMembersAreStoredOneByOne) {
  std::vector<Changeable> value = {{0, 0}, {1, 0.5}};
  save(value);
  EXPECT_THAT(entries(), ElementsAre("value/0/first int32 []", "value/1/first int32 []",
                                     "value/1/second float64 []"));
  value = {{1, 0.25}, {1, 0.5}};
  save(value);
  EXPECT_EQ(entries().size(), 2);
  std::vector<Changeable> ready = {{1, 0}, {1, 0}};
  restore(ready);
  EXPECT_EQ(ready[1].second, 0.5);
  std::vector<Hidden> hidden(2);
  save(hidden);
  EXPECT_EQ(entries().size(), 2);
  std::vector<Hidden> mixed(2);
  mixed[1].lists_second = false;
  EXPECT_THAT([&] { restore(mixed); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("\"value\": element 1 lists other members than the first")));
}

TEST_F(TrackedColumnsTest, ElementsThatCannotBeMade) {
  struct Given {
    explicit Given(int given) : number(given) {}
    int number;
    void track(Tracker& tracker) { tracker("number", number); }
  };
  std::vector<Given> value = {Given(1), Given(2)};
  save(value);
  std::vector<Given> same = {Given(3), Given(4)};
  restore(same);
  EXPECT_EQ(same[1].number, 2);
  std::vector<Given> longer = {Given(3), Given(4), Given(5)};
  restore(longer);
  EXPECT_EQ(longer.size(), 2);
  std::vector<Given> shorter = {Given(3)};
  EXPECT_THROW(restore(shorter), InvalidArgumentError);
  std::vector<Given> none;
  for (std::vector<Given>* const each : {&shorter, &none})
    EXPECT_THAT([&] { restore(*each); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr("cannot make")));
  save(none);
  restore(longer);
  EXPECT_THAT(longer, IsEmpty());
}

TEST_F(TrackedColumnsTest, SurvivesHostileCheckpoints) {
  const Tensor state = Tensor::zeros<double>({2, 2});
  const Tensor action = Tensor::zeros<int>({2});
  const Tensor done = Tensor::zeros<bool>({2});
  Tensor bad_done(DType::kUint8, {2});
  const auto refuses = [&](Tensor a, Tensor b, Tensor c) {
    write({{"value/state", std::move(a)},
           {"value/action", std::move(b)},
           {"value/done", std::move(c)}});
    std::vector<Move> value = moves(3);
    EXPECT_THROW(restore(value), Error);
    EXPECT_EQ(value, moves(3));
  };
  refuses(state, Tensor::zeros<int>({3}), done);
  refuses(Tensor::zeros<double>({3, 2}), action, done);
  refuses(Tensor::zeros<double>({int64_t{1} << 40, 0}), action, done);
  refuses(state, Tensor::scalar(1), done);
  refuses(state, action, bad_done);
  refuses(state, Tensor::from({"a", "b"}), done);
}

TEST_F(TrackedColumnsTest, TheNumberOfEntriesDoesNotDependOnTheNumberOfElements) {
  std::deque<Move> replay(20'000);
  Loop loop({.checkpoint = {.dir = "replay", .every_steps = 10},
             .hooks = {StopAtStepHook({.last_step = 30})},
             .files = &files_});
  loop.track("replay", replay);
  int i = 0;
  loop.run([&] {
    replay.pop_front();
    for (int j = 0; j < 3; ++j) replay.push_back(move_of(++i));
  });
  EXPECT_EQ(CheckpointReader("replay/model.ckpt-30", files_).tensors().size(), 4);
  EXPECT_LT(files_.file_size("replay/model.ckpt-30.index"), 500);
  std::deque<Move> restored;
  Loop next({.checkpoint = {.dir = "replay"},
             .hooks = {StopAtStepHook({.last_step = 30})},
             .files = &files_});
  next.track("replay", restored);
  EXPECT_EQ(next.restore(), 30);
  EXPECT_EQ(restored, replay);
}

}  // namespace
}  // namespace crochet::tracked_columns
