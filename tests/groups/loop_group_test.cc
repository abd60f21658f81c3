// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Loops of several ranks, which are threads here.
#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/control/internal/control_files.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/global_step_waiter_hook.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/ranks/ranks.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/store_ranks.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Eq;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;
using testing::SizeIs;

// How a rank ended.
struct Outcome {
  std::optional<RunReport> report;
  std::string error;  // "CANCELLED: ..."; empty without one.
  int failed_rank = -1;
  int64_t count = -1;
};

// What a program in each rank has.
struct Program {
  Group& group;
  LoopOptions options;
  int64_t count;
  std::function<LoopAction(Step&)> body = [](Step&) { return LoopAction::kContinue; };
  // Makes these steps in a loop of its own, or fewer if the run ends earlier.
  std::optional<int64_t> own_steps = {};

  int rank() const { return group.rank(); }
};

class LoopGroupTest : public testing::Test {
 protected:
  ~LoopGroupTest() override { set_pending_signal(0); }

  // A job of programs that count steps. `change` may change each one's options, count and body.
  std::vector<Outcome> run(
      int size, int64_t last_step, const std::function<void(Program&)>& change = [](Program&) {}) {
    std::vector<Outcome> outcomes(static_cast<size_t>(size));
    StoreRanks ranks(size, /*timeout_secs=*/60);
    ranks_ = &ranks;
    ranks.run([&](const std::shared_ptr<Group>& group) {
      Outcome& outcome = outcomes[static_cast<size_t>(group->rank())];
      Program program = {.group = *group,
                         .options = {.checkpoint = {.dir = directory_, .every_steps = 5},
                                     .summaries = {.every_steps = 0, .count_every_steps = 0},
                                     .ranks = {.group = group, .timeout_secs = 60},
                                     .hooks = {StopAtStepHook({.last_step = last_step})},
                                     .files = &files_,
                                     .clock = &clock_},
                         .count = 0};
      change(program);
      try {
        Loop loop(program.options);
        loop.track("count", program.count);
        const auto body = [&](Step& step) {
          const LoopAction action = program.body(step);
          ++program.count;
          return action;
        };
        if (program.own_steps) {
          loop.start();
          for (int64_t i = 0; i < *program.own_steps; ++i) loop.step(body);
          outcome.report = loop.finish();
        } else {
          outcome.report = loop.run(body);
        }
      } catch (const RankFailedError& error) {
        outcome.error = fmt::format("{}: {}", code_name(error.code()), error.what());
        outcome.failed_rank = error.rank();
      } catch (const Error& error) {
        outcome.error = fmt::format("{}: {}", code_name(error.code()), error.what());
      } catch (const std::exception& error) {
        outcome.error = error.what();
      }
      outcome.count = program.count;
      if (one_dies_ && outcome.error != "killed") ranks.meet();
    });
    return outcomes;
  }

  static void expect_all_end_at(const std::vector<Outcome>& outcomes, int64_t step) {
    for (size_t rank = 0; rank < outcomes.size(); ++rank) {
      SCOPED_TRACE(fmt::format("rank {}: {}", rank, outcomes[rank].error));
      ASSERT_TRUE(outcomes[rank].report);
      EXPECT_EQ(outcomes[rank].report->last_step, step);
      EXPECT_EQ(outcomes[rank].count, step);
    }
  }

  // Their steps.
  std::vector<std::string> checkpoints() {
    std::vector<std::string> steps;
    for (const std::string& prefix : list_checkpoints(files_, directory_, "model.ckpt"))
      steps.push_back(prefix.substr(prefix.rfind('-') + 1));
    return steps;
  }

  std::string directory_ = "run";
  bool one_dies_ = false;
  MemoryFileSystem files_;
  FakeClock clock_;
  LogCapture log_;
  StoreRanks* ranks_ = nullptr;  // Of the job that is running.
};

// The chief reads the request, and all ranks end after the same step.
TEST_F(LoopGroupTest, AStopFromOutsideEndsAllRanks) {
  files_.create_directories(directory_);
  internal::ControlFiles control(files_, directory_);
  const internal::ControlRequest stop{.id = "1", .verb = internal::ControlVerb::kStop};
  control.ask(stop);
  const auto outcomes = run(3, 1000);
  EXPECT_TRUE(control.answer_to(stop).has_value());
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.report) << outcome.error;
    EXPECT_EQ(outcome.report->last_step, outcomes[0].report->last_step);
    EXPECT_LT(outcome.report->last_step, 20);
    EXPECT_THAT(outcome.report->stop.reason, HasSubstr("crochet stop"));
  }
}

