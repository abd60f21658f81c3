// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/runs.h"

#include <filesystem>
#include <memory>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/io/internal/directory_lock.h"
#include "crochet/journal/internal/journal.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"
#include "tools/run_model.h"
#include "tools/testing/fake_machine.h"
#include "tools/testing/tool_run.h"

namespace crochet::tool {
namespace {

using internal::Journal;
using internal::JournalEvent;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RunsTest : public testing::Test {
 protected:
  RunsTest() { files_.create_directories("all"); }

  // A run that makes 100 steps in 50 s, saved at 60, and writes its end, or is killed.
  void make_run(const std::string& name, bool ends = true) {
    const std::string directory = "all/" + name;
    files_.create_directories(directory);
    {
      const internal::DirectoryLock lock(files_, directory);
      const auto journal = Journal::begin(directory, files_, clock_);
      journal->open([] {
        return JournalEvent("start")
            .with("pid", 4711)
            .with("host", "node7")
            .with("boot", "b1")
            .with("process_start", "99");
      });
      clock_.advance(std::chrono::seconds(50));
      journal->record([] { return JournalEvent("progress", 100).with("last_step", 500); });
      put_checkpoint(files_, directory + "/model.ckpt-60", {{"x", Tensor::scalar(1.0F)}},
                     {.step = 60, .unix_time = clock_.wall_time() - 20});
      if (ends)
        journal->end([] {
          return JournalEvent("end", 100)
              .with("reason", "crochet: crochet stop")
              .with("exit_code", 0);
        });
    }
    clock_.advance(std::chrono::seconds(600));
  }
  void put_metrics(const std::string& name, const std::string& text) {
    put_file(files_, "all/" + name + "/metrics.jsonl", text);
  }

  ToolRun runs(bool json = false, const std::string& directory = "all") {
    std::ostringstream out, err;
    const Context context(files_, clock_, {.out = out, .err = err}, json);
    const int code = list_runs(context, directory, machine_);
    return {code, out.str(), err.str()};
  }

  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  FakeMachine machine_;
};

TEST_F(RunsTest, EachRunIsALine) {
  make_run("a");
  put_metrics("a",
              "{\"step\":50,\"time\":1,\"loss\":0.5}\n{\"step\":100,\"time\":1,\"loss\":0.25}\n");
  make_run("deep/b", /*ends=*/false);
  const ToolRun run = runs();
  EXPECT_EQ(run.code, kSuccess) << run.err;
  EXPECT_EQ(
      run.out,
      "RUN        STEP  STEPS/S  SAVED                METRIC     STATE\n"
      "a       100/500        2  step 60, 21 min ago  loss 0.25  stopped 21 min ago: crochet: "
      "crochet stop\n"
      "deep/b  100/500        2  step 60, 10 min ago  -          killed 10 min ago: kill -9, "
      "abort, or exit() within a step: the kernel's log and counters do not show which\n");
}

TEST_F(RunsTest, ARunningOneIsOnItsHost) {
  make_run("a", /*ends=*/false);
  files_.remove("all/a/.lock");
  machine_.processes_[4711] = "99";
  EXPECT_THAT(runs().out, HasSubstr("running on node7\n"));
}

TEST_F(RunsTest, AsJson) {
  make_run("a");
  put_metrics(
      "a",
      "{\"step\":100,\"time\":1,\"accuracy\":0.5,\"train/loss\":\"NaN\",\"global_step/sec\":9}\n");
  const Json run = runs(/*json=*/true).json()["runs"][0];
  EXPECT_EQ(run["directory"], "all/a");
  EXPECT_EQ(run["state"], "stopped");
  EXPECT_EQ(run["why"], "crochet: crochet stop");
  EXPECT_EQ(run["step"], 100);
  EXPECT_EQ(run["of_steps"], 500);
  EXPECT_EQ(run["steps_per_sec"], 2.0);
  EXPECT_EQ(run["saved_step"], 60);
  EXPECT_EQ(run["metric"], "train/loss");
  EXPECT_EQ(run["value"], "NaN");
  EXPECT_EQ(run["lives"], 1);
  EXPECT_EQ(run["exit_code"], 0);
}

// Where a run resumed, the points that it made again count.
TEST_F(RunsTest, PointsThatAResumeWithdrewAreNotShown) {
  make_run("a");
  put_metrics("a",
              "{\"step\":50,\"time\":1,\"loss\":0.5}\n{\"step\":90,\"time\":1,\"loss\":0.25}\n"
              "{\"resumed_at\":60,\"time\":2}\n");
  EXPECT_EQ(runs(/*json=*/true).json()["runs"][0]["value"], 0.5);
}

TEST_F(RunsTest, WhatCrochetMeasuresIsNotShown) {
  make_run("a");
  put_metrics("a",
              "{\"step\":1,\"time\":1,\"checkpoint/blocked_seconds\":1,\"global_step/sec\":9}\n");
  EXPECT_FALSE(runs(/*json=*/true).json()["runs"][0].contains("metric"));
}

TEST_F(RunsTest, TheDirectoryItselfMayBeARun) {
  make_run("a");
  EXPECT_THAT(runs(false, "all/a").out, HasSubstr("\n.    100/500"));
}

TEST_F(RunsTest, WithoutRuns) {
  const ToolRun none = runs();
  EXPECT_EQ(none.code, kNegative);
  EXPECT_EQ(none.err, "crochet: all: no run at or below this directory\n");
  EXPECT_THROW(runs(false, "nowhere"), NotFoundError);
}

// A damaged run does not hide the others.
TEST_F(RunsTest, ARunWithoutAnEventIsNamed) {
  make_run("a");
  files_.create_directories("all/b");
  put_file(files_, "all/b/events.jsonl", "not an event\n");
  const ToolRun run = runs();
  EXPECT_EQ(run.code, kNegative);
  EXPECT_THAT(run.out, HasSubstr("\na "));
  EXPECT_EQ(run.err, "crochet: all/b: its journal has no event\n");
}

TEST_F(RunsTest, TextOfFilesIsEscaped) {
  make_run("a");
  put_metrics("a",
              "{\"step\":1,\"time\":1,\"\\u001b[2Jloss\":1}\n[1]\n{\"loss\":7}\n{\"step\":2,\"lo");
  put_file(files_, "all/a/events.jsonl",
           "{\"event\":\"start\",\"life\":1,\"step\":0,\"time\":1,\"steady\":2,\"host\":\"\\u001b["
           "2J\"}\n");
  const ToolRun run = runs();
  EXPECT_THAT(run.out, HasSubstr("\\x1b[2Jloss 1"));
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b")));
}

TEST(RunsOnDiskTest, LinksAreNotFollowed) {
  const TempDirectory directory;
  FileSystem& files = FileSystem::posix();
  files.create_directories(directory / "a/b");
  put_file(files, directory / "a/b/events.jsonl", "");
  std::filesystem::create_directory_symlink(directory.path(), directory / "a/again");
  std::filesystem::create_directory_symlink(directory / "a/b", directory / "c");
  EXPECT_THAT(find_runs(files, directory.path()), ElementsAre(directory / "a/b"));
}

}  // namespace
}  // namespace crochet::tool
