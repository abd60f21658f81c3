// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What a run writes agrees with its checkpoint, however the run ends.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/load.h"
#include "crochet/loop/loop.h"
#include "crochet/outputs/outputs.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

constexpr int64_t kLastStep = 12;

class LoopOutputsTest : public testing::Test {
 protected:
  using AtStep = std::function<void(int64_t step)>;

  LoopOptions options(FileSystem& files, int64_t last_step = kLastStep) {
    return {.checkpoint = {.dir = "run", .every_steps = 5, .saver = {.max_to_keep = 0}},
            .summaries = {.every_steps = 0, .every_secs = 0, .count_every_steps = 0},
            .hooks = {StopAtStepHook({.last_step = last_step})},
            .files = &files,
            .clock = &clock_};
  }
  // A program that writes a row a step, through all faces, and what it has counted is state.
  RunReport run(
      FileSystem& files, LoopOptions options, const AtStep& at_step = [](int64_t) {}) {
    OutputFile rows("run/rows.csv", {.files = &files});
    rows << "step,sum\n";
    Loop loop(std::move(options));
    int64_t sum = 0;
    loop.track("sum", sum);
    loop.track("rows", rows);
    return loop.run([&](Step& step) {
      sum += step.number();
      rows << step.number() << ',';
      at_step(step.number());
      std::fprintf(rows.c_file(), "%d", static_cast<int>(sum));
      rows.write(std::as_bytes(std::span("\n", 1)));
    });
  }
  RunReport run(const AtStep& at_step = [](int64_t) {}) {
    return run(files_, options(files_), at_step);
  }
  static std::string expected(int64_t last_step = kLastStep) {
    std::string text = "step,sum\n";
    for (int64_t step = 1; step <= last_step; ++step)
      text += std::to_string(step) + "," + std::to_string(step * (step + 1) / 2) + "\n";
    return text;
  }
  static std::string rows(FileSystem& files) { return read_file(files, "run/rows.csv"); }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
};

TEST_F(LoopOutputsTest, AllFacesWriteOneFile) {
  run();
  EXPECT_EQ(rows(files_), expected());
}

// In the middle of a step, of a save, of the start: whatever the disk keeps beyond what was synced.
TEST_F(LoopOutputsTest, NoRowIsMissingOrThereTwiceAfterAPowerCut) {
  for (const UnsyncedBytes bytes :
       {UnsyncedBytes::kLost, UnsyncedBytes::kHalf, UnsyncedBytes::kZeroed, UnsyncedBytes::kKept}) {
    for (const UnsyncedNames names : {UnsyncedNames::kLost, UnsyncedNames::kKept}) {
      MemoryFileSystem first(clock_);
      FailingFileSystem watched(first);
      std::mutex mutex;  // Of `left`: the training thread and that of the saver.
      std::vector<std::unique_ptr<MemoryFileSystem>> left;
      watched.watch([&](const std::string&) {
        const std::lock_guard lock(mutex);
        left.push_back(first.after_power_cut({.names = names, .bytes = bytes}));
      });
      run(watched, options(watched));
      EXPECT_THAT(watched.violations(), IsEmpty());
      EXPECT_EQ(rows(first), expected());
      EXPECT_GT(left.size(), 30u);
      for (const auto& disk : left) {
        run(*disk, options(*disk));
        EXPECT_EQ(rows(*disk), expected());
      }
    }
  }
}

TEST_F(LoopOutputsTest, EachStepMayFail) {
  for (int64_t failing = 1; failing <= kLastStep; ++failing) {
    MemoryFileSystem disk(clock_);
    const auto fail = [&](int64_t step) {
      if (step == failing) throw std::runtime_error("a bug");
    };
    EXPECT_THROW(run(disk, options(disk), fail), std::runtime_error);
    const RunReport report = run(disk, options(disk));
    EXPECT_EQ(report.last_step, kLastStep);
    EXPECT_EQ(rows(disk), expected()) << failing;
  }
}

TEST_F(LoopOutputsTest, ARunRecovers) {
  int64_t num_failures = 0;
  run([&](int64_t step) {
    if (step == 8 && ++num_failures <= 2) throw AbortedError("again");
  });
  EXPECT_EQ(num_failures, 3);
  EXPECT_EQ(rows(files_), expected());
}

TEST_F(LoopOutputsTest, ARehearsalLeavesNoTrace) {
  LoopOptions rehearsing = options(files_);
  rehearsing.debug.rehearsal_steps = 3;
  run(files_, std::move(rehearsing));
  EXPECT_EQ(rows(files_), expected());
}

