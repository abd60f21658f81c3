// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// State that the ranks of a group have together: each saves its part, and any number of ranks
// restores it. Ranks are threads here.
#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/leftovers.h"
#include "crochet/checkpoint/file/checkpoint_reader.h"
#include "crochet/checkpoint/layout/file_names.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/run/loop.h"
#include "crochet/run/sharded.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/store_ranks.h"
#include "crochet/testing/wait_until.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;
using testing::SizeIs;

constexpr int64_t kColumns = 3;
// Far more than the time that passes on the fake clock while the chief waits for parts.
constexpr double kTimeoutSecs = 1e6;

// The rows of a rank, whose numbers differ by one at most.
struct Rows {
  int64_t first;
  int64_t count;
};
Rows rows_of(int rank, int size, int64_t num_rows) {
  const auto first = [&](int64_t r) { return r * num_rows / size; };
  return {first(rank), first(rank + 1) - first(rank)};
}

// Part of a field whose elements are (row, column, number of steps), and what goes with it.
struct Part {
  Part(int rank, int size, int64_t num_rows)
      : rows(rows_of(rank, size, num_rows)),
        full_rows(num_rows),
        field(static_cast<size_t>(rows.count)) {
    for (int64_t row = 0; row < rows.count; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        at(row, column) = value(rows.first + row, column, 0);
  }
  static double value(int64_t row, int64_t column, int64_t steps) {
    return static_cast<double>(10'000 * row + 100 * column + steps);
  }
  double& at(int64_t row, int64_t column) {
    return field[static_cast<size_t>(row)][static_cast<size_t>(column)];
  }
  void step() {
    ++count;
    for (auto& row : field)
      for (double& element : row) ++element;
  }
  Shard shard() const { return {.full_shape = {full_rows, kColumns}, .offset = {rows.first, 0}}; }
  bool is_after(int64_t steps) {
    for (int64_t row = 0; row < rows.count; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        if (at(row, column) != value(rows.first + row, column, steps)) return false;
    return count == steps;
  }
  void track(Tracker& tracker) { tracker("field", sharded(field, shard()))("count", count); }

  Rows rows;
  int64_t full_rows;
  std::vector<std::array<double, kColumns>> field;
  int64_t count = 0;
};

// How a rank ended.
struct RankOutcome {
  std::optional<RunReport> report;
  std::string error;  // Empty without one.
  Code code = {};
};

// What a program in each rank has.
struct RankProgram {
  Group& group;
  LoopOptions options;
  Part part;
  std::function<void(Loop&)> track = [](Loop&) {};
  std::function<void(Step&)> body = [](Step&) {};
  std::function<void(Loop&)> instead_of_run = nullptr;
  bool tracks_part = true;

  int rank() const { return group.rank(); }
};

class ShardedStateTest : public testing::Test {
 protected:
  ~ShardedStateTest() override { set_pending_signal(0); }

  std::vector<RankOutcome> run(
      int size, int64_t last_step,
      const std::function<void(RankProgram&)>& change = [](RankProgram&) {}) {
    std::vector<RankOutcome> outcomes(static_cast<size_t>(size));
    StoreRanks ranks(size, /*timeout_secs=*/60);
    ranks.run([&](const std::shared_ptr<Group>& group) {
      RankOutcome& outcome = outcomes[static_cast<size_t>(group->rank())];
      RankProgram program = {.group = *group,
                             .options = {.checkpoint_dir = directory_,
                                         .save_checkpoint_steps = 5,
                                         .save_summaries_steps = 0,
                                         .log_step_count_steps = 0,
                                         .group = group,
                                         .group_timeout_secs = kTimeoutSecs,
                                         .hooks = {StopAtStepHook({.last_step = last_step})},
                                         .files = &files_,
                                         .clock = &clock_},
                             .part = Part(group->rank(), size, num_rows_)};
      change(program);
      try {
        Loop loop(program.options);
        if (program.tracks_part) loop.track("part", program.part);
        program.track(loop);
        if (program.instead_of_run) return program.instead_of_run(loop);
        outcome.report = loop.run([&](Step& step) {
          program.body(step);
          program.part.step();
        });
        if (program.tracks_part) {
          EXPECT_TRUE(program.part.is_after(outcome.report->last_step)) << "rank " << group->rank();
        }
      } catch (const Error& error) {
        outcome.error = error.what();
        outcome.code = error.code();
      } catch (const std::exception& error) {
        outcome.error = error.what();
      }
    });
    return outcomes;
  }

  static void expect_all_end_at(const std::vector<RankOutcome>& outcomes, int64_t step) {
    for (size_t rank = 0; rank < outcomes.size(); ++rank) {
      SCOPED_TRACE(fmt::format("rank {}: {}", rank, outcomes[rank].error));
      ASSERT_TRUE(outcomes[rank].report);
      EXPECT_EQ(outcomes[rank].report->last_step, step);
    }
  }

  // A job whose programs call this instead of Loop::run().
  void run_each(int size, int64_t last_step, const std::function<void(RankProgram&, Loop&)>& call) {
    const std::vector<RankOutcome> outcomes = run(size, last_step, [&](RankProgram& program) {
      program.instead_of_run = [&](Loop& loop) { call(program, loop); };
    });
    for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.error, "");
  }

  // Their steps.
  std::vector<std::string> checkpoints() {
    std::vector<std::string> steps;
    for (const std::string& prefix : list_checkpoints(files_, directory_, "model.ckpt"))
      steps.push_back(prefix.substr(prefix.rfind('-') + 1));
    return steps;
  }
  // Of the whole field in a checkpoint.
  void expect_checkpoint(int64_t step) {
    const CheckpointReader reader(fmt::format("{}/model.ckpt-{}", directory_, step), files_);
    const Tensor field = reader.read("part/field");
    ASSERT_EQ(field.shape(), (Shape{num_rows_, kColumns}));
    for (int64_t row = 0; row < num_rows_; ++row)
      for (int64_t column = 0; column < kColumns; ++column)
        ASSERT_EQ(field.flat<double>()[static_cast<size_t>(row * kColumns + column)],
                  Part::value(row, column, step))
            << row << "," << column;
    EXPECT_EQ(reader.read("part/count").scalar<int64_t>(), step);
  }
  std::vector<std::string> leftovers() {
    return list_leftovers(files_, directory_, "model.ckpt", "checkpoint");
  }

  std::string directory_ = "run";
  int64_t num_rows_ = 24;
  MemoryFileSystem files_;
  FakeClock clock_;
  LogCapture log_;
};

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
    program.options.checkpoint_format = CheckpointFormat::kSafetensors;
    program.options.fallback_dir = "second";
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

TEST_F(ShardedStateTest, SavesWhenAnyRankAsksForIt) {
  for (const int asking : {0, 2}) {
    directory_ = fmt::format("run{}", asking);
    expect_all_end_at(run(3, 12,
                          [&](RankProgram& program) {
                            program.body = [&program, asking](Step& step) {
                              if (program.rank() == asking && step.number() == 7)
                                step.request_save("a good moment");
                            };
                          }),
                      12);
    EXPECT_THAT(checkpoints(), ElementsAre("0", "5", "7", "10", "12"));
    expect_checkpoint(7);
  }
  EXPECT_TRUE(log_.contains("saving step 7 as requested: rank 2: a good moment"));
  EXPECT_TRUE(log_.contains("saving step 7 as requested: a good moment"));
}

// Rejects the tenth step in one rank.
class RejectingHook final : public SessionRunHook {
 public:
  explicit RejectingHook(int64_t step) : step_(step) {}
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    if (++steps_ == step_) context.reject_step();
  }

 private:
  const int64_t step_;
  int64_t steps_ = 0;
};

TEST_F(ShardedStateTest, AStepThatOneRankRejectsIsNotSaved) {
  expect_all_end_at(run(3, 12,
                        [](RankProgram& program) {
                          if (program.rank() == 1)
                            program.options.hooks.emplace_back(RejectingHook(10));
                        }),
                    12);
  EXPECT_THAT(checkpoints(), ElementsAre("0", "5", "11", "12"));
}

// Saves that are due in between wait for it.
TEST_F(ShardedStateTest, SavesWhereTheRanksAgree) {
  expect_all_end_at(run(3, 14,
                        [](RankProgram& program) {
                          program.options.agree_every_n_steps = 4;
                          program.body = [&program](Step& step) {
                            if (program.rank() == 1 && step.number() == 9)
                              step.request_save("a good moment");
                          };
                        }),
                    14);
  EXPECT_THAT(checkpoints(), ElementsAre("0", "8", "12", "14"));
  for (const int64_t step : {8, 12, 14}) expect_checkpoint(step);
}

TEST_F(ShardedStateTest, RecoversTogether) {
  for (const int failing : {0, 2}) {
    directory_ = fmt::format("run{}", failing);
    const std::vector<RankOutcome> outcomes = run(3, 12, [&](RankProgram& program) {
      program.body = [&program, failing, failed = false](Step& step) mutable {
        if (program.rank() == failing && step.number() == 8 && !std::exchange(failed, true))
          throw UnavailableError("a device is lost");
      };
    });
    expect_all_end_at(outcomes, 12);
    for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.report->recoveries, 1);
    expect_checkpoint(12);
  }
}