TEST_F(LoopGroupTest, AllRanksMakeTheSameSteps) {
  const std::vector<Outcome> outcomes = run(4, 12);
  expect_all_end_at(outcomes, 12);
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.report->stop.who, "StopAtStepHook");
    EXPECT_EQ(outcome.report->stop.reason, "reached step 12");
  }
}

TEST_F(LoopGroupTest, OnlyTheChiefSaves) {
  const std::vector<Outcome> outcomes = run(3, 12);
  EXPECT_THAT(checkpoints(), ElementsAre("0", "5", "10", "12"));
  EXPECT_EQ(outcomes[0].report->saves, 4);
  EXPECT_EQ(outcomes[1].report->saves, 0);
  EXPECT_EQ(outcomes[2].report->saves, 0);
}

TEST_F(LoopGroupTest, AGroupOfOneIsLikeNone) {
  expect_all_end_at(run(1, 7), 7);
  EXPECT_THAT(checkpoints(), Contains("7"));
}

TEST_F(LoopGroupTest, AllRanksStopAfterTheStepInWhichOneWantsIt) {
  const std::vector<Outcome> outcomes = run(3, 100, [](Program& program) {
    program.body = [&program](Step& step) {
      if (program.rank() == 2 && step.number() == 7) step.request_stop("converged");
      return LoopAction::kContinue;
    };
  });
  expect_all_end_at(outcomes, 7);
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.report->stop.who, "rank 2: the program");
    EXPECT_EQ(outcome.report->stop.reason, "converged");
  }
}

TEST_F(LoopGroupTest, TheFirstOfDifferentLastStepsCounts) {
  const std::vector<Outcome> outcomes = run(3, 20, [](Program& program) {
    if (program.rank() == 1) program.options.hooks = {StopAtStepHook({.last_step = 9})};
  });
  expect_all_end_at(outcomes, 9);
  EXPECT_EQ(outcomes[0].report->stop.who, "rank 1: StopAtStepHook");
}

TEST_F(LoopGroupTest, AgreesEveryNSteps) {
  const auto every_four = [](Program& program) {
    program.options.ranks.agree_every_n_steps = 4;
    program.body = [&program](Step& step) {
      return program.rank() == 1 && step.number() == 5 ? LoopAction::kStop : LoopAction::kContinue;
    };
  };
  expect_all_end_at(run(2, 100, every_four), 8);
}

TEST_F(LoopGroupTest, AgreesAtTheLastStepToo) {
  const std::vector<Outcome> outcomes =
      run(2, 10, [](Program& program) { program.options.ranks.agree_every_n_steps = 4; });
  expect_all_end_at(outcomes, 10);
}

TEST_F(LoopGroupTest, AllRanksRestoreTheChiefsCheckpoint) {
  run(3, 5);
  const std::vector<Outcome> outcomes =
      run(3, 8, [](Program& program) { program.count = 1000 * program.rank(); });
  expect_all_end_at(outcomes, 8);
  for (const Outcome& outcome : outcomes) EXPECT_THAT(outcome.report->resumed_from, Optional(5));
}

TEST_F(LoopGroupTest, AnotherNumberOfRanksContinues) {
  run(4, 5);
  expect_all_end_at(run(3, 8), 8);
}

TEST_F(LoopGroupTest, AllRanksRestoreTheSameOlderCheckpointIfTheNewestIsDamaged) {
  run(2, 10);
  files_.truncate("run/model.ckpt-10.data-00000-of-00001", 3);
  const std::vector<Outcome> outcomes = run(2, 12);
  expect_all_end_at(outcomes, 12);
  for (const Outcome& outcome : outcomes) EXPECT_THAT(outcome.report->resumed_from, Optional(5));
}

TEST_F(LoopGroupTest, AllRanksRestoreFromTheFallbackDirectory) {
  directory_ = "second";
  run(2, 5);
  directory_ = "run";
  const std::vector<Outcome> outcomes =
      run(2, 7, [](Program& program) { program.options.checkpoint.saver.fallback_dir = "second"; });
  expect_all_end_at(outcomes, 7);
  for (const Outcome& outcome : outcomes)
    EXPECT_EQ(outcome.report->restore->prefix, "second/model.ckpt-5");
}