TEST_F(LoopOutputsTest, ALongerRunContinues) {
  run(files_, options(files_, 7));
  EXPECT_EQ(rows(files_), expected(7));
  run(files_, options(files_, 9));
  EXPECT_EQ(rows(files_), expected(9));
}

TEST_F(LoopOutputsTest, ARunThatGoesBackIsCut) {
  run();
  LoopOptions back = options(files_);
  back.restore.which = CheckpointChoice::at_step(5);
  run(files_, std::move(back), [&](int64_t step) {
    if (step == 6) {
      EXPECT_EQ(rows(files_), expected(5));
    }
  });
  EXPECT_EQ(rows(files_), expected());
}

// A row that a hook writes after a step is of that step.
TEST_F(LoopOutputsTest, HooksWriteRowsOfTheirStep) {
  class WritingHook final : public SessionRunHook {
   public:
    explicit WritingHook(OutputFile& out) : out_(out) {}
    void after_run(SessionRunContext&, const SessionRunValues&) override { out_ << ++row_ << '\n'; }
    SaveableMap saveables() override { return {{"row", saveable_value(row_)}}; }

   private:
    OutputFile& out_;
    int64_t row_ = 0;
  };
  for (const int64_t last : {5, 8}) {
    OutputFile out("rows", {.files = &files_});
    LoopOptions with_hook = options(files_, last);
    with_hook.hooks.emplace_back(std::make_shared<WritingHook>(out));
    Loop loop(std::move(with_hook));
    loop.track("out", out);
    if (last == 5) {
      EXPECT_THROW(loop.run([&](Step& step) {
        if (step.number() == 4) throw std::runtime_error("a bug");
      }),
                   std::runtime_error);
    } else {
      loop.run([] {});
    }
  }
  EXPECT_EQ(read_file(files_, "rows"), "1\n2\n3\n4\n5\n6\n7\n8\n");
}

TEST_F(LoopOutputsTest, WhatFollowsARunIsWrittenOnce) {
  for (int i = 0; i < 2; ++i) {
    OutputFile rows("rows", {.files = &files_});
    Loop loop(options(files_, 2));
    loop.track("rows", rows);
    loop.run([&](Step& step) { rows << step.number() << '\n'; });
    rows << "the end\n";
  }
  EXPECT_EQ(read_file(files_, "rows"), "1\n2\nthe end\n");
}

TEST_F(LoopOutputsTest, AStartWithoutACheckpointKnowsItsOutputs) {
  LoopOptions without_saves = options(files_);
  without_saves.checkpoint.every_steps = 0;
  without_saves.checkpoint.every_secs = 0;
  for (int i = 0; i < 2; ++i) {
    run(files_, without_saves);
    EXPECT_EQ(rows(files_), expected());
  }
  EXPECT_EQ(read_file(files_, "run/outputs.json"), "{\"rows\":\"rows.csv\"}\n");
}

TEST_F(LoopOutputsTest, AFileOfSomebodyElseIsLeftAlone) {
  files_.create_directories("run");
  files_.create("run/rows.csv")->append("precious");
  EXPECT_THAT([&] { run(); }, ThrowsMessage<AlreadyExistsError>(
                                  HasSubstr("run/rows.csv: found a file of 8 bytes")));
  EXPECT_EQ(rows(files_), "precious");
  // Not because of the first attempt.
  EXPECT_THROW(run(), AlreadyExistsError);
}

// Under the name of an output that the run has begun elsewhere.
TEST_F(LoopOutputsTest, AnotherPathIsNotTheRunsOwn) {
  LoopOptions without_saves = options(files_);
  without_saves.checkpoint.every_steps = 0;
  without_saves.checkpoint.every_secs = 0;
  run(files_, without_saves);
  files_.create("run/precious.csv")->append("precious");
  OutputFile rows("run/precious.csv", {.files = &files_});
  Loop loop(without_saves);
  loop.track("rows", rows);
  EXPECT_THROW(loop.run([] {}), AlreadyExistsError);
  EXPECT_EQ(read_file(files_, "run/precious.csv"), "precious");
}

