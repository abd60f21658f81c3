// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a run writes into its journal.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/control/internal/control_files.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/journal/internal/read_journal.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using internal::JournalEntry;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;

class LoopJournalTest : public testing::Test {
 protected:
  ~LoopJournalTest() override { set_pending_signal(0); }

  LoopOptions options() {
    return {.checkpoint = {.dir = "run", .every_steps = 20},
            .summaries = {.every_steps = 0, .every_secs = 0, .count_every_steps = 0},
            .hooks = {StopAtStepHook({.last_step = 50})},
            .files = &files_,
            .clock = &clock_};
  }
  // A run of steps of a second.
  RunReport run(
      LoopOptions options, const std::function<void(Step& step)>& in_step = [](Step&) {}) {
    Loop loop(std::move(options));
    int64_t count = 0;
    loop.track("count", count);
    return loop.run([&](Step& step) {
      ++count;
      clock_.advance(std::chrono::seconds(1));
      in_step(step);
    });
  }
  RunReport run() { return run(options()); }

  std::vector<JournalEntry> entries() { return internal::read_journal(files_, "run").entries; }
  // "1 start 0": life, event and step.
  std::vector<std::string> lines() {
    std::vector<std::string> lines;
    for (const JournalEntry& each : entries())
      lines.push_back(fmt::format("{} {} {}", each.stamp.life, each.event, each.stamp.step));
    return lines;
  }
  JournalEntry first(const std::string& event) {
    for (JournalEntry& each : entries())
      if (each.event == event) return each;
    ADD_FAILURE() << "no event " << event;
    return {};
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
};

TEST_F(LoopJournalTest, ARunIsRecordedFromStartToEnd) {
  run();
  const std::vector<std::string> all = lines();
  EXPECT_EQ(all.front(), "1 start 0");
  EXPECT_EQ(all.back(), "1 end 50");
  EXPECT_THAT(all, IsSupersetOf({"1 save 0", "1 saved 0", "1 save 20", "1 saved 20", "1 save 40",
                                 "1 saved 40", "1 progress 1", "1 progress 31", "1 stop 50",
                                 "1 save 50", "1 saved 50"}));
  EXPECT_EQ(std::ranges::count(all, "1 saved 20"), 1);
}

TEST_F(LoopJournalTest, ProgressIsRecordedAtFirstAndTwiceAMinute) {
  LoopOptions longer = options();
  longer.checkpoint.every_steps = 1000;
  longer.hooks = {StopAtStepHook({.last_step = 100})};
  run(std::move(longer));
  std::vector<int64_t> steps;
  for (const JournalEntry& each : entries())
    if (each.event == "progress") steps.push_back(each.stamp.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 31, 61, 91}));
}

// Also after a recovery, which goes back.
TEST_F(LoopJournalTest, AWarningHasTheStepThatItIsAfter) {
  bool has_failed = false;
  run(options(), [&](Step& step) {
    if (step.number() == 13 || step.number() == 34) log_warning("the queue is empty");
    if (step.number() != 36 || std::exchange(has_failed, true)) return;
    throw AbortedError("the worker is gone");
  });
  std::vector<int64_t> steps;
  for (const JournalEntry& each : entries())
    if (each.text("message") == "the queue is empty") steps.push_back(each.stamp.step);
  EXPECT_EQ(steps, (std::vector<int64_t>{12, 33, 33}));
}

TEST_F(LoopJournalTest, TheStartHasOptionsAndHyperparameters) {
  Loop loop(options());
  loop.hyperparameter("rate", 0.5);
  loop.hyperparameter("layers", 3);
  loop.hyperparameter("name", "wide");
  EXPECT_THROW(loop.hyperparameter("rate", 0.25), AlreadyExistsError);
  EXPECT_THROW(loop.hyperparameter("", 0.25), InvalidArgumentError);
  loop.run([] {});
  EXPECT_THROW(loop.hyperparameter("late", 1), FailedPreconditionError);
  const JournalEntry start = first("start");
  EXPECT_EQ(start.numbers.at("hyperparameters/rate"), 0.5);
  EXPECT_EQ(start.numbers.at("hyperparameters/layers"), 3);
  EXPECT_EQ(start.texts.at("hyperparameters/name"), "wide");
  EXPECT_EQ(start.numbers.at("options/checkpoint.every_steps"), 20);
  EXPECT_EQ(start.texts.at("options/hooks"), "StopAtStepHook");
  EXPECT_FALSE(start.numbers.contains("options/max_recoveries"));  // The default.
}