// A run that goes back abandons the newer checkpoints.
TEST_F(LoopGroupTest, AllRanksGoBack) {
  run(2, 12);
  const std::vector<Outcome> outcomes = run(
      2, 7, [](Program& program) { program.options.restore.which = CheckpointChoice::at_step(5); });
  expect_all_end_at(outcomes, 7);
  for (const Outcome& outcome : outcomes) EXPECT_THAT(outcome.report->resumed_from, Optional(5));
  EXPECT_THAT(checkpoints(), ElementsAre("0", "5", "7"));
}

TEST_F(LoopGroupTest, AllRanksStartFromTheCheckpointThatTheChiefChose) {
  run(2, 5);
  const std::vector<Outcome> outcomes = run(2, 9, [](Program& program) {
    program.options.checkpoint.dir = "second";
    program.options.restore.from = "run";
  });
  expect_all_end_at(outcomes, 9);
  for (const Outcome& outcome : outcomes) {
    EXPECT_THAT(outcome.report->resumed_from, Optional(5));
    EXPECT_EQ(outcome.report->restore->prefix, "run/model.ckpt-5");
  }
}

TEST_F(LoopGroupTest, AFinishedRunMakesNoStep) {
  run(3, 5);
  const std::vector<Outcome> outcomes = run(3, 5);
  expect_all_end_at(outcomes, 5);
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.report->first_step, 5);
}

TEST_F(LoopGroupTest, AnErrorOfOneRankEndsTheOthers) {
  for (const int failing : {2, 0}) {
    directory_ = fmt::format("run{}", failing);
    const std::vector<Outcome> outcomes = run(3, 100, [&](Program& program) {
      program.body = [&program, failing](Step& step) {
        if (program.rank() == failing && step.number() == 7)
          throw std::runtime_error("out of memory");
        return LoopAction::kContinue;
      };
    });
    for (int rank = 0; rank < 3; ++rank) {
      const Outcome& outcome = outcomes[static_cast<size_t>(rank)];
      if (rank == failing) {
        EXPECT_EQ(outcome.error, "out of memory");
        continue;
      }
      EXPECT_EQ(outcome.failed_rank, failing);
      EXPECT_THAT(outcome.error, AllOf(HasSubstr(fmt::format("rank {} of 3", failing)),
                                       HasSubstr("out of memory")));
    }
    // The step that not all ranks have made is not saved.
    EXPECT_THAT(checkpoints(), ElementsAre("0", "5"));
  }
}

TEST_F(LoopGroupTest, AllRanksRecoverTogether) {
  for (const int failing : {1, 0}) {
    directory_ = fmt::format("run{}", failing);
    const std::vector<Outcome> outcomes = run(3, 12, [&](Program& program) {
      program.body = [&program, failing, failed = false](Step& step) mutable {
        if (program.rank() == failing && step.number() == 8 && !std::exchange(failed, true))
          throw UnavailableError("a device is lost");
        return LoopAction::kContinue;
      };
    });
    expect_all_end_at(outcomes, 12);
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.report->recoveries, 1);
    EXPECT_THAT(checkpoints(), Not(Contains("8")));
  }
}

// The chief has made the step that is due to be saved, and another rank has not.
TEST_F(LoopGroupTest, AStepThatOneRankDidNotMakeIsNotSaved) {
  std::vector<int64_t> sixth_steps;  // What each began with.
  const std::vector<Outcome> outcomes = run(2, 12, [&](Program& program) {
    program.body = [&, failed = false](Step& step) mutable {
      if (program.rank() == 1 && step.number() == 10 && !std::exchange(failed, true))
        throw AbortedError("preempted");
      if (program.rank() == 0 && step.number() == 6) sixth_steps.push_back(program.count);
      return LoopAction::kContinue;
    };
  });
  expect_all_end_at(outcomes, 12);
  EXPECT_THAT(sixth_steps, ElementsAre(5, 5));  // The recovery restored the fifth.
  EXPECT_EQ(outcomes[0].report->recoveries, 1);
}

TEST_F(LoopGroupTest, EndsIfItCannotRecover) {
  const std::vector<Outcome> outcomes = run(2, 12, [&](Program& program) {
    program.options.max_recoveries = 2;
    program.body = [&program](Step& step) {
      if (program.rank() == 1 && step.number() == 8) throw UnavailableError("a device is lost");
      return LoopAction::kContinue;
    };
  });
  EXPECT_THAT(outcomes[1].error, HasSubstr("a device is lost"));
  EXPECT_THAT(outcomes[0].error, AllOf(HasSubstr("rank 1"), HasSubstr("a device is lost")));
}

