// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A file that a program changes in place is part of its checkpoints.
#include <errno.h>

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
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/internal/fast_place.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/outputs/outputs.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

constexpr int64_t kLastStep = 12;

// A "database" in which each step replaces all of the file, and adds its number.
class Database {
 public:
  Database(FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  void open() {
    rows_ = files_.exists(path_) ? read_file(files_, path_) : "";
    ++num_opened_;
  }
  void insert(int64_t row) {
    rows_ = "<" + rows_ + std::to_string(row) + ">";
    is_flushed_ = false;
  }
  void flush() {
    if (is_flushed_) return;
    const auto file = files_.create(path_);
    file->append(rows_);
    file->close();
    is_flushed_ = true;
  }
  int num_opened() const { return num_opened_; }

 private:
  FileSystem& files_;
  const std::string path_;
  std::string rows_;
  bool is_flushed_ = true;
  int num_opened_ = 0;
};

// With clones of files, and with copies.
class LoopTrackedFileTest : public testing::TestWithParam<bool> {
 protected:
  // Files that cannot be cloned, if the parameter says so.
  class Files final : public ForwardingDirectory {
   public:
    Files(FileSystem& files, bool has_clones)
        : ForwardingDirectory(files, ""), has_clones_(has_clones) {}
    void clone(const std::string& from, const std::string& to) override {
      if (!has_clones_) throw UnimplementedError("no clones");
      ForwardingDirectory::clone(from, to);
    }
    std::string translated(const std::string& path) override { return path; }
    DirectoryIdentity identity() const override { return {}; }
    void check_in_place() override {}

   private:
    const bool has_clones_;
  };