// Fails between the savers of its rank, once.
class FailingHook final : public SessionRunHook {
 public:
  explicit FailingHook(int64_t step) : step_(step) {}
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    if (read_global_step(context.session()) == step_ && !std::exchange(failed_, true))
      throw UnavailableError("a device is lost");
  }
  HookPlace place() const override { return HookPlace::kSaver; }
  std::string name() const override { return "FailingHook"; }

 private:
  const int64_t step_;
  bool failed_ = false;
};

// The ranks have agreed on the step; the others wait for what the chief saves.
TEST_F(ShardedStateTest, RecoversTogetherFromAFailureBesideTheSavers) {
  for (const int failing : {0, 2})
    for (const int64_t step : {8, 10}) {  // A step without a save, and one with.
      SCOPED_TRACE(fmt::format("rank {} at step {}", failing, step));
      directory_ = fmt::format("run{}-{}", failing, step);
      const std::vector<RankOutcome> outcomes = run(3, 12, [&](RankProgram& program) {
        if (program.rank() == failing) program.options.hooks.emplace_back(FailingHook(step));
      });
      expect_all_end_at(outcomes, 12);
      for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.report->recoveries, 1);
      EXPECT_THAT(checkpoints(), ElementsAre("0", "5", "10", "12"));
      expect_checkpoint(12);
    }
}

