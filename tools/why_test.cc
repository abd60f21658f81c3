// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/why.h"

#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/io/internal/directory_lock.h"
#include "crochet/journal/internal/journal.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"
#include "tools/testing/fake_machine.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using internal::Journal;
using internal::JournalEvent;
using testing::HasSubstr;

class WhyTest : public testing::Test {
 protected:
  WhyTest() { files_.create_directories("run"); }

  // A life of process 4711, that begins at `step` and makes 100 steps of a second; it saves after
  // 60 of them.
  std::shared_ptr<Journal> live(int64_t step) {
    lock_.emplace(files_, "run");
    auto journal = Journal::begin("run", files_, clock_);
    journal->open([&] {
      return JournalEvent("start")
          .with("pid", 4711)
          .with("host", "node7")
          .with("boot", "b1")
          .with("process_start", "99")
          .with("memory_group", "/sys/fs/cgroup/x")
          .with("oom_kills", 3);
    });
    if (step > 0)
      journal->record([&] {
        return JournalEvent("restore", step)
            .with("checkpoint", "run/model.ckpt-" + std::to_string(step));
      });
    clock_.advance(std::chrono::seconds(60));
    save(*journal, step + 60);
    clock_.advance(std::chrono::seconds(40));
    journal->record([&] { return JournalEvent("progress", step + 100); });
    return journal;
  }
  void save(Journal& journal, int64_t step) {
    const std::string prefix = "run/model.ckpt-" + std::to_string(step);
    journal.record([&] { return JournalEvent("save", step); });
    put_checkpoint(files_, prefix, {{"x", Tensor::scalar(1.0F)}}, {.step = step});
    journal.record([&] { return JournalEvent("saved", step).with("checkpoint", prefix); });
  }
  void kill(std::shared_ptr<Journal> journal) {
    journal.reset();
    lock_.reset();
    clock_.advance(std::chrono::seconds(10));
  }
  void end(const std::shared_ptr<Journal>& journal, JournalEvent event) {
    journal->end([&] { return std::move(event); });
    kill(journal);
  }

  // The process is there. Its lock shows nothing, since this process has it.
  void be_running() {
    files_.remove("run/.lock");
    machine_.processes_[4711] = "99";
  }

  ToolRun why(bool json = false) {
    std::ostringstream out, err;
    const Context context(files_, clock_, {.out = out, .err = err}, json);
    const int code = explain_end(context, "run", machine_);
    return {code, out.str(), err.str()};
  }

  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  FakeMachine machine_;
  std::optional<internal::DirectoryLock> lock_;
};

TEST_F(WhyTest, AKillIsExplainedInFiveLines) {
  kill(live(0));
  const ToolRun run = why();
  EXPECT_EQ(run.code, kNegative);
  EXPECT_EQ(run.out,
            "ended:      life 1, process 4711 on node7: at step 100 or after it, last heard of "
            "2001-09-09T01:48:20Z\n"
            "why:        kill -9, abort, or exit() within a step: the kernel's log and counters do "
            "not show "
            "which\n"
            "continues:  the next start continues from step 60 (run/model.ckpt-60)\n"
            "lost:       at least 40 s of training: 40 steps\n"
            "to do:      look at its last output and the scheduler's records; start it again; it "
            "continues by "
            "itself\n");
}

TEST_F(WhyTest, WhatIsInMemoryIsNotLost) {
  kill(live(0));
  files_.create_directories("fast");
  internal::claim_fast_place(files_, "run/model.ckpt", "fast");
  put_checkpoint(files_, "fast/model.ckpt-95", {{"x", Tensor::scalar(1.0F)}}, {.step = 95});
  const std::string out = why().out;
  EXPECT_THAT(out, HasSubstr("from step 95 (fast/model.ckpt-95)"));
  EXPECT_THAT(out, HasSubstr(": 5 steps"));
}

TEST_F(WhyTest, TheNextLifeIsKnown) {
  kill(live(0));
  kill(live(60));
  EXPECT_THAT(why().out, HasSubstr("life 2, process 4711 on node7: at step 160 or after it"));
  const auto third = live(120);
  be_running();
  const ToolRun run = why();
  EXPECT_THAT(run.out, HasSubstr("life 2, process 4711 on node7: at step 160 or after it"));
  EXPECT_THAT(run.out, HasSubstr("continues:  life 3, which is running now, continued from step "
                                 "120 (run/model.ckpt-120), 10 s later\n"));
  EXPECT_THAT(run.out, HasSubstr("lost:       at least 40 s of training: 40 steps\n"));
  EXPECT_THAT(run.out, HasSubstr("to do:      nothing: it runs\n"));
}

TEST_F(WhyTest, TheKernelsLogExplainsKillsAndCrashes) {
  kill(live(0));
  machine_.log_.emplace_back("Out of memory: Killed process 4711 (train) total-vm:1kB");
  EXPECT_THAT(why().out, HasSubstr("why:        the kernel killed it, as memory was short (the "
                                   "kernel's log: Out of memory: Killed process 4711"));
  EXPECT_THAT(why().out, HasSubstr("to do:      give it more memory or use less"));
  machine_.log_ = {"train[4711]: segfault at 0 ip 1"};
  EXPECT_THAT(why().out, HasSubstr("why:        it crashed (the kernel's log: train[4711]"));
  machine_.log_ = {"traps: train[4711] general protection fault"};
  EXPECT_THAT(why().out, HasSubstr("why:        it crashed"));
}

TEST_F(WhyTest, TheCounterOfTheMemoryGroupExplainsAKill) {
  kill(live(0));
  machine_.oom_kills_ = 4;
  EXPECT_THAT(why().out, HasSubstr("why:        the kernel killed it, as memory was short "
                                   "(/sys/fs/cgroup/x: 1 kill since it started)"));
}

