// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// State that the ranks of a group have together: each saves its part, and any number of ranks
// restores it.
#include "tests/groups/sharded_state.h"

#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;

TEST_F(ShardedStateTest, ACheckpointHasTheWholeArray) {
  expect_all_end_at(run(4, 12), 12);
  EXPECT_THAT(checkpoints(), ElementsAre("0", "5", "10", "12"));
  for (const int64_t step : {0, 5, 10, 12}) expect_checkpoint(step);
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(ShardedStateTest, EachNumberOfRanksContinuesFromEachOther) {
  for (const int64_t num_rows : {24, 5}) {  // With eight ranks, three have none of five rows.
    num_rows_ = num_rows;
    for (const int from : {1, 2, 3, 4, 8}) {
      for (const int to : {1, 2, 3, 4, 8}) {
        SCOPED_TRACE(fmt::format("{} rows, {} ranks -> {} ranks", num_rows, from, to));
        directory_ = fmt::format("run-{}-{}-{}", num_rows, from, to);
        expect_all_end_at(run(from, 7), 7);
        const std::vector<RankOutcome> outcomes = run(to, 11);
        expect_all_end_at(outcomes, 11);
        for (const RankOutcome& outcome : outcomes)
          EXPECT_THAT(outcome.report->resumed_from, Optional(7));
        expect_checkpoint(11);
      }
    }
  }
}

// Beside the field, which changes in each step, an array that never changes.
class FrozenArrayTest : public ShardedStateTest {
 protected:
  static constexpr int64_t kElements = int64_t{128} << 10;
  static constexpr uint64_t kBytes = kElements * sizeof(double);
  static constexpr uint64_t kCapacity = 100 * kBytes;

  FrozenArrayTest() { files_.set_capacity(kCapacity); }

  std::function<void(RankProgram&)> add_array(int max_to_keep = 20, bool share = true) {
    return [this, max_to_keep, share](RankProgram& program) {
      program.options.checkpoint.saver.max_to_keep = max_to_keep;
      program.options.checkpoint.saver.share_unchanged = share;
      const Rows rows = rows_of(program.rank(), program.group.size(), kElements);
      const auto array = std::make_shared<std::vector<double>>(static_cast<size_t>(rows.count));
      std::iota(array->begin(), array->end(), static_cast<double>(rows.first) + first_element_);
      program.track = [array, rows](Loop& loop) {
        loop.track("frozen", sharded(*array, {.full_shape = {kElements}, .offset = {rows.first}}));
      };
    };
  }

  // Four ranks make 20 steps; `change` is called after the tenth step's checkpoint was published
  // and before the next save.
  std::vector<RankOutcome> run_with_change_of_10(const std::function<void()>& change) {
    return run(4, 20, [&](RankProgram& program) {
      add_array()(program);
      if (program.rank() != 0) return;
      program.body = [&](Step& step) {
        if (step.number() != 13) return;
        wait_until("the checkpoint of step 10",
                   [&] { return files_.exists("run/model.ckpt-10.index"); });
        change();
      };
    });
  }

  void expect_whole(int64_t step) {
    SCOPED_TRACE(step);
    expect_checkpoint(step);
    const CheckpointReader reader(fmt::format("run/model.ckpt-{}", step), files_);
    reader.verify();
    const Tensor array = reader.read("frozen");
    ASSERT_EQ(array.shape(), Shape{kElements});
    for (int64_t i = 0; i < kElements; ++i)
      ASSERT_EQ(array.flat<double>()[static_cast<size_t>(i)],
                static_cast<double>(i) + first_element_);
  }

  // How many times the array is stored, about.
  double times_stored() {
    return static_cast<double>(kCapacity - files_.free_bytes("run")) / static_cast<double>(kBytes);
  }

  double first_element_ = 0;
};

// The second checkpoint has it again: only then are the checksums of new copies known. So does one
// of the others: four share a file at most.
TEST_F(FrozenArrayTest, IsStoredThreeTimesInNineCheckpoints) {
  expect_all_end_at(run(4, 40, add_array()), 40);
  ASSERT_EQ(checkpoints().size(), 9);
  EXPECT_LT(times_stored(), 3.5);
  for (int64_t step = 0; step <= 40; step += 5) expect_whole(step);
  EXPECT_THAT(leftovers(), IsEmpty());
  EXPECT_THAT(log_.lines(), Not(Contains(HasSubstr("shared"))));
}

TEST_F(FrozenArrayTest, IsStoredOnceIfOneCheckpointIsKept) {
  expect_all_end_at(run(3, 40, add_array(/*max_to_keep=*/1)), 40);
  EXPECT_LT(times_stored(), 1.5);
  expect_whole(40);
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(FrozenArrayTest, IsWrittenEachTimeIfNothingIsToBeShared) {
  expect_all_end_at(run(4, 20, add_array(/*max_to_keep=*/20, /*share=*/false)), 20);
  EXPECT_GE(times_stored(), 5);
  expect_whole(20);
}

TEST_F(FrozenArrayTest, IsWrittenAgainIfTheCheckpointBeforeIsGone) {
  const auto remove = [this] { files_.remove("run/model.ckpt-10.index"); };
  expect_all_end_at(run_with_change_of_10(remove), 20);
  for (const int64_t step : {0, 5, 15, 20}) expect_whole(step);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("nothing of run/model.ckpt-10 is shared")));
}

