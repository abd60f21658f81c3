// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Rows that move between the ranks of a group: each rank saves as many as it has, and any number of
// ranks restores them.
#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/eigen.h"
#include "tests/groups/sharded_state.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

struct Particle {
  int64_t id = 0;
  std::array<double, 2> position{};
  bool is_hot = false;

  void track(Tracker& tracker) { tracker("id", id)("position", position)("is_hot", is_hot); }
  friend bool operator==(const Particle&, const Particle&) = default;
};

// Several arrays with the same rows.
struct Cloud {
  std::vector<Particle> particles;
  std::vector<std::array<double, 2>> speed;
  std::deque<int64_t> age;
  std::vector<bool> is_new;

  void track(Tracker& tracker) {
    tracker("particles", particles)("speed", speed)("age", age)("is_new", is_new);
  }
  size_t size() const { return particles.size(); }
  void add(int64_t id) {
    const auto x = static_cast<double>(id);
    particles.push_back({id, {x, x + 0.5}, id % 3 == 0});
    speed.push_back({x + 0.25, -x});
    age.push_back(2 * id);
    is_new.push_back(id % 2 == 0);
  }
  void clear() { *this = Cloud(); }
  // The numbers of its particles, if all other values are those of the same ones.
  std::vector<int64_t> ids() const {
    std::vector<int64_t> ids;
    Cloud expected;
    for (const Particle& each : particles) {
      ids.push_back(each.id);
      expected.add(each.id);
    }
    EXPECT_EQ(particles, expected.particles);
    EXPECT_EQ(speed, expected.speed);
    EXPECT_EQ(age, expected.age);
    EXPECT_EQ(is_new, expected.is_new);
    return ids;
  }
};

std::vector<int64_t> numbers(int64_t begin, int64_t end) {
  std::vector<int64_t> numbers;
  for (int64_t i = begin; i < end; ++i) numbers.push_back(i);
  return numbers;
}

class ShardedRowsTest : public ShardedStateTest {
 protected:
  using Ids = std::vector<std::vector<int64_t>>;  // By rank.

  // A job whose ranks begin with clouds of `ids`. With each step, `move` changes those of a rank.
  std::vector<RankOutcome> run_clouds(
      const Ids& ids, int64_t last_step,
      const std::function<void(int rank, int64_t step, Cloud& cloud)>& move = [](int, int64_t,
                                                                                 Cloud&) {}) {
    clouds_.assign(ids.size(), {});
    for (size_t rank = 0; rank < ids.size(); ++rank)
      for (const int64_t id : ids[rank]) clouds_[rank].add(id);
    return run(static_cast<int>(ids.size()), last_step, [&](RankProgram& program) {
      Cloud& cloud = clouds_[static_cast<size_t>(program.rank())];
      program.tracks_part = false;
      program.track = [&cloud](Loop& loop) { loop.track("cloud", sharded(cloud)); };
      program.body = [&cloud, &move, rank = program.rank()](Step& step) {
        move(rank, step.number(), cloud);
      };
    });
  }
  // What a job of this many ranks restores.
  Ids restored(int size) {
    const std::vector<RankOutcome> outcomes = run_clouds(Ids(static_cast<size_t>(size), {99}), 1);
    for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
    return ids_now();
  }
  Ids ids_now() const {
    Ids ids;
    for (const Cloud& cloud : clouds_) ids.push_back(cloud.ids());
    return ids;
  }
  Shape stored_shape(int64_t step, const std::string& name) {
    const CheckpointReader reader(fmt::format("{}/model.ckpt-{}", directory_, step), files_);
    reader.verify();
    return reader.tensors().at(name).shape;
  }

  std::vector<Cloud> clouds_;
};

TEST_F(ShardedRowsTest, TheSameNumberOfRanksHasTheSameRowsAgain) {
  for (const Ids& ids : {Ids{{1, 2, 3}, {}, {4}}, Ids{{}, {}, {7, 8}}, Ids{{5}, {6}, {}},
                         Ids{{}, {}, {}}, Ids{{1, 2, 3, 4}}}) {
    directory_ = fmt::format("run{}-{}", ids.size(), ids[0].size() + 10 * ids.back().size());
    expect_all_end_at(run_clouds(ids, 1), 1);
    EXPECT_EQ(restored(static_cast<int>(ids.size())), ids);
    EXPECT_THAT(leftovers(), IsEmpty());
  }
}

