// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <errno.h>

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/training/monitored_session.h"
#include "tests/support/attack_count.h"
#include "tests/support/fault_life.h"

namespace crochet {
namespace {

using internal::FaultLife;
using internal::StepState;
using testing::IsEmpty;

// Sets the state to that of the step that was just completed.
class FollowStep final : public SessionRunHook {
 public:
  explicit FollowStep(StepState& state) : state_(state) {}
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    state_.follow(context.session());
  }

 private:
  StepState& state_;
};

class NoteSaved final : public CheckpointSaverListener {
 public:
  bool after_save(Session&, int64_t step) override {
    newest = std::max(newest, step);
    return false;
  }
  int64_t newest = 0;
};

// True if the call may have been made for metrics, whose file continues after a loss.
bool may_be_of_metrics(const std::string& what) {
  const char* const starts[] = {"d/events.", "d/metrics.jsonl", "d: create_directories", "d: list",
                                "d: exists"};
  return std::ranges::any_of(starts, [&](const char* start) { return what.starts_with(start); });
}

// A run that saves each step in the background, and checks of what it leaves on disk.
class TrainingLife {
 public:
  static constexpr int64_t kFirstStep = 2;  // That of FaultLife::disk_after_a_good_life().
  static constexpr int64_t kNumSteps = 3;

  // Restores, makes the steps and ends, as far as possible.
  void train(FileSystem& files) {
    FakeClock clock;
    StepState state;
    const auto scaffold = std::make_shared<Scaffold>();
    scaffold->saver =
        std::make_shared<Saver>(SaverOptions{.max_to_keep = 2, .files = &files, .clock = &clock});
    AsyncCheckpointSaverHook saver({.checkpoint_dir = FaultLife::kDirectory,
                                    .save_steps = 1,
                                    .checkpoint_basename = FaultLife::kBasename,
                                    .scaffold = scaffold,
                                    .listeners = {saved_},
                                    .clock = &clock});
    auto creator = std::make_unique<ChiefSessionCreator>(
        state.graph,
        ChiefSessionCreatorOptions{.scaffold = scaffold, .checkpoint_dir = FaultLife::kDirectory});
    try {
      MonitoredSession session(std::move(creator), {FollowStep(state), std::move(saver)},
                               {.clock = &clock});
      has_begun_ = true;
      for (; num_steps_ < kNumSteps; ++num_steps_) session.run(state.graph.train());
      session.close();
      has_ended_well_ = true;
    } catch (const std::exception& error) {
      life_.hear(error.what());
    }
  }

  void expect_sound(const FailingFileSystem& files, MemoryFileSystem& disk) const {
    EXPECT_EQ(num_steps_, has_begun_ ? kNumSteps : 0);  // Training continues.
    expect_heard(files.failures());
    std::vector<std::string> violations = files.violations();
    std::erase_if(violations, may_be_of_metrics);
    EXPECT_THAT(violations, IsEmpty());
    const int64_t promised =
        has_ended_well_ ? kFirstStep + kNumSteps : std::max(kFirstStep, saved_->newest);
    {
      SCOPED_TRACE("after a power cut");
      life_.expect_sound(*disk.after_power_cut(), promised);
    }
    life_.expect_sound(disk, promised);
  }

 private:
  // Metrics never end a run: the first failure is logged, with a warning that they are dropped.
  void expect_heard(std::vector<std::string> failures) const {
    if (life_.has_logged("metrics in d are dropped")) std::erase_if(failures, may_be_of_metrics);
    life_.expect_heard(failures);
  }

  FaultLife life_{{}};  // First: it records the log.
  std::shared_ptr<NoteSaved> saved_ = std::make_shared<NoteSaved>();
  bool has_begun_ = false;
  int64_t num_steps_ = 0;
  bool has_ended_well_ = false;
};

class SaveFaultsHookTest : public testing::TestWithParam<std::tuple<int, Failing>> {
 protected:
  // Trains once for each number of a call; `fail` makes that call fail.
  template <typename Fail>
  void train_through_all(Fail fail) {
    const auto start = FaultLife({}).disk_after_a_good_life();
    for (int64_t n = 0;; ++n) {
      SCOPED_TRACE(fmt::format("call {}", n));
      const auto disk = start->after_power_cut();
      FailingFileSystem files(*disk);
      fail(files, n);
      TrainingLife life;
      life.train(files);
      errors_.add(static_cast<int64_t>(files.num_failures()));
      cuts_.add();
      life.expect_sound(files, *disk);
      if (HasFailure()) break;               // One report is enough.
      if (files.num_failures() == 0) break;  // Every call has failed once.
      ASSERT_LT(n, 1000);
    }
  }

  AttackCount errors_{"io_errors"};
  AttackCount cuts_{"power_cuts"};
};

TEST_P(SaveFaultsHookTest, TrainingContinuesWhicheverOperationFails) {
  const auto [error, failing] = GetParam();
  train_through_all([error = error, failing = failing](FailingFileSystem& files, int64_t n) {
    files.fail_operation_with_errno(n, error, failing);
  });
}

TEST_P(SaveFaultsHookTest, TrainingContinuesWhicheverReadFails) {
  const auto [error, failing] = GetParam();
  train_through_all([error = error, failing = failing](FailingFileSystem& files, int64_t n) {
    files.fail_read_with_errno(n, error, failing);
  });
}

INSTANTIATE_TEST_SUITE_P(All, SaveFaultsHookTest,
                         testing::Combine(testing::Values(ENOSPC, EIO),
                                          testing::Values(Failing::kOnce, Failing::kFromThenOn)),
                         [](const auto& info) {
                           return fmt::format(
                               "{}{}", strerrorname_np(std::get<0>(info.param)),
                               std::get<1>(info.param) == Failing::kOnce ? "Once" : "ForGood");
                         });

}  // namespace
}  // namespace crochet