TEST_F(LoopJournalTest, TheStartDescribesTheProcess) {
  run();
  const JournalEntry start = first("start");
  EXPECT_EQ(start.number("pid"), ::getpid());
  EXPECT_FALSE(start.text("host").empty());
  EXPECT_FALSE(start.text("boot").empty());
  EXPECT_FALSE(start.text("process_start").empty());
  EXPECT_THAT(start.text("command"), HasSubstr("crochet_loop_test"));
  EXPECT_FALSE(start.text("crochet").empty());
  EXPECT_EQ(start.number("ranks"), 1);
}

TEST_F(LoopJournalTest, ASaveHasItsStages) {
  run();
  const JournalEntry saved = first("saved");
  EXPECT_EQ(saved.text("checkpoint"), "run/model.ckpt-0");
  for (const char* const field : {"blocked_secs", "written_secs", "durable_secs", "published_secs",
                                  "attempts", "bytes", "shared_bytes"})
    EXPECT_GE(saved.number(field).value_or(-1), 0) << field;
  EXPECT_GE(first("save").number("blocked_secs").value_or(-1), 0);
}

TEST_F(LoopJournalTest, TheEndHasReasonAndExitCode) {
  run();
  EXPECT_EQ(first("stop").text("who"), "StopAtStepHook");
  EXPECT_EQ(first("end").text("reason"), "StopAtStepHook: reached step 50");
  EXPECT_EQ(first("end").number("exit_code"), 0);
}

TEST_F(LoopJournalTest, ASignalIsRecorded) {
  LoopOptions with_signals = options();
  with_signals.hooks.emplace_back(SignalHook({SIGTERM}));
  run(std::move(with_signals), [](Step& step) {
    if (step.number() == 30) set_pending_signal(SIGTERM);
  });
  EXPECT_EQ(first("stop").number("signal"), SIGTERM);
  EXPECT_EQ(first("stop").stamp.step, 30);
  EXPECT_EQ(first("end").number("exit_code"), 128 + SIGTERM);
}

TEST_F(LoopJournalTest, ALaterLifeRecordsItsRestore) {
  run();
  LoopOptions more = options();
  more.hooks = {StopAtStepHook({.last_step = 60})};
  run(more);
  const JournalEntry restore = first("restore");
  EXPECT_EQ(restore.stamp.life, 2);
  EXPECT_EQ(restore.stamp.step, 50);
  EXPECT_EQ(restore.text("checkpoint"), "run/model.ckpt-50");
  EXPECT_EQ(lines().back(), "2 end 60");
}

TEST_F(LoopJournalTest, AnErrorIsTheEnd) {
  EXPECT_THROW(run(options(),
                   [](Step& step) {
                     if (step.number() == 30) throw std::runtime_error("a mistake");
                   }),
               std::runtime_error);
  EXPECT_THAT(first("error").text("message"), HasSubstr("a mistake"));
  EXPECT_EQ(first("end").text("why"), "error");
  EXPECT_EQ(first("end").text("error"), "a mistake");
  EXPECT_EQ(first("end").stamp.step, 29);
  EXPECT_EQ(entries().back().event, "end");
}

TEST_F(LoopJournalTest, AnErrorBeforeTheFirstStepIsTheEnd) {
  run();
  LoopOptions other = options();
  Loop loop(std::move(other));
  int64_t count = 0;
  double more = 0;
  loop.track("count", count);
  loop.track("more", more);
  EXPECT_THROW(static_cast<void>(loop.run([] {})), Error);
  EXPECT_EQ(entries().back().event, "end");
  EXPECT_EQ(entries().back().stamp.life, 2);
  EXPECT_THAT(entries().back().text("error"), HasSubstr("more"));
}

TEST_F(LoopJournalTest, ARecoveryIsRecordedWithItsError) {
  bool has_failed = false;
  run(options(), [&](Step& step) {
    if (step.number() == 30 && !std::exchange(has_failed, true))
      throw UnavailableError("the worker is gone");
  });
  const JournalEntry recovery = first("recovery");
  EXPECT_EQ(recovery.number("number"), 1);
  EXPECT_EQ(recovery.stamp.step, 29);
  EXPECT_EQ(recovery.text("error"), "the worker is gone");
  EXPECT_EQ(first("restore").stamp.step, 20);
  EXPECT_EQ(lines().back(), "1 end 50");
}

TEST_F(LoopJournalTest, AFailedSaveIsRecordedWithItsError) {
  FailingFileSystem failing(files_);
  failing.watch([](const std::string& operation) {
    if (operation.find("model.ckpt-20.") != std::string::npos) throw UnknownError("no such luck");
  });
  LoopOptions with_errors = options();
  with_errors.files = &failing;
  run(with_errors);
  EXPECT_EQ(first("save_failed").stamp.step, 20);
  EXPECT_EQ(first("save_failed").text("checkpoint"), "run/model.ckpt-20");
  EXPECT_EQ(first("save_failed").text("error"), "no such luck");
  EXPECT_GE(first("save_failed").number("attempts").value_or(0), 1);
}