TEST_F(LoopGroupTest, NamesARankThatDies) {
  for (const int dying : {2, 0}) {
    directory_ = fmt::format("run{}", dying);
    one_dies_ = true;
    const std::vector<Outcome> outcomes = run(3, 12, [&](Program& program) {
      if (program.rank() != dying) return;
      // It does nothing more until the others have ended.
      program.body = [&](Step& step) {
        if (step.number() == 7) {
          ranks_->meet();
          throw std::runtime_error("killed");
        }
        return LoopAction::kContinue;
      };
    });
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == dying) continue;
      EXPECT_THAT(outcomes[static_cast<size_t>(rank)].error,
                  AllOf(HasSubstr("DEADLINE_EXCEEDED: group test: rank"),
                        HasSubstr(fmt::format("waited 60 s for rank {} of 3", dying))));
    }
    EXPECT_THAT(checkpoints(), ElementsAre("0", "5"));
  }
}

TEST_F(LoopGroupTest, NamesARankThatNeverStarts) {
  StoreRanks ranks(3, /*timeout_secs=*/60);
  ranks.run([&](const std::shared_ptr<Group>& group) {
    if (group->rank() == 1) return;
    int64_t count = 0;
    Loop loop({.ranks = {.group = group, .timeout_secs = 20}});
    loop.track("count", count);
    EXPECT_THAT(
        [&] { loop.run([] { return false; }); },
        testing::ThrowsMessage<DeadlineExceededError>(HasSubstr("waited 20 s for rank 1 of 3")));
  });
}

TEST_F(LoopGroupTest, DataThatEndsInAllRanksIsACleanEnd) {
  const std::vector<Outcome> outcomes = run(3, 100, [](Program& program) {
    program.body = [](Step& step) {
      if (step.number() == 8) throw OutOfRangeError("no more data");
      return LoopAction::kContinue;
    };
  });
  expect_all_end_at(outcomes, 7);
  EXPECT_THAT(outcomes[1].report->stop.reason, "the data ended");
  EXPECT_THAT(checkpoints(), Contains("7"));
}

// Rank 1 has data for 7 steps, the others for more.
void end_data_of_rank_1(Program& program) {
  program.body = [&program](Step& step) {
    if (program.rank() == 1 && step.number() == 8) throw OutOfRangeError("no more data");
    return LoopAction::kContinue;
  };
}

TEST_F(LoopGroupTest, DataThatEndsInOneRankEndsAllAtTheLastStepThatAllMade) {
  expect_all_end_at(run(3, 100, end_data_of_rank_1), 7);
  EXPECT_THAT(checkpoints(), ElementsAre("0", "5", "7"));
  const std::vector<Outcome> again = run(3, 100, end_data_of_rank_1);
  expect_all_end_at(again, 7);
  EXPECT_EQ(again[0].report->stop.reason, "the data of a rank ended");
  EXPECT_THAT(checkpoints(), ElementsAre("0", "5", "7"));
}

TEST_F(LoopGroupTest, UnevenDataWithAgreementsEveryNSteps) {
  const auto program = [](Program& program) {
    end_data_of_rank_1(program);
    program.options.ranks.agree_every_n_steps = 5;
  };
  expect_all_end_at(run(2, 100, program), 7);
  EXPECT_THAT(checkpoints(), Contains("7"));
}

TEST_F(LoopGroupTest, UnevenDataWithoutACheckpointIsAnError) {
  directory_ = "";
  const auto program = [](Program& program) {
    end_data_of_rank_1(program);
    program.options.checkpoint.every_steps.reset();
  };
  for (const Outcome& outcome : run(3, 100, program))
    EXPECT_THAT(outcome.error, HasSubstr("the data of rank 1 ended after step 7"));
}

TEST_F(LoopGroupTest, AJobThatTheBodyOfOneRankEndedStaysEnded) {
  const auto program = [](Program& program) {
    program.body = [&program](Step& step) {
      return program.rank() == 1 && step.number() >= 6 ? LoopAction::kStop : LoopAction::kContinue;
    };
  };
  for (int start = 0; start < 2; ++start) {
    expect_all_end_at(run(3, 100, program), 6);
    EXPECT_THAT(checkpoints(), ElementsAre("0", "5", "6"));
  }
}