// Fails once, after the save at `step` was announced to the other ranks.
class FailingListener final : public CheckpointSaverListener {
 public:
  explicit FailingListener(int64_t step) : step_(step) {}
  bool after_save(Session&, int64_t step) override {
    if (step == step_ && !std::exchange(failed_, true)) throw UnavailableError("a share is lost");
    return false;
  }

 private:
  const int64_t step_;
  bool failed_ = false;
};

TEST_F(ShardedStateTest, RecoversTogetherIfTheChiefFailsWhileItSaves) {
  const std::vector<RankOutcome> outcomes = run(3, 12, [&](RankProgram& program) {
    program.options.save_checkpoint_steps = 1;
    program.options.saving_listeners = {std::make_shared<FailingListener>(6)};
  });
  expect_all_end_at(outcomes, 12);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.report->recoveries, 1);
  expect_checkpoint(12);
}

TEST_F(ShardedStateTest, SavesBeforeAndAfterTheRun) {
  run_each(3, 0, [&](RankProgram& program, Loop& loop) {
    EXPECT_EQ(loop.save(), "run/model.ckpt-0");
    loop.run([] {});  // Makes no step.
    for (int i = 0; i < 2; ++i) program.part.step();
    EXPECT_EQ(loop.save(), "run/model.ckpt-0");
  });
  const CheckpointReader reader("run/model.ckpt-0", files_);
  const Tensor field = reader.read("part/field");
  EXPECT_EQ(field.flat<double>()[71], Part::value(23, 2, 2));
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(ShardedStateTest, RestoresBeforeTheRun) {
  expect_all_end_at(run(4, 7), 7);
  run_each(3, 12, [&](RankProgram& program, Loop& loop) {
    EXPECT_EQ(loop.restore(), 7);
    EXPECT_TRUE(program.part.is_after(7));
    const RunReport report = loop.run([&] { program.part.step(); });
    EXPECT_EQ(report.first_step, 7);
    EXPECT_TRUE(program.part.is_after(12));
  });
  expect_checkpoint(12);
}

// The bytes of the third data file, which only rank 2 reads.
void damage_third_part(MemoryFileSystem& files, const std::string& prefix, size_t num_parts) {
  const std::string path = fmt::format("{}.data-00002-of-{:05d}", prefix, num_parts);
  const uint64_t size = files.file_size(path);
  files.truncate(path, size - 1);
  const auto file = files.append_to(path);
  file->append(std::as_bytes(std::span("x", 1)));
  file->close();
}

TEST_F(ShardedStateTest, AllRanksRestoreAnOlderCheckpointIfOneFindsItsPartDamaged) {
  for (const bool early : {false, true}) {
    directory_ = fmt::format("run{}", early);
    expect_all_end_at(run(3, 10), 10);
    damage_third_part(files_, directory_ + "/model.ckpt-10", 3);
    run_each(3, 12, [&](RankProgram& program, Loop& loop) {
      if (early) {
        EXPECT_EQ(loop.restore(), 5);
      }
      const RunReport report = loop.run([&] { program.part.step(); });
      EXPECT_EQ(report.first_step, 5);
      EXPECT_TRUE(program.part.is_after(12));
    });
    expect_checkpoint(12);
    EXPECT_TRUE(files_.exists(directory_ + "/model.ckpt-10.index.damaged"));
  }
}

TEST_F(ShardedStateTest, EndsIfARankFindsAllCheckpointsDamaged) {
  expect_all_end_at(run(3, 5), 5);
  damage_third_part(files_, "run/model.ckpt-5", 3);
  damage_third_part(files_, "run/model.ckpt-0", 3);
  const std::vector<RankOutcome> outcomes = run(3, 12);
  EXPECT_EQ(outcomes[0].code, Code::kDataLoss);
  EXPECT_THAT(outcomes[0].error,
              AllOf(HasSubstr("none of its 2 checkpoints is sound"), HasSubstr("rank 2: ")));
  for (const RankOutcome& outcome : outcomes)
    EXPECT_THAT(outcome.error, HasSubstr("none of its 2"));
}

// Lets all writes fail, as on a full disk, which still takes the names of empty files.
void fill(FailingFileSystem& files) {
  files.watch([](const std::string& operation) {
    if (operation.starts_with("append ")) throw ResourceExhaustedError("the disk is full");
  });
}

TEST_F(ShardedStateTest, ARankThatCannotWriteItsPartFailsTheSave) {
  FailingFileSystem of_rank(files_);
  const std::vector<RankOutcome> outcomes = run(3, 12, [&](RankProgram& program) {
    if (program.rank() != 2) return;
    program.options.files = &of_rank;
    program.body = [&](Step& step) {
      if (step.number() == 4) {
        wait_until("checkpoint 0", [&] { return files_.exists("run/model.ckpt-0.index"); });
        fill(of_rank);
      }
      if (step.number() == 9) {
        wait_until("the failure", [&] { return log_.contains("rank 2 could not write its part"); });
        of_rank.watch({});
      }
    };
  });
  expect_all_end_at(outcomes, 12);
  EXPECT_THAT(checkpoints(), ElementsAre("0", "10", "12"));
  EXPECT_EQ(outcomes[0].report->failed_saves, 1);
  EXPECT_TRUE(log_.contains("rank 2 could not write its part"));
  expect_checkpoint(10);
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(ShardedStateTest, TheLastSaveThatARankCannotWriteIsAnError) {
  FailingFileSystem of_rank(files_);
  const std::vector<RankOutcome> outcomes = run(3, 7, [&](RankProgram& program) {
    if (program.rank() != 2) return;
    program.options.files = &of_rank;
    program.body = [&](Step& step) {
      if (step.number() != 6) return;
      wait_until("checkpoint 5", [&] { return files_.exists("run/model.ckpt-5.index"); });
      fill(of_rank);
    };
  });
  EXPECT_EQ(outcomes[0].code, Code::kResourceExhausted);
  for (const RankOutcome& outcome : outcomes)
    EXPECT_THAT(outcome.error, HasSubstr("rank 2 could not write its part"));
  EXPECT_THAT(checkpoints(), ElementsAre("0", "5"));
}

TEST_F(ShardedStateTest, NamesARankThatDoesNotSeeTheDirectory) {
  MemoryFileSystem of_rank;
  const std::vector<RankOutcome> outcomes = run(3, 7, [&](RankProgram& program) {
    if (program.rank() == 2) program.options.files = &of_rank;
  });
  EXPECT_EQ(outcomes[2].code, Code::kFailedPrecondition);
  for (const RankOutcome& outcome : outcomes)
    EXPECT_THAT(outcome.error, HasSubstr("rank 2 of 3 does not find run, where rank 0 saves"));
}

TEST_F(ShardedStateTest, PartsOfAKilledJobAreRemoved) {
  expect_all_end_at(run(2, 5), 5);
  const std::string part = internal::temporary_filename("run/model.ckpt-7");
  for (const std::string& path :
       {index_filename(part), data_filename(part, 0, 1), internal::failed_part_filename(part),
        internal::temporary_filename(index_filename(part))})
    files_.create(path)->close();
  EXPECT_THAT(leftovers(), SizeIs(4));
  expect_all_end_at(run(2, 8), 8);
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(ShardedStateTest, RefusesOptionsThatDoNotApply) {
  const std::vector<RankOutcome> format = run(2, 5, [](RankProgram& program) {
    program.options.checkpoint_format = CheckpointFormat::kSafetensors;
  });
  for (const RankOutcome& outcome : format)
    EXPECT_THAT(outcome.error, HasSubstr("are saved as kTensorBundle only"));
  const std::vector<RankOutcome> fallback =
      run(2, 5, [](RankProgram& program) { program.options.fallback_dir = "second"; });
  for (const RankOutcome& outcome : fallback)
    EXPECT_THAT(outcome.error, HasSubstr("fallback_dir is \"second\", expected none"));
}

TEST_F(ShardedStateTest, OnlyTheRanksTogetherSave) {
  run_each(2, 5, [](RankProgram& program, Loop&) {
    local::Graph graph;
    internal::RankState::of(graph)->set_rank(program.rank(), 2);
    Tracker tracker(graph, "");
    tracker("part", program.part);
    const auto session = graph.new_session("");
    Saver saver({.files = program.options.files});
    EXPECT_THAT(
        [&] { saver.save(*session, "run/own", 1); },
        testing::ThrowsMessage<FailedPreconditionError>(HasSubstr(
            program.rank() == 0 ? "they save only within Loop::run()" : "only rank 0 saves")));
  });
}

}  // namespace
}  // namespace crochet