TEST_F(LoopJournalTest, ARefusedCheckpointIsNamed) {
  run();
  files_.truncate("run/model.ckpt-50.data-00000-of-00001", 0);
  LoopOptions more = options();
  more.hooks = {StopAtStepHook({.last_step = 60})};
  run(more);
  EXPECT_EQ(first("restore").stamp.step, 40);
  EXPECT_EQ(first("restore").text("refused"), "run/model.ckpt-50");
}

TEST_F(LoopJournalTest, ControlIsRecorded) {
  internal::ControlFiles control(files_, "run");
  run(options(), [&](Step& step) {
    if (step.number() == 10) control.ask({.id = "1", .verb = internal::ControlVerb::kStop});
  });
  EXPECT_EQ(first("control").text("request"), "stop");
  EXPECT_EQ(first("control").stamp.step, 10);
  EXPECT_THAT(first("control").text("answer"), HasSubstr("the run ends after step 10"));
  EXPECT_EQ(first("stop").text("reason"), "crochet stop");
}

TEST_F(LoopJournalTest, WarningsOfTheProgramAreRecorded) {
  run(options(), [](Step& step) {
    if (step.number() == 10) log_warning("the data is odd");
  });
  EXPECT_EQ(first("warning").text("message"), "the data is odd");
}

// Its end is written before its directory is released, so that lives do not overlap.
TEST_F(LoopJournalTest, LivesFollowEachOther) {
  for (int i = 0; i < 3; ++i) run();
  const auto all = lines();
  EXPECT_THAT(all, IsSupersetOf({"1 start 0", "1 end 50", "2 start 0", "2 end 50", "3 start 0",
                                 "3 end 50"}));
  EXPECT_TRUE(std::ranges::is_sorted(entries(), {}, [](const JournalEntry& each) {
    return std::pair(each.stamp.life, each.stamp.steady);
  }));
}

// As one that is killed leaves it.
TEST_F(LoopJournalTest, AfterALifeWithoutAnEndTheLogHasWhatIsLost) {
  run();
  EXPECT_FALSE(log_.contains("was last heard of"));
  std::string journal = read_file(files_, "run/events.jsonl");
  journal.erase(journal.find(R"({"event":"stop")"));
  replace_file(files_, "run/events.jsonl", journal);
  for (const std::string& path : list_checkpoints(files_, "run", "model.ckpt"))
    if (path == "run/model.ckpt-50") files_.remove(path + ".index");
  run();
  EXPECT_TRUE(
      log_.contains("run: life 1 was last heard of at 2001-09-09 01:47:20 UTC, after step "
                    "40; this one begins at step 40: no step is lost that the journal has"))
      << fmt::format("{}", fmt::join(log_.lines(Severity::kWarning), "\n"));
  journal = read_file(files_, "run/events.jsonl");
  replace_file(files_, "run/events.jsonl",
               journal.substr(0, journal.rfind(R"({"event":"end")")) +
                   R"({"event":"progress","life":2,"step":77,"time":1000000600,"steady":1})"
                   "\n");
  run();
  EXPECT_TRUE(
      log_.contains("run: life 2 was last heard of at 2001-09-09 01:56:40 UTC, after step "
                    "77; this one begins at step 50: 27 or more steps are lost"));
}

TEST_F(LoopJournalTest, TheLogEndsWithReasonExitCodeAndNewestCheckpoint) {
  run();
  EXPECT_TRUE(log_.contains(
      "the run ended at step 50 (4 checkpoints): StopAtStepHook: reached step 50; exit code 0; the "
      "newest checkpoint is run/model.ckpt-50, 0 s old"))
      << log_.lines().back();
}

TEST_F(LoopJournalTest, WithoutADirectoryOrSavesThereIsNone) {
  LoopOptions without = options();
  without.checkpoint = {};
  run(without);
  EXPECT_FALSE(files_.exists("run/events.jsonl"));
}

// A journal that cannot be written does not end a run.
TEST_F(LoopJournalTest, ARunContinuesWithoutItsJournal) {
  files_.create_directories("run/events.jsonl");
  EXPECT_EQ(run().last_step, 50);
  EXPECT_TRUE(log_.contains("run/events.jsonl: events wait, as they cannot be written"));
}

}  // namespace
}  // namespace crochet