TEST_F(LoopGroupTest, ReportsOptionsThatDiffer) {
  const std::vector<Outcome> outcomes = run(3, 5, [](Program& program) {
    if (program.rank() == 2) program.options.checkpoint.dir = "elsewhere";
  });
  for (const Outcome& outcome : outcomes)
    EXPECT_EQ(outcome.error,
              "INVALID_ARGUMENT: rank 2 of 3 differs from rank 0: the checkpoints' directory is "
              "elsewhere, expected run");
  EXPECT_THAT(run(2, 5,
                  [](Program& program) {
                    if (program.rank() == 1) program.options.ranks.agree_every_n_steps = 2;
                  })[0]
                  .error,
              HasSubstr("agree_every_n_steps is 2, expected 1"));
}

// Before there is a session.
TEST_F(LoopGroupTest, ALoopThatIsRefusedEndsTheOthers) {
  const std::vector<Outcome> outcomes = run(2, 5, [](Program& program) {
    if (program.rank() == 1) program.options.checkpoint.every_steps = -1;
  });
  EXPECT_THAT(outcomes[1].error, HasSubstr("checkpoint.every_steps is -1"));
  EXPECT_EQ(outcomes[0].failed_rank, 1);
  EXPECT_THAT(outcomes[0].error, HasSubstr("checkpoint.every_steps is -1"));
}

TEST_F(LoopGroupTest, ReportsTrackedValuesThatDiffer) {
  std::vector<std::string> errors(2);
  StoreRanks ranks(2);
  ranks.run([&](const std::shared_ptr<Group>& group) {
    std::vector<float> weights(group->is_chief() ? 3 : 4);
    int64_t own = 0;
    Loop loop({.ranks = {.group = group}, .hooks = {StopAtStepHook({.last_step = 5})}});
    loop.track("weights", std::span<float>(weights));
    loop.track(group->is_chief() ? "a" : "b", own);
    try {
      loop.run([] {});
    } catch (const InvalidArgumentError& error) {
      errors[static_cast<size_t>(group->rank())] = error.what();
    }
  });
  for (const std::string& error : errors)
    EXPECT_THAT(error, AllOf(HasSubstr("rank 1 of 2 differs from rank 0"),
                             HasSubstr("variable \"weights\" is float32 [4], expected float32 [3]"),
                             HasSubstr("\"a\" is missing"), HasSubstr("\"b\"")));
}

// Counts the runs in which it is called.
class CountingHook final : public SessionRunHook {
 public:
  CountingHook(std::atomic<int>& runs, bool is_for_chief)
      : runs_(runs), is_for_chief_(is_for_chief) {}
  void begin(Graph& graph) override {
    ASSERT_NE(group_of(graph), nullptr);
    EXPECT_EQ(group_of(graph)->size(), 3);
  }
  void after_run(SessionRunContext&, const SessionRunValues&) override { ++runs_; }
  bool is_for_chief() const override { return is_for_chief_; }

 private:
  std::atomic<int>& runs_;
  const bool is_for_chief_;
};

TEST_F(LoopGroupTest, OnlyTheChiefHasHooksThatOnlyWrite) {
  std::atomic<int> writes = 0;
  std::atomic<int> others = 0;
  run(3, 5, [&](Program& program) {
    program.options.hooks.emplace_back(CountingHook(writes, true));
    program.options.hooks.emplace_back(CountingHook(others, false));
  });
  EXPECT_EQ(writes, 5);
  EXPECT_EQ(others, 15);
  EXPECT_TRUE(LoggingTensorHook({.tensors = {"x"}, .every_n_iter = 1}).is_for_chief());
}

TEST_F(LoopGroupTest, AWaiterForAStepDoesNotWait) {
  const std::vector<Outcome> outcomes = run(3, 5, [](Program& program) {
    program.options.hooks.emplace_back(
        GlobalStepWaiterHook({.wait_until_step = 1000 * program.rank()}));
  });
  expect_all_end_at(outcomes, 5);
}