// All are checked before one is cut.
TEST_F(LoopOutputsTest, NothingIsCutIfOneIsRefused) {
  const auto run_both = [&](int64_t last_step) {
    OutputFile a("a", {.files = &files_});
    OutputFile b("b", {.files = &files_});
    Loop loop(options(files_, last_step));
    loop.track("a", a);
    loop.track("b", b);
    loop.run([&] {
      a << 'x';
      b << 'y';
    });
  };
  run_both(3);
  files_.append_to("a")->append("later");
  files_.truncate("b", 1);
  EXPECT_THAT([&] { run_both(5); }, ThrowsMessage<DataLossError>(HasSubstr("b: found 1 bytes")));
  EXPECT_EQ(read_file(files_, "a"), "xxxlater");
  files_.append_to("b")->append("yy");
  run_both(5);
  EXPECT_EQ(read_file(files_, "a"), "xxxxx");
  EXPECT_EQ(read_file(files_, "b"), "yyyyy");
}

TEST_F(LoopOutputsTest, OtherUsesOfACheckpointLeaveTheFilesAlone) {
  run();
  const std::string prefix = list_checkpoints(files_, "run", "model.ckpt").front();
  OutputFile rows("run/rows.csv", {.files = &files_});
  int64_t sum = 0;
  load(prefix, {{"sum", sum}, {"rows", rows}}, &files_);
  EXPECT_EQ(this->rows(files_), expected());
  // Another run that begins with this one's values.
  OutputFile others("other/rows.csv", {.files = &files_});
  LoopOptions other = options(files_, 6);
  other.checkpoint.dir = "other";
  other.restore.from = "run/model.ckpt-5";
  Loop loop(std::move(other));
  loop.track("sum", sum);
  loop.track("rows", others);
  loop.run([&](Step& step) { others << step.number() << '\n'; });
  EXPECT_EQ(read_file(files_, "other/rows.csv"), "6\n");
  EXPECT_EQ(this->rows(files_), expected());
}

TEST_F(LoopOutputsTest, AWriteThatFailsEndsTheRun) {
  int64_t last = 0;
  EXPECT_THAT(
      [&] {
        OutputFile out("out", {.files = &files_});
        Loop loop({.hooks = {StopAtStepHook({.last_step = 100})}});
        loop.track("out", out);
        loop.run([&](Step& step) {
          last = step.number();
          if (last == 3) files_.set_capacity(0);
          out << std::string(100'000, 'x');
        });
      },
      ThrowsMessage<ResourceExhaustedError>(HasSubstr("out: ")));
  EXPECT_EQ(last, 3);
}

// A checkpoint of which the output is not on the disk does not exist.
TEST_F(LoopOutputsTest, ASyncThatFailsFailsTheSave) {
  // From the third sync on.
  class Failing final : public MemoryFileSystem {
   public:
    void sync_file(const std::string& path) override {
      if (++num_syncs_ > 2) throw UnknownError(path + ": the disk is gone");
      MemoryFileSystem::sync_file(path);
    }

   private:
    std::atomic<int> num_syncs_ = 0;
  };
  Failing failing;
  EXPECT_THAT([&] { run(failing, options(failing)); },
              ThrowsMessage<UnknownError>(HasSubstr("run/rows.csv: the disk is gone")));
  EXPECT_TRUE(checkpoint_exists(failing, "run/model.ckpt-5"));
  EXPECT_FALSE(checkpoint_exists(failing, "run/model.ckpt-10"));
  EXPECT_FALSE(checkpoint_exists(failing, "run/model.ckpt-12"));
}

TEST_F(LoopOutputsTest, AnOutputInAContainerIsRefused) {
  struct Holder {
    explicit Holder(FileSystem* files) : out("out", {.files = files}) {}
    void track(Tracker& tracker) { tracker("out", out); }
    OutputFile out;
  };
  auto pointer = std::make_unique<Holder>(&files_);
  Loop loop(options(files_));
  EXPECT_THAT([&] { loop.track("holder", pointer); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("holder"), HasSubstr("an output in a container"))));
}

TEST_F(LoopOutputsTest, AnOutputIsTrackedOnce) {
  OutputFile out("out", {.files = &files_});
  Loop loop(options(files_));
  loop.track("out", out);
  EXPECT_THAT([&] { loop.track("again", out); },
              ThrowsMessage<AlreadyExistsError>(
                  AllOf(HasSubstr("out"), HasSubstr("tracked twice"), HasSubstr("\"again\""))));
}

TEST_F(LoopOutputsTest, APathMustBeThatOfAFile) {
  EXPECT_THROW(OutputFile(""), InvalidArgumentError);
  EXPECT_THROW(OutputFile("a/"), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
