// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// When the ranks of a group save the state that they have together, and what becomes of a save, or
// of the run, if one of them fails.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/session/internal/rank_layout.h"
#include "crochet/testing/failing_file_system.h"
#include "tests/groups/sharded_state.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using GroupSavesTest = ShardedStateTest;

TEST_F(GroupSavesTest, SavesWhenAnyRankAsksForIt) {
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

TEST_F(GroupSavesTest, AStepThatOneRankRejectsIsNotSaved) {
  expect_all_end_at(run(3, 12,
                        [](RankProgram& program) {
                          if (program.rank() == 1)
                            program.options.hooks.emplace_back(RejectingHook(10));
                        }),
                    12);
  EXPECT_THAT(checkpoints(), ElementsAre("0", "5", "11", "12"));
}

// Saves that are due in between wait for it.
TEST_F(GroupSavesTest, SavesWhereTheRanksAgree) {
  expect_all_end_at(run(3, 14,
                        [](RankProgram& program) {
                          program.options.ranks.agree_every_n_steps = 4;
                          program.body = [&program](Step& step) {
                            if (program.rank() == 1 && step.number() == 9)
                              step.request_save("a good moment");
                          };
                        }),
                    14);
  EXPECT_THAT(checkpoints(), ElementsAre("0", "8", "12", "14"));
  for (const int64_t step : {8, 12, 14}) expect_checkpoint(step);
}

TEST_F(GroupSavesTest, RecoversTogether) {
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
TEST_F(GroupSavesTest, RecoversTogetherFromAFailureBesideTheSavers) {
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

TEST_F(GroupSavesTest, RecoversTogetherIfTheChiefFailsWhileItSaves) {
  const std::vector<RankOutcome> outcomes = run(3, 12, [&](RankProgram& program) {
    program.options.checkpoint.every_steps = 1;
    program.options.checkpoint.listeners = {std::make_shared<FailingListener>(6)};
  });
  expect_all_end_at(outcomes, 12);
  for (const RankOutcome& outcome : outcomes) EXPECT_EQ(outcome.report->recoveries, 1);
  expect_checkpoint(12);
}

TEST_F(GroupSavesTest, SavesBeforeAndAfterTheRun) {
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

TEST_F(GroupSavesTest, RestoresBeforeTheRun) {
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

TEST_F(GroupSavesTest, AllRanksRestoreAnOlderCheckpointIfOneFindsItsPartDamaged) {
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

TEST_F(GroupSavesTest, EndsIfARankFindsAllCheckpointsDamaged) {
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

TEST_F(GroupSavesTest, ARankThatCannotWriteItsPartFailsTheSave) {
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

TEST_F(GroupSavesTest, TheLastSaveThatARankCannotWriteIsAnError) {
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

TEST_F(GroupSavesTest, NamesARankThatDoesNotSeeTheDirectory) {
  MemoryFileSystem of_rank;
  const std::vector<RankOutcome> outcomes = run(3, 7, [&](RankProgram& program) {
    if (program.rank() == 2) program.options.files = &of_rank;
  });
  EXPECT_EQ(outcomes[2].code, Code::kFailedPrecondition);
  for (const RankOutcome& outcome : outcomes)
    EXPECT_THAT(outcome.error, HasSubstr("rank 2 of 3 does not find run, where rank 0 saves"));
}

TEST_F(GroupSavesTest, PartsOfAKilledJobAreRemoved) {
  expect_all_end_at(run(2, 5), 5);
  const std::string part = internal::temporary_filename("run/model.ckpt-7");
  for (const std::string& path :
       {internal::index_filename(part), internal::data_filename(part, 0, 1),
        internal::failed_part_filename(part),
        internal::temporary_filename(internal::index_filename(part))})
    files_.create(path)->close();
  EXPECT_THAT(leftovers(), SizeIs(4));
  expect_all_end_at(run(2, 8), 8);
  EXPECT_THAT(leftovers(), IsEmpty());
}

TEST_F(GroupSavesTest, RefusesOptionsThatDoNotApply) {
  const std::vector<RankOutcome> format = run(2, 5, [](RankProgram& program) {
    program.options.checkpoint.saver.format = CheckpointFormat::kSafetensors;
  });
  for (const RankOutcome& outcome : format)
    EXPECT_THAT(outcome.error,
                HasSubstr("saver.format: arrays that several ranks have together are "
                          "saved as kTensorBundle only"));
  const std::vector<RankOutcome> fallback = run(
      2, 5, [](RankProgram& program) { program.options.checkpoint.saver.fallback_dir = "second"; });
  for (const RankOutcome& outcome : fallback)
    EXPECT_THAT(outcome.error, HasSubstr("fallback_dir is \"second\", expected none"));
}

TEST_F(GroupSavesTest, OnlyTheRanksTogetherSave) {
  run_each(2, 5, [](RankProgram& program, Loop&) {
    local::Graph graph;
    internal::RankLayout::of(graph)->set_rank(program.rank(), 2);
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