  LoopOptions options(FileSystem& files, int64_t last_step = kLastStep) {
    return {.checkpoint = {.dir = "run", .every_steps = 5, .saver = {.max_to_keep = 2}},
            .summaries = {.every_steps = 0, .every_secs = 0, .count_every_steps = 0},
            .hooks = {StopAtStepHook({.last_step = last_step})},
            .files = &files,
            .clock = &clock_};
  }
  RunReport run(
      FileSystem& memory, const std::function<void(LoopOptions&)>& change = [](LoopOptions&) {},
      const std::function<void(int64_t)>& at_step = [](int64_t) {}, bool adopt = false) {
    Files files(memory, GetParam());
    Database database(files, "run/results.db");
    TrackedFile file("run/results.db", {.flush = [&] { database.flush(); },
                                        .open = [&] { database.open(); },
                                        .adopt = adopt,
                                        .files = &files});
    LoopOptions all = options(memory);
    change(all);
    Loop loop(std::move(all));
    int64_t sum = 0;
    loop.track("sum", sum);
    loop.track("results", file);
    const RunReport report = loop.run([&](Step& step) {
      sum += step.number();
      database.insert(sum);
      at_step(step.number());
      if (step.number() % 2 == 0) database.flush();
    });
    database.flush();
    num_opened_ = database.num_opened();
    return report;
  }
  static std::string expected(int64_t last_step = kLastStep) {
    std::string rows;
    for (int64_t step = 1; step <= last_step; ++step)
      rows = "<" + rows + std::to_string(step * (step + 1) / 2) + ">";
    return rows;
  }
  static std::string rows(FileSystem& files) { return read_file(files, "run/results.db"); }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  int num_opened_ = 0;
};

INSTANTIATE_TEST_SUITE_P(ClonedAndCopied, LoopTrackedFileTest, testing::Bool());

// A step is saved in both directories, and each has its own copy.
TEST_P(LoopTrackedFileTest, IsPutBackFromMemory) {
  for (const bool is_memory_lost : {false, true}) {
    MemoryFileSystem disk(clock_);
    const auto in_memory = [](LoopOptions& options) {
      options.checkpoint.fast_dir = "fast";
      options.checkpoint.fast_every_steps = 1;
    };
    EXPECT_THROW(run(disk, in_memory,
                     [](int64_t step) {
                       if (step == 8) throw std::runtime_error("a bug");
                     }),
                 std::runtime_error);
    const std::string place = internal::fast_place_of("fast", "run");
    if (is_memory_lost)
      for (const std::string& name : disk.list(place)) disk.remove(place + "/" + name);
    EXPECT_EQ(run(disk, in_memory).resumed_from, is_memory_lost ? 5 : 7);
    EXPECT_EQ(rows(disk), expected());
    EXPECT_THAT(disk.list("run"), Not(Contains(HasSubstr("tempstate"))));
    EXPECT_THAT(list_checkpoints(disk, place, "model.ckpt"), IsEmpty());
  }
}

TEST_P(LoopTrackedFileTest, IsPutBack) {
  EXPECT_THROW(run(
                   files_, [](LoopOptions&) {},
                   [](int64_t step) {
                     if (step == 9) throw std::runtime_error("a bug");
                   }),
               std::runtime_error);
  run(files_);
  EXPECT_EQ(num_opened_, 1);
  EXPECT_EQ(rows(files_), expected());
}

TEST_P(LoopTrackedFileTest, IsTheSameAfterAPowerCut) {
  for (const UnsyncedBytes bytes :
       {UnsyncedBytes::kLost, UnsyncedBytes::kHalf, UnsyncedBytes::kKept}) {
    for (const UnsyncedNames names : {UnsyncedNames::kLost, UnsyncedNames::kKept}) {
      MemoryFileSystem first(clock_);
      FailingFileSystem watched(first);
      std::mutex mutex;  // Of `left`: the training thread and that of the saver.
      std::vector<std::unique_ptr<MemoryFileSystem>> left;
      watched.watch([&](const std::string&) {
        const std::lock_guard lock(mutex);
        left.push_back(first.after_power_cut({.names = names, .bytes = bytes}));
      });
      run(watched);
      EXPECT_THAT(watched.violations(), IsEmpty());
      EXPECT_EQ(rows(first), expected());
      EXPECT_GT(left.size(), 30u);
      for (const auto& disk : left) {
        run(*disk);
        EXPECT_EQ(rows(*disk), expected());
      }
    }
  }
}

TEST_P(LoopTrackedFileTest, GoesBackInARecovery) {
  int num_failures = 0;
  run(
      files_, [](LoopOptions&) {},
      [&](int64_t step) {
        if (step == 8 && ++num_failures <= 2) throw AbortedError("again");
      });
  EXPECT_EQ(num_opened_, 3);
  EXPECT_EQ(rows(files_), expected());
}

TEST_P(LoopTrackedFileTest, ARehearsalLeavesNoTrace) {
  run(files_, [](LoopOptions& options) { options.debug.rehearsal_steps = 3; });
  EXPECT_EQ(rows(files_), expected());
  for (const std::string& name : files_.list("run"))
    EXPECT_EQ(name.find("rehearsal"), std::string::npos) << name;
}

TEST_P(LoopTrackedFileTest, CopiesAreRemovedWithTheirCheckpoints) {
  run(files_);
  std::vector<std::string> copies;
  for (const std::string& name : files_.list("run"))
    if (name.find(".file-") != std::string::npos) copies.push_back(name);
  EXPECT_THAT(copies,
              testing::ElementsAre("model.ckpt-10.file-results", "model.ckpt-12.file-results"));
}

// A kill leaves the copy under its first name, and one whose checkpoint does not exist.
TEST_P(LoopTrackedFileTest, WhatAKilledSaveLeftIsRemoved) {
  run(files_, [](LoopOptions& options) { options.hooks = {StopAtStepHook({.last_step = 5})}; });
  files_.create("run/tracked.file-results.tempstate123")->append("x");
  files_.create("run/model.ckpt-7.file-results")->append("x");
  run(files_);
  EXPECT_FALSE(files_.exists("run/tracked.file-results.tempstate123"));
  EXPECT_FALSE(files_.exists("run/model.ckpt-7.file-results"));
  EXPECT_EQ(rows(files_), expected());
}

TEST_P(LoopTrackedFileTest, AFileOfSomebodyElseIsLeftAlone) {
  files_.create_directories("run");
  files_.create("run/results.db")->append("precious");
  EXPECT_THAT([&] { run(files_); },
              ThrowsMessage<AlreadyExistsError>(
                  AllOf(HasSubstr("run/results.db: found a file of 8 bytes"), HasSubstr("adopt"))));
  EXPECT_EQ(rows(files_), "precious");
  // The advice is followed.
  run(
      files_, [](LoopOptions& options) { options.hooks = {StopAtStepHook({.last_step = 1})}; },
      [](int64_t) {}, /*adopt=*/true);
  EXPECT_EQ(rows(files_), "<precious1>");
}

TEST_P(LoopTrackedFileTest, ACopyThatIsMissingOrDamagedIsNamed) {
  run(files_, [](LoopOptions& options) { options.hooks = {StopAtStepHook({.last_step = 5})}; });
  const std::string copy = "run/model.ckpt-5.file-results";
  const std::string content = read_file(files_, copy);
  files_.remove(copy);
  EXPECT_THAT([&] { run(files_); }, ThrowsMessage<NotFoundError>(HasSubstr(copy)));
  files_.create(copy)->append(content.substr(1));
  EXPECT_THAT([&] { run(files_); }, ThrowsMessage<DataLossError>(HasSubstr(copy)));
  EXPECT_EQ(rows(files_), expected(5));
  run(
      files_, [](LoopOptions&) {}, [](int64_t) {}, /*adopt=*/true);
  EXPECT_EQ(rows(files_), expected());
}

// SQLite would apply its journal to the file that is put back.
TEST_P(LoopTrackedFileTest, JournalsOfSqliteAreRemoved) {
  run(files_, [](LoopOptions& options) { options.hooks = {StopAtStepHook({.last_step = 5})}; });
  files_.create("run/results.db-wal")->append("later rows");
  run(files_);
  EXPECT_FALSE(files_.exists("run/results.db-wal"));
}

// Each operation of a run fails once: then the next run continues.
TEST_P(LoopTrackedFileTest, EachOperationMayFail) {
  int64_t n = 0;
  for (bool has_failed = true; has_failed; n += 3) {
    MemoryFileSystem disk(clock_);
    FailingFileSystem failing(disk);
    failing.fail_operation_with_errno(n, EIO);
    try {
      run(failing);
    } catch (const Error&) {
    }
    has_failed = failing.num_failures() > 0;
    run(disk);
    EXPECT_EQ(rows(disk), expected()) << n;
  }
  EXPECT_GT(n, 50);
}

TEST(TrackedFileTest, APathMustBeThatOfAFile) {
  EXPECT_THROW(TrackedFile(""), InvalidArgumentError);
  EXPECT_THROW(TrackedFile("a/"), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