TEST_F(FrozenArrayTest, IsWrittenAgainIfTheCheckpointBeforeWasReplaced) {
  directory_ = "other";
  first_element_ = 1;
  expect_all_end_at(run(4, 10, add_array()), 10);
  directory_ = "run";
  first_element_ = 0;
  const auto replace = [this] {
    for (const std::string& name : files_.list("other"))
      if (name.starts_with("model.ckpt-10.")) files_.rename("other/" + name, "run/" + name);
  };
  expect_all_end_at(run_with_change_of_10(replace), 20);
  for (const int64_t step : {0, 5, 15, 20}) expect_whole(step);
}

TEST_F(ShardedStateTest, OneRankStoresAnArrayAsAnyOther) {
  expect_all_end_at(run(1, 3), 3);
  const CheckpointReader reader("run/model.ckpt-3", files_);
  EXPECT_EQ(reader.tensors().at("part/field").num_slices, 0);
}

TEST_F(ShardedStateTest, PartsMustCoverTheArrayOnce) {
  for (const int64_t shift : {1, -1}) {
    const std::vector<RankOutcome> outcomes = run(3, 5, [&](RankProgram& program) {
      if (program.rank() != 1) return;
      if (shift > 0)
        program.part.rows.first += shift;
      else
        program.part.field.resize(7);
    });
    for (const RankOutcome& outcome : outcomes) {
      EXPECT_EQ(outcome.code, Code::kInvalidArgument);
      EXPECT_THAT(
          outcome.error,
          HasSubstr(shift > 0 ? "sharded \"part/field\" of [24,3]: the parts of rank 1 (9,8:0,3) "
                                "and rank 2 (16,8:0,3) overlap"
                              : "the parts of 3 ranks have 69 elements, expected 72 in all"));
    }
  }
  EXPECT_THAT(checkpoints(), IsEmpty());
}

TEST_F(ShardedStateTest, RanksMustHaveTheSameArrays) {
  const std::vector<RankOutcome> outcomes = run(2, 5, [&](RankProgram& program) {
    if (program.rank() == 1) program.part.full_rows = 25;
  });
  for (const RankOutcome& outcome : outcomes)
    EXPECT_THAT(outcome.error,
                HasSubstr("rank 1 of 2 differs from rank 0: sharded \"part/field\" is float64 "
                          "[25,3], expected float64 [24,3]"));
}

TEST_F(ShardedStateTest, AProgramThatRunsAloneNeedsTheWholeArray) {
  std::vector<double> rows(6);
  Loop loop({.hooks = {StopAtStepHook({.last_step = 1})}});
  loop.track("rows", sharded(rows, {.full_shape = {9}, .offset = {3}}));
  EXPECT_THAT([&] { loop.run([] {}); },
              testing::ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "sharded \"rows\" of [9]: the parts of 1 rank have 6 elements, expected 9")));
}