TEST_F(LoopGroupTest, AllRanksEvaluateAfterTheSameSteps) {
  std::atomic<int> evaluations = 0;
  const std::vector<Outcome> outcomes = run(3, 7, [&](Program& program) {
    program.options.hooks.emplace_back(EvaluationHook({.every_n_steps = 2,
                                                       .evaluate =
                                                           [&] {
                                                             ++evaluations;
                                                             return Metrics{{"accuracy", 0.5}};
                                                           },
                                                       .output_dir = "eval",
                                                       .files = &files_,
                                                       .clock = &clock_}));
  });
  expect_all_end_at(outcomes, 7);
  EXPECT_EQ(evaluations, 3 * 4);
  EXPECT_THAT(files_.list("eval"), Contains(HasSubstr("tfevents")).Times(1));
}

TEST_F(LoopGroupTest, AnEvaluationByTimeIsRefused) {
  const std::vector<Outcome> outcomes = run(2, 7, [&](Program& program) {
    program.options.hooks.emplace_back(EvaluationHook(
        {.every_n_secs = 2, .evaluate = [] { return Metrics{}; }, .clock = &clock_}));
  });
  EXPECT_THAT(outcomes[0].error, HasSubstr("every_n_secs is 2"));
}

// Fails at the end of the run.
class FailingEndHook final : public SessionRunHook {
 public:
  void end(Session&) override { throw DataLossError("the last result cannot be written"); }
  bool is_for_chief() const override { return true; }
};

TEST_F(LoopGroupTest, TheOthersLearnThatTheChiefFailedAtTheEnd) {
  const std::vector<Outcome> outcomes =
      run(2, 5, [](Program& program) { program.options.hooks.emplace_back(FailingEndHook()); });
  EXPECT_THAT(outcomes[0].error, HasSubstr("DATA_LOSS: the last result"));
  EXPECT_EQ(outcomes[1].failed_rank, 0);
  EXPECT_THAT(outcomes[1].error, HasSubstr("the last result cannot be written"));
}

TEST_F(LoopGroupTest, RestoresAndSavesOutsideOfTheRun) {
  run(2, 5);
  StoreRanks ranks(2);
  ranks.run([&](const std::shared_ptr<Group>& group) {
    int64_t count = -group->rank();
    Loop loop({.checkpoint = {.dir = "run", .every_steps = 100},
               .ranks = {.group = group},
               .hooks = {StopAtStepHook({.last_step = 8})},
               .files = &files_,
               .clock = &clock_});
    loop.track("count", count);
    EXPECT_EQ(loop.restore(), 5);
    EXPECT_EQ(count, 5);
    const RunReport report = loop.run([&] { ++count; });
    EXPECT_EQ(report.last_step, 8);
    EXPECT_THAT(report.resumed_from, Optional(5));
    EXPECT_EQ(count, 8);
    EXPECT_EQ(loop.save(), "run/model.ckpt-8");
    EXPECT_FALSE(group->is_lost());
  });
}

TEST_F(LoopGroupTest, RefusesBadOptions) {
  EXPECT_THROW(Loop({.ranks = {.agree_every_n_steps = 0}}), InvalidArgumentError);
  EXPECT_THROW(Loop({.ranks = {.timeout_secs = 0}}), InvalidArgumentError);
}

// Loops of the programs' own: start(), step() and finish().
TEST_F(LoopGroupTest, OwnLoopsEndTogether) {
  for (const Outcome& each : run(3, 100, [](Program& program) { program.own_steps = 7; })) {
    EXPECT_EQ(each.error, "");
    EXPECT_EQ(each.report->last_step, 7);
    EXPECT_EQ(each.report->stop.reason, "its loop ended");
  }
  for (const Outcome& each : run(3, 100, [](Program& program) {
         program.own_steps = 20;
         if (program.rank() == 1)
           program.body = [](Step& step) {
             return step.number() == 12 ? LoopAction::kStop : LoopAction::kContinue;
           };
       })) {
    EXPECT_EQ(each.error, "");
    EXPECT_EQ(each.report->first_step, 7);
    EXPECT_EQ(each.report->last_step, 12);
  }
}

TEST_F(LoopGroupTest, OwnLoopsOfDifferentLengthsAreAnError) {
  const std::vector<Outcome> outcomes =
      run(3, 100, [](Program& program) { program.own_steps = program.rank() == 0 ? 5 : 8; });
  for (const Outcome& each : outcomes)
    EXPECT_THAT(each.error, AllOf(HasSubstr("has completed step 6, rank 0 ends at step 5"),
                                  HasSubstr("its loop ended")));
}

}  // namespace
}  // namespace crochet