TEST_F(WhyTest, ARestartOfTheMachineIsKnownByItsBoot) {
  kill(live(0));
  machine_.boot_ = "b2";
  machine_.oom_kills_ = 9;
  EXPECT_THAT(why().out, HasSubstr("why:        the machine was restarted, or lost its power\n"));
}

TEST_F(WhyTest, AnotherMachineIsNamed) {
  kill(live(0));
  machine_.host_ = "login1";
  EXPECT_THAT(why().out, HasSubstr("only host node7 can show which"));
  EXPECT_THAT(why().out, HasSubstr("to do:      run `crochet why` there"));
}

TEST_F(WhyTest, AnEndThatWasWrittenIsRepeated) {
  auto journal = live(0);
  journal->record([&] {
    return JournalEvent("stop", 100)
        .with("who", "SignalHook")
        .with("reason", "SIGTERM")
        .with("signal", 15);
  });
  save(*journal, 100);
  end(journal, JournalEvent("end", 100).with("exit_code", 143));
  const ToolRun run = why();
  EXPECT_EQ(run.code, kSuccess);
  EXPECT_EQ(run.out,
            "ended:      life 1, process 4711 on node7: at step 100, 2001-09-09T01:48:20Z, exit "
            "code 143\n"
            "why:        SignalHook: SIGTERM\n"
            "continues:  the next start continues from step 100 (run/model.ckpt-100)\n"
            "lost:       nothing\n"
            "to do:      start it again; it continues by itself\n");
}

TEST_F(WhyTest, AnErrorIsRepeated) {
  const auto journal = live(0);
  journal->fail(std::make_exception_ptr(DataLossError("batch 7\n is broken")));
  end(journal, JournalEvent("end").with("why", "error"));
  const ToolRun run = why();
  EXPECT_EQ(run.code, kNegative);
  EXPECT_THAT(run.out, HasSubstr("why:        error: batch 7\\n is broken\n"));
  EXPECT_THAT(run.out, HasSubstr("lost:       40 s of training: 40 steps\n"));
}

TEST_F(WhyTest, ARunThatHasNotEndedIsRunning) {
  const auto journal = live(0);
  be_running();
  const ToolRun run = why();
  EXPECT_EQ(run.code, kSuccess);
  EXPECT_THAT(run.out,
              HasSubstr("ended:      not yet: life 1, process 4711 on node7 is running, at "
                        "step 100 at 2001-09-09T01:48:20Z\n"));
  EXPECT_THAT(run.out, HasSubstr("continues:  it started from the beginning\n"));
}

// Where runs take no lock, the process shows it.
TEST_F(WhyTest, AProcessIsKnownByItsStart) {
  kill(live(0));
  files_.remove("run/.lock");
  machine_.processes_[4711] = "99";
  EXPECT_THAT(why().out, HasSubstr("is running"));
  machine_.processes_[4711] = "100";  // Another process of that number.
  EXPECT_THAT(why().out, HasSubstr("why:        kill -9"));
}

TEST_F(WhyTest, ASaveThatWasCutShortIsNamed) {
  const auto journal = live(0);
  journal->record([&] { return JournalEvent("save", 100); });
  kill(journal);
  EXPECT_THAT(why().out, HasSubstr("; it was saving step 100\n"));
}

TEST_F(WhyTest, WithoutACheckpointTheRunBeginsAgain) {
  lock_.emplace(files_, "run");
  const auto journal = Journal::begin("run", files_, clock_);
  journal->open([&] {
    return JournalEvent("start").with("pid", 1).with("host", "node7").with("boot", "b1");
  });
  clock_.advance(std::chrono::seconds(200));
  journal->record([&] { return JournalEvent("progress", 7); });
  kill(journal);
  const ToolRun run = why();
  EXPECT_THAT(run.out, HasSubstr("the next start continues from the beginning: there was no "
                                 "checkpoint\n"));
  EXPECT_THAT(run.out, HasSubstr("lost:       at least 3 min of training: 7 steps\n"));
}

TEST_F(WhyTest, AnswersAsJson) {
  kill(live(0));
  const Json answer = why(/*json=*/true).json();
  EXPECT_EQ(answer["life"], 1);
  EXPECT_EQ(answer["end"], "killed");
  EXPECT_EQ(answer["step"], 100);
  EXPECT_EQ(answer["continues_from_step"], 60);
  EXPECT_EQ(answer["lost_steps"], 40);
  EXPECT_EQ(answer["lost_secs"], 40);
  EXPECT_EQ(answer["checkpoint"], "run/model.ckpt-60");
}

TEST_F(WhyTest, TextOfAStrangerCannotReachTheTerminal) {
  files_.create("run/events.jsonl")
      ->append(
          "{\"event\":\"start\",\"life\":1,\"step\":0,\"time\":1,\"steady\":1,\"pid\":1,"
          "\"host\":\"\\u001b[2J\"}\n"
          "{\"event\":\"end\",\"life\":1,\"step\":0,\"time\":1,\"steady\":1,"
          "\"error\":\"\\u001b]0;x\\u0007\"}\n");
  const ToolRun run = why();
  EXPECT_EQ(run.out.find('\x1b'), std::string::npos) << run.out;
  EXPECT_EQ(run.out.find('\x07'), std::string::npos) << run.out;
}

TEST_F(WhyTest, WithoutAJournalThereIsNoAnswer) {
  const ToolRun run = tool::run(files_, {"why", "run"});
  EXPECT_EQ(run.code, kTrouble);
  EXPECT_THAT(run.err, HasSubstr("run/events.jsonl"));
}

}  // namespace
}  // namespace crochet::tool