TEST_F(ShardedStateTest, RefusesPartsThatAreNotInTheArray) {
  std::vector<double> rows(6);
  const auto track = [&](Shard shard) {
    Loop loop(LoopOptions{});
    loop.track("rows", sharded(rows, std::move(shard)));
  };
  using testing::ThrowsMessage;
  EXPECT_THAT([&] { track({.full_shape = {9}, .offset = {4}}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr(
                  "the part [6] at [4] of \"rows\", which is [9] in all: it reaches outside")));
  EXPECT_THAT([&] { track({.full_shape = {9}, .offset = {-1}}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("it reaches outside")));
  EXPECT_THAT(
      [&] {
        track({.full_shape = {3, 3}, .offset = {0, 0}});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("the same number of dimensions")));
  EXPECT_THAT([&] { track({.full_shape = {9}}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("the same number of dimensions")));
}

TEST_F(ShardedStateTest, RefusesWhatIsNotOneArray) {
  Loop loop(LoopOptions{});
  Part nested(0, 1, 4);
  std::map<std::string, double> map;
  std::mt19937 generator;
  const Shard shard = {.full_shape = {4}, .offset = {0}};
  EXPECT_THAT([&] { loop.track("a", sharded(nested, shard)); },
              testing::ThrowsMessage<InvalidArgumentError>(HasSubstr("\"a\" has parts")));
  EXPECT_THAT([&] { loop.track("b", sharded(map, shard)); },
              testing::ThrowsMessage<InvalidArgumentError>(HasSubstr("\"b\" is not an array")));
  EXPECT_THAT([&] { loop.track("c", sharded(generator, shard)); },
              testing::ThrowsMessage<InvalidArgumentError>(HasSubstr("\"c\" is not an array")));
}

// A struct whose parts are listed again at each save.
TEST_F(ShardedStateTest, RefusesPartsOfContainers) {
  Loop loop(LoopOptions{});
  std::vector<Part> parts(1, Part(0, 1, 4));
  EXPECT_THAT([&] { loop.track("parts", parts); },
              testing::ThrowsMessage<FailedPreconditionError>(
                  HasSubstr("is tracked by sharded() or per_rank() within a container")));
}

// Adds a random generator of each rank.
auto with_generators(std::vector<std::mt19937>& generators, Regroup regroup = Regroup::kRefuse) {
  return [&generators, regroup](RankProgram& program) {
    std::mt19937& generator = generators[static_cast<size_t>(program.rank())];
    generator.seed(static_cast<uint32_t>(program.rank()));
    program.track = [&generator, regroup](Loop& loop) {
      loop.track("generator", per_rank(generator, regroup));
    };
    program.body = [&generator](Step&) { generator(); };
  };
}

TEST_F(ShardedStateTest, EachRankHasItsOwnValue) {
  std::vector<std::mt19937> generators(3);
  std::vector<std::mt19937> undisturbed(3);
  directory_ = "undisturbed";
  expect_all_end_at(run(3, 12, with_generators(undisturbed)), 12);
  directory_ = "run";
  expect_all_end_at(run(3, 5, with_generators(generators)), 5);
  expect_all_end_at(run(3, 12, with_generators(generators)), 12);
  EXPECT_EQ(generators, undisturbed);
  const CheckpointReader reader("run/model.ckpt-12", files_);
  for (const int rank : {0, 1, 2})
    EXPECT_TRUE(reader.contains(fmt::format("generator/rank-{}", rank))) << rank;
  EXPECT_FALSE(reader.contains("generator/rank-3"));
}

// Small values are written by the chief, with all options that it has.
TEST_F(ShardedStateTest, SmallValuesOfRanksNeedNoFilesOfTheirOwn) {
  std::vector<std::vector<int64_t>> values(3);
  const auto small = [&](RankProgram& program) {
    auto& value = values[static_cast<size_t>(program.rank())];
    value.assign(5, 100 * program.rank());
    program.options.checkpoint.saver.format = CheckpointFormat::kSafetensors;
    program.options.checkpoint.saver.fallback_dir = "second";
    program.tracks_part = false;
    program.track = [&value](Loop& loop) { loop.track("value", per_rank(value)); };
    program.body = [&value](Step&) { ++value[0]; };
  };
  expect_all_end_at(run(3, 7, small), 7);
  EXPECT_TRUE(files_.exists("run/model.ckpt-7.safetensors"));
  expect_all_end_at(run(3, 9, small), 9);
  for (int64_t rank = 0; rank < 3; ++rank)
    EXPECT_THAT(values[static_cast<size_t>(rank)],
                ElementsAre(100 * rank + 9, 100 * rank, 100 * rank, 100 * rank, 100 * rank));
}

TEST_F(ShardedStateTest, LargeValuesOfRanksAreWrittenByTheirRanks) {
  std::vector<std::vector<int64_t>> values(3);
  const auto large = [&](RankProgram& program) {
    auto& value = values[static_cast<size_t>(program.rank())];
    value.assign(20'000, 100 * program.rank());
    program.tracks_part = false;
    program.track = [&value](Loop& loop) { loop.track("value", per_rank(value)); };
    program.body = [&value](Step&) { ++value.back(); };
  };
  expect_all_end_at(run(3, 7, large), 7);
  EXPECT_TRUE(files_.exists("run/model.ckpt-7.data-00002-of-00003"));
  expect_all_end_at(run(3, 9, large), 9);
  for (int64_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(values[static_cast<size_t>(rank)].back(), 100 * rank + 9);
}

TEST_F(ShardedStateTest, RefusesValuesOfAnotherNumberOfRanks) {
  std::vector<std::mt19937> generators(4);
  expect_all_end_at(run(3, 5, with_generators(generators)), 5);
  for (const int size : {2, 4}) {
    const std::vector<RankOutcome> outcomes = run(size, 12, with_generators(generators));
    EXPECT_THAT(outcomes[0].error,
                HasSubstr(fmt::format("\"generator\" has the values of 3 ranks in the checkpoint, "
                                      "expected {}; start with 3 ranks, or",
                                      size)));
    for (const RankOutcome& outcome : outcomes)
      EXPECT_THAT(outcome.error, HasSubstr("\"generator\" has the values of 3 ranks"));
  }
}

TEST_F(ShardedStateTest, ValuesOfAnotherNumberOfRanksStartAfresh) {
  std::vector<std::mt19937> generators(4);
  expect_all_end_at(run(3, 5, with_generators(generators, Regroup::kFresh)), 5);
  for (const int size : {2, 4}) {
    directory_ = "run";
    const std::vector<RankOutcome> outcomes =
        run(size, 5, with_generators(generators, Regroup::kFresh));
    expect_all_end_at(outcomes, 5);
    for (int rank = 0; rank < size; ++rank) {
      EXPECT_EQ(generators[static_cast<size_t>(rank)], std::mt19937(static_cast<uint32_t>(rank)));
      EXPECT_THAT(outcomes[static_cast<size_t>(rank)].report->restore->missing,
                  ElementsAre(fmt::format("generator/rank-{}", rank)));
    }
  }
}

}  // namespace
}  // namespace crochet
