// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints in memory: what is lost by a kill, by the end of the machine, and by neither.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
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
#include "crochet/checkpoint/directory/checkpoint_choice.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/checkpoint/format/internal/file_names.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/outputs/outputs.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

constexpr int64_t kEnd = 14;
// Of the operations on files; all take half a minute.
constexpr int64_t kEvery = 5;

class LoopFastDirTest : public testing::Test {
 protected:
  using AtStep = std::function<void(int64_t step)>;

  LoopOptions options(FileSystem& files) {
    return {
        .checkpoint = {.dir = "run", .every_steps = 6, .fast_dir = "fast", .fast_every_steps = 2},
        .summaries = {.every_steps = 0, .every_secs = 0, .count_every_steps = 0},
        .hooks = {StopAtStepHook({.last_step = kEnd})},
        .files = &files,
        .clock = &clock_};
  }
  // A program that counts, and writes a row a step.
  RunReport run(
      FileSystem& files, LoopOptions options, const AtStep& at_step = [](int64_t) {}) {
    OutputFile rows("run/rows.csv", {.files = &files});
    Loop loop(std::move(options));
    int64_t sum = 0;
    loop.track("sum", sum);
    loop.track("rows", rows);
    RunReport report = loop.run([&](Step& step) {
      at_step(step.number());
      sum += step.number();
      rows << step.number() << ' ' << sum << '\n';
    });
    EXPECT_EQ(sum, kEnd * (kEnd + 1) / 2);
    return report;
  }
  RunReport run(const AtStep& at_step = [](int64_t) {}) {
    return run(files_, options(files_), at_step);
  }
  // Ends as a program with a bug does.
  void fail_at(int64_t failing) { fail_at(files_, failing, options(files_)); }
  void fail_at(FileSystem& files, int64_t failing, LoopOptions options) {
    EXPECT_THROW(run(files, std::move(options),
                     [&](int64_t step) {
                       if (step == failing) throw std::runtime_error("a bug");
                     }),
                 std::runtime_error);
  }
  static LoopOptions without(LoopOptions options) {
    options.checkpoint.fast_dir.clear();
    options.checkpoint.fast_every_steps.reset();
    return options;
  }
  static std::string expected() {
    std::string text;
    for (int64_t step = 1; step <= kEnd; ++step)
      text += std::to_string(step) + " " + std::to_string(step * (step + 1) / 2) + "\n";
    return text;
  }
  // What a kill at this moment leaves.
  static std::unique_ptr<MemoryFileSystem> copy(const MemoryFileSystem& files) {
    return files.after_power_cut({.names = UnsyncedNames::kKept, .bytes = UnsyncedBytes::kKept});
  }
  static std::string place() { return internal::fast_place_of("fast", "run"); }
  static std::vector<std::string> in_place(FileSystem& files) {
    return list_checkpoints(files, place(), "model.ckpt");
  }
  static int64_t newest(FileSystem& files, const std::string& directory) {
    const auto prefixes = list_checkpoints(files, directory, "model.ckpt");
    return prefixes.empty() ? 0 : *internal::step_of_prefix(prefixes.back());
  }
  // What kills before some of the operations of a program leave.
  static std::vector<std::unique_ptr<MemoryFileSystem>> left_by_kills(
      MemoryFileSystem& disk, const std::function<void(FileSystem& files)>& program) {
    FailingFileSystem watched(disk);
    std::mutex mutex;  // Of what follows: two threads save.
    int64_t number = 0;
    std::vector<std::unique_ptr<MemoryFileSystem>> left;
    watched.watch([&](const std::string&) {
      const std::lock_guard lock(mutex);
      if (++number % kEvery == 0) left.push_back(copy(disk));
    });
    program(watched);
    EXPECT_THAT(watched.violations(), IsEmpty());
    return left;
  }
  // As a machine that was started again does.
  static void forget_memory(FileSystem& files) {
    if (!files.exists(place())) return;
    for (const std::string& name : files.list(place())) files.remove(place() + "/" + name);
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
};

TEST_F(LoopFastDirTest, ContinuesFromMemoryAfterTheProgramHasEnded) {
  fail_at(6);
  EXPECT_EQ(newest(files_, "run"), 0);
  EXPECT_THAT(in_place(files_), ElementsAre(place() + "/model.ckpt-4"));
  const RunReport report = run();
  EXPECT_EQ(report.resumed_from, 4);
  EXPECT_EQ(read_file(files_, "run/rows.csv"), expected());
}

TEST_F(LoopFastDirTest, FreesTheMemoryAtTheEnd) {
  run();
  EXPECT_THAT(in_place(files_), IsEmpty());
  EXPECT_FALSE(files_.exists("run/model.ckpt.fast"));
  EXPECT_EQ(newest(files_, "run"), kEnd);
}

TEST_F(LoopFastDirTest, KeepsOneCheckpointInMemory) {
  run([&](int64_t) { EXPECT_LE(in_place(files_).size(), 2u); });
}

TEST_F(LoopFastDirTest, AKillLosesNothingThatIsInMemory) {
  MemoryFileSystem first(clock_);
  const auto left = left_by_kills(first, [&](FileSystem& files) { run(files, options(files)); });
  EXPECT_GT(left.size(), 50u);
  int64_t num_from_memory = 0;
  for (const auto& disk : left) {
    const int64_t in_memory = newest(*disk, place());
    const int64_t saved = std::max(newest(*disk, "run"), in_memory);
    const RunReport report = run(*disk, options(*disk));
    EXPECT_GE(report.resumed_from.value_or(0), saved);
    EXPECT_EQ(read_file(*disk, "run/rows.csv"), expected());
    if (report.resumed_from == in_memory) ++num_from_memory;
  }
  EXPECT_GT(num_from_memory, 10);
}

// A second kill, during the life after the first one.
TEST_F(LoopFastDirTest, AKillDuringAStartLosesNothing) {
  fail_at(6);
  for (const bool uses_memory : {true, false}) {
    const auto first = copy(files_);
    const auto left = left_by_kills(*first, [&](FileSystem& files) {
      run(files, uses_memory ? options(files) : without(options(files)));
    });
    for (const auto& disk : left) {
      EXPECT_GE(run(*disk, options(*disk)).resumed_from.value_or(0), 4);
      EXPECT_EQ(read_file(*disk, "run/rows.csv"), expected());
    }
  }
}

TEST_F(LoopFastDirTest, ContinuesFromTheDiskAfterTheMachineHasEnded) {
  fail_at(12);
  EXPECT_EQ(newest(files_, place()), 10);
  forget_memory(files_);
  EXPECT_EQ(run().resumed_from, 6);
  EXPECT_EQ(read_file(files_, "run/rows.csv"), expected());
}

TEST_F(LoopFastDirTest, ADamagedCheckpointInMemoryIsSkipped) {
  fail_at(12);
  const std::string data = place() + "/model.ckpt-10.data-00000-of-00001";
  std::string bytes = read_file(files_, data);
  bytes[bytes.size() / 2] ^= 1;
  replace_file(files_, data, bytes);
  EXPECT_EQ(run().resumed_from, 6);
  EXPECT_EQ(read_file(files_, "run/rows.csv"), expected());
  EXPECT_THAT(files_.list(place()), Not(Contains(HasSubstr("damaged"))));
}

TEST_F(LoopFastDirTest, ANewRunDoesNotContinueFromWhatARemovedOneLeft) {
  fail_at(6);
  for (const std::string& name : files_.list("run"))
    if (name != ".lock") files_.remove("run/" + name);
  EXPECT_FALSE(run([&](int64_t step) {
                 if (step == 2) {
                   EXPECT_THAT(in_place(files_), IsEmpty());
                 }
               }).resumed_from);
}

// The run continued elsewhere from an older checkpoint, and came back.
TEST_F(LoopFastDirTest, APastThatDidNotHappenIsNotRestored) {
  fail_at(12);
  // On a machine whose memory has the same path, or another one, or without the option.
  for (const char* const memory_there : {"fast", "other", ""}) {
    const auto disk = copy(files_);
    forget_memory(*disk);
    LoopOptions there = options(*disk);
    there.checkpoint.fast_dir = memory_there;
    if (there.checkpoint.fast_dir.empty()) there = without(std::move(there));
    fail_at(*disk, 8, std::move(there));
    forget_memory(*disk);
    for (const std::string& name : files_.list(place()))
      replace_file(*disk, place() + "/" + name, read_file(files_, place() + "/" + name));
    EXPECT_EQ(newest(*disk, place()), 10);
    EXPECT_EQ(run(*disk, options(*disk)).resumed_from, 6);
    EXPECT_EQ(read_file(*disk, "run/rows.csv"), expected());
  }
}

TEST_F(LoopFastDirTest, ARunWithoutItContinuesFromWhatTheLastOneLeftThere) {
  fail_at(12);
  EXPECT_EQ(run(files_, without(options(files_))).resumed_from, 10);
  EXPECT_FALSE(files_.exists("run/model.ckpt.fast"));
  EXPECT_TRUE(log_.contains("what is there can be removed"));
}

TEST_F(LoopFastDirTest, ARunWithAnotherOneContinuesFromWhatTheLastOneLeft) {
  fail_at(12);
  LoopOptions other = options(files_);
  other.checkpoint.fast_dir = "other";
  EXPECT_EQ(run(files_, std::move(other)).resumed_from, 10);
  EXPECT_TRUE(log_.contains("the run continues without " + place()));
}

TEST_F(LoopFastDirTest, AStartThatGoesBackAbandonsWhatIsNewerThere) {
  fail_at(12);
  LoopOptions back = options(files_);
  back.restore.which = CheckpointChoice::at_step(6);
  fail_at(files_, 10, std::move(back));
  EXPECT_EQ(newest(files_, place()), 8);
  EXPECT_THAT(files_.list(place()), Not(Contains(HasSubstr("abandoned"))));
  // It has gone back already.
  LoopOptions again = options(files_);
  again.restore.which = CheckpointChoice::at_step(6);
  EXPECT_EQ(run(files_, std::move(again)).resumed_from, 8);
}

TEST_F(LoopFastDirTest, ARunRecoversFromMemory) {
  int64_t num_failures = 0;
  std::vector<int64_t> made;
  // The one of step 10 is still being written then.
  std::atomic<bool> has_failed = false;
  std::once_flag once;
  FailingFileSystem slow(files_);
  slow.watch([&](const std::string& operation) {
    if (operation.find(place() + "/model.ckpt-10") == std::string::npos) return;
    std::call_once(once, [&] {
      wait_until("the failure", [&] { return has_failed.load(); });
      const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
      wait_until("a restore that does not wait", [&] {
        return log_.contains(place() + "/model.ckpt-8") || std::chrono::steady_clock::now() > limit;
      });
    });
  });
  run(slow, options(slow), [&](int64_t step) {
    made.push_back(step);
    if (step == 12 && ++num_failures == 1) {
      has_failed = true;
      throw AbortedError("again");
    }
  });
  EXPECT_EQ(num_failures, 2);
  EXPECT_EQ(std::ranges::count(made, 11), 2);
  EXPECT_EQ(std::ranges::count(made, 10), 1);
  EXPECT_EQ(read_file(files_, "run/rows.csv"), expected());
}

TEST_F(LoopFastDirTest, TheRunContinuesIfTheMemoryIsFull) {
  for (int64_t failing = 0;; failing += kEvery) {
    MemoryFileSystem disk(clock_);
    FailingFileSystem files(disk);
    files.spare("run");
    files.fail_operation_with_errno(failing, ENOSPC, Failing::kFromThenOn);
    const RunReport report = run(files, options(files));
    EXPECT_EQ(report.last_step, kEnd);
    EXPECT_EQ(newest(disk, "run"), kEnd);
    EXPECT_EQ(read_file(disk, "run/rows.csv"), expected());
    if (files.num_failures() == 0) break;
  }
}

TEST_F(LoopFastDirTest, OtherRunsUseOtherFolders) {
  EXPECT_NE(internal::fast_place_of("/dev/shm", "/a/run"),
            internal::fast_place_of("/dev/shm", "/b/run"));
}

// A record is a stranger's file, too.
TEST_F(LoopFastDirTest, AnOddRecordIsIgnored) {
  for (const std::string& text :
       {std::string(), std::string("\n\n"), std::string("fast"), std::string("a\nb\nc\n"),
        std::string(100000, 'x'), std::string("/no/such\n0123\n"), std::string("run\n\n")}) {
    MemoryFileSystem disk(clock_);
    disk.create_directories("run");
    replace_file(disk, "run/model.ckpt.fast", text);
    EXPECT_FALSE(run(disk, options(disk)).resumed_from);
  }
}

TEST_F(LoopFastDirTest, RefusesWhatHasNoEffect) {
  const auto refuses = [&](const auto& change, const std::string& text) {
    LoopOptions changed = options(files_);
    change(changed.checkpoint);
    EXPECT_THAT([&] { Loop loop(changed); }, ThrowsMessage<InvalidArgumentError>(HasSubstr(text)));
  };
  refuses([](CheckpointOptions& each) { each.fast_dir.clear(); },
          "checkpoint.fast_every_steps = 2 has no effect without checkpoint.fast_dir");
  refuses([](CheckpointOptions& each) { each.fast_every_secs = 1; }, "at most one of them");
  refuses([](CheckpointOptions& each) { each.every_steps = 0; },
          "checkpoint.fast_dir has no effect if nothing is saved in checkpoint.dir");
  refuses([](CheckpointOptions& each) { each.dir.clear(); }, "checkpoint.fast_dir");
}

}  // namespace
}  // namespace crochet