TEST_F(ShardedRowsTest, ACheckpointHasTheRowsOfAllRanks) {
  expect_all_end_at(run_clouds({{1, 2, 3}, {}, {4}}, 1), 1);
  const CheckpointReader reader("run/model.ckpt-1", files_);
  const Tensor ids = reader.read("cloud/particles/id");
  EXPECT_THAT(ids.flat<int64_t>(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(reader.read("cloud/speed").shape(), (Shape{4, 2}));
  const Tensor counts = reader.read("cloud/%rows");
  EXPECT_THAT(counts.flat<int64_t>(), ElementsAre(3, 0, 1));
}

TEST_F(ShardedRowsTest, AnotherNumberOfRanksHasBalancedPartsInOrder) {
  expect_all_end_at(run_clouds({numbers(0, 7)}, 1), 1);
  EXPECT_THAT(restored(3), ElementsAre(numbers(0, 3), numbers(3, 5), numbers(5, 7)));
  EXPECT_THAT(restored(2), ElementsAre(numbers(0, 4), numbers(4, 7)));
  EXPECT_THAT(restored(1), ElementsAre(numbers(0, 7)));
  // More ranks than rows.
  const Ids nine = restored(9);
  for (size_t rank = 0; rank < 9; ++rank)
    EXPECT_EQ(nine[rank], rank < 7
                              ? numbers(static_cast<int64_t>(rank), static_cast<int64_t>(rank) + 1)
                              : numbers(0, 0));
}

TEST_F(ShardedRowsTest, EachNumberOfRanksContinuesFromEachOther) {
  int64_t next_id = 20;
  Ids now = {numbers(0, 20)};
  int64_t step = 0;
  for (const size_t size : {1, 3, 2, 1, 4, 8, 2}) {
    SCOPED_TRACE(size);
    const int64_t total_before = next_id;
    step += 3;
    now.resize(size);
    expect_all_end_at(run_clouds(now, step,
                                 [&](int rank, int64_t number, Cloud& cloud) {
                                   // Within a rank: it loses one at the front, and gets it back
                                   // at the end; the last step adds one to rank 0.
                                   if (cloud.size() > 0) {
                                     const int64_t id = cloud.particles.front().id;
                                     Cloud rest;
                                     for (size_t i = 1; i < cloud.size(); ++i)
                                       rest.add(cloud.particles[i].id);
                                     cloud = rest;
                                     cloud.add(id);
                                   }
                                   if (rank == 0 && number == step) cloud.add(next_id++);
                                 }),
                      step);
    EXPECT_EQ(next_id, total_before + 1);
    std::vector<int64_t> all;
    for (const auto& ids : ids_now()) all.insert(all.end(), ids.begin(), ids.end());
    EXPECT_EQ(stored_shape(step, "cloud/age"), Shape{next_id});
    std::ranges::sort(all);
    EXPECT_EQ(all, numbers(0, next_id));
  }
}

TEST_F(ShardedRowsTest, TheNumberOfRowsMayChangeFromSaveToSave) {
  expect_all_end_at(run_clouds({{1}, {2}, {3}}, 15,
                               [](int rank, int64_t step, Cloud& cloud) {
                                 if (step == 5 && rank == 1) cloud.add(10);
                                 if (step == 10) cloud.clear();
                                 if (step == 15 && rank == 2)
                                   for (int64_t id = 0; id < 1000; ++id) cloud.add(id);
                               }),
                    15);
  EXPECT_EQ(stored_shape(0, "cloud/particles/position"), (Shape{3, 2}));
  EXPECT_EQ(stored_shape(5, "cloud/particles/position"), (Shape{4, 2}));
  EXPECT_EQ(stored_shape(10, "cloud/particles/position"), (Shape{0, 2}));
  EXPECT_EQ(stored_shape(15, "cloud/particles/position"), (Shape{1000, 2}));
  EXPECT_THAT(restored(2), ElementsAre(numbers(0, 500), numbers(500, 1000)));
}

TEST_F(ShardedRowsTest, ResumesAfterARankDied) {
  const auto dies = [](int rank, int64_t step, Cloud& cloud) {
    cloud.add(100 * step + rank);
    if (rank == 1 && step == 8) throw std::runtime_error("killed");
  };
  const std::vector<RankOutcome> outcomes = run_clouds({{1}, {}, {3}}, 20, dies);
  for (const RankOutcome& outcome : outcomes) EXPECT_THAT(outcome.error, HasSubstr("killed"));
  EXPECT_THAT(checkpoints(), ElementsAre("0", "5"));
  const std::vector<RankOutcome> resumed = run_clouds({{}, {}}, 6);
  expect_all_end_at(resumed, 6);
  EXPECT_THAT(ids_now(), ElementsAre(ElementsAre(1, 100, 200, 300, 400, 500, 101, 201, 301),
                                     ElementsAre(401, 501, 3, 102, 202, 302, 402, 502)));
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(ShardedRowsTest, ARecoveryGivesEachRankItsRowsBack) {
  const std::vector<RankOutcome> outcomes = run_clouds(
      {{1, 2}, {}}, 9, [&, failed = false](int rank, int64_t step, Cloud& cloud) mutable {
        if (step == 6 && rank == 1) {
          EXPECT_EQ(cloud.ids(), numbers(7, 10));
        }
        if (step == 3 && rank == 1)
          for (int64_t id = 7; id < 10; ++id) cloud.add(id);
        if (step == 8 && rank == 1 && !std::exchange(failed, true))
          throw UnavailableError("a device is lost");
      });
  expect_all_end_at(outcomes, 9);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.report->recoveries, 1);
  EXPECT_THAT(ids_now(), ElementsAre(ElementsAre(1, 2), ElementsAre(7, 8, 9)));
}

// One array of its own, as of a program that has no structs. Another one needs no other partition.
TEST_F(ShardedRowsTest, SingleArrays) {
  std::vector<std::vector<double>> x = {{1}, {2, 3}, {}};
  std::vector<Eigen::MatrixXf> y(3);
  for (size_t rank = 0; rank < 3; ++rank) {
    y[rank].resize(static_cast<Eigen::Index>(x[rank].size()), 2);
    for (Eigen::Index row = 0; row < y[rank].rows(); ++row)
      y[rank].row(row) << static_cast<float>(x[rank][static_cast<size_t>(row)]), -1.0F;
  }
  const auto arrays = [&](RankProgram& program) {
    const auto rank = static_cast<size_t>(program.rank());
    program.tracks_part = false;
    program.track = [&x, &y, rank](Loop& loop) {
      loop.track("x", sharded(x[rank]));
      loop.track("y", sharded(y[rank]));
    };
  };
  expect_all_end_at(run(3, 1, arrays), 1);
  x.assign(2, {9, 9});
  y.assign(2, Eigen::MatrixXf::Zero(1, 2));
  expect_all_end_at(run(2, 1, arrays), 1);
  EXPECT_THAT(x, ElementsAre(ElementsAre(1, 2), ElementsAre(3)));
  EXPECT_EQ(y[0](1, 0), 2);
  EXPECT_EQ(y[0](1, 1), -1);
  EXPECT_EQ(y[1](0, 0), 3);
}

// Also one that does not know of ranks.
TEST_F(ShardedRowsTest, AProgramThatRunsAloneRestoresAllRows) {
  expect_all_end_at(run_clouds({{1, 2}, {}, {3}}, 1), 1);
  for (const bool is_sharded : {true, false}) {
    Cloud cloud;
    Loop loop({.checkpoint = {.dir = "run"}, .files = &files_, .clock = &clock_});
    if (is_sharded)
      loop.track("cloud", sharded(cloud));
    else
      loop.track("cloud", cloud);
    EXPECT_EQ(loop.restore(), 1);
    EXPECT_THAT(cloud.ids(), ElementsAre(1, 2, 3));
  }
}

// As of a checkpoint that another program has written.
TEST_F(ShardedRowsTest, CountsThatDoNotFitAreNotUsed) {
  int number = 0;
  for (const Tensor& counts :
       {Tensor::from<int64_t>({1, 1}), Tensor::from<int64_t>({4, -1}), Tensor::from<int64_t>({3}),
        Tensor::from<double>({2, 1}), Tensor::zeros<int64_t>({2, 1}),
        Tensor::from<int64_t>({INT64_MAX, INT64_MAX}), Tensor()}) {
    directory_ = fmt::format("run{}", ++number);
    internal::BundleWriter writer(files_, directory_ + "/model.ckpt-1");
    writer.add("global_step", Tensor::scalar<int64_t>(1));
    writer.add("x", Tensor::from<double>({1, 2, 3}));
    if (counts.is_set()) writer.add("x/%rows", counts);
    writer.finish();
    std::vector<std::vector<double>> x(2);
    expect_all_end_at(run(2, 1,
                          [&](RankProgram& program) {
                            auto& own = x[static_cast<size_t>(program.rank())];
                            program.tracks_part = false;
                            program.track = [&own](Loop& loop) { loop.track("x", sharded(own)); };
                          }),
                      1);
    EXPECT_THAT(x, ElementsAre(ElementsAre(1, 2), ElementsAre(3)));
  }
}

TEST_F(ShardedRowsTest, AllArraysNeedTheSameRows) {
  const std::vector<RankOutcome> outcomes =
      run_clouds({{1}, {2}}, 9, [](int rank, int64_t step, Cloud& cloud) {
        if (rank == 1 && step == 5) cloud.speed.pop_back();
      });
  EXPECT_THAT(outcomes[1].error,
              HasSubstr("sharded(): \"cloud/age\" has 1 rows and \"cloud/speed\" has 0, expected "
                        "the same number"));
  EXPECT_EQ(outcomes[1].code, Code::kFailedPrecondition);
  EXPECT_THAT(checkpoints(), ElementsAre("0"));
}

TEST_F(ShardedRowsTest, AllRanksNeedTheSameArrays) {
  struct Changeable {
    std::vector<double> x, y;
    bool has_y = true;
    void track(Tracker& tracker) {
      tracker("x", x);
      if (has_y) tracker("y", y);
    }
  };
  std::vector<Changeable> values(2);
  values[1].has_y = false;
  const std::vector<RankOutcome> outcomes = run(2, 9, [&](RankProgram& program) {
    auto& value = values[static_cast<size_t>(program.rank())];
    program.tracks_part = false;
    program.track = [&value](Loop& loop) { loop.track("value", sharded(value)); };
  });
  EXPECT_THAT(outcomes[0].error,
              HasSubstr("\"value/y\" is in 1 of 2 parts, expected its rows in all"));
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_F(ShardedRowsTest, RefusesWhatHasNoRows) {
  Loop loop(LoopOptions{});
  const auto refuses = [&](auto& value, const std::string& why) {
    static int count = 0;
    EXPECT_THAT([&] { loop.track(fmt::format("v{}", ++count), sharded(value)); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(why)));
  };
  double number = 0;
  refuses(number, "is float64 [], expected rows");
  std::array<double, 3> array{};
  refuses(array, "is float64 [3], expected rows");
  std::string text;
  refuses(text, "expected rows");
  std::vector<std::string> texts;
  refuses(texts, "expected rows");
  std::map<int64_t, double> map;
  refuses(map, "expected rows");
  std::map<std::string, std::vector<double>> arrays;
  refuses(arrays, "expected rows");
  std::optional<std::vector<double>> optional;
  refuses(optional, "expected rows");
  std::vector<std::vector<double>> lists(2);
  refuses(lists, "expected rows");
  struct Named {
    int64_t id = 0;
    std::string name;
    void track(Tracker& tracker) { tracker("id", id)("name", name); }
  };
  std::vector<Named> named(1);
  refuses(named, "/name\" is a column of texts, expected numbers");
  struct Counted {
    std::vector<double> x;
    int64_t count = 0;
    void track(Tracker& tracker) { tracker("x", x)("count", count); }
  } counted;
  refuses(counted, "/count\" is int64 [], expected rows");
}

TEST_F(ShardedRowsTest, RefusesRowsInContainers) {
  struct Owner {
    std::vector<double> x;
    void track(Tracker& tracker) { tracker("x", sharded(x)); }
  };
  Loop loop(LoopOptions{});
  Owner owner;
  loop.track("owner", owner);  // A struct has a place of its own.
  std::vector<Owner> owners(1);
  EXPECT_THAT([&] { loop.track("owners", owners); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("within a container")));
}

TEST_F(ShardedRowsTest, AreSavedAsTensorBundlesOnly) {
  std::vector<double> x(2);
  const auto with = [&](const std::function<void(LoopOptions&)>& change) {
    return run(2, 1, [&](RankProgram& program) {
      change(program.options);
      program.tracks_part = false;
      program.track = [&x](Loop& loop) { loop.track("x", sharded(x)); };
    });
  };
  for (const RankOutcome& outcome : with([](LoopOptions& options) {
         options.checkpoint.saver.format = CheckpointFormat::kSafetensors;
       }))
    EXPECT_THAT(outcome.error, HasSubstr("are saved as kTensorBundle only"));
  for (const RankOutcome& outcome :
       with([](LoopOptions& options) { options.checkpoint.saver.fallback_dir = "second"; }))
    EXPECT_THAT(outcome.error, HasSubstr("expected none"));
}

}  // namespace
}  // namespace crochet
