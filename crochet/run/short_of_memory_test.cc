// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole runs while memory is short: their allocations fail in turn. However a run ends, the process
// lives on, and the next run in it resumes from the newest checkpoint.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "crochet/hooks/early_stopping_hook.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/nan_tensor_hook.h"
#include "crochet/hooks/profiler_hook.h"
#include "crochet/hooks/progress_bar_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/run/loop.h"
#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

constexpr int64_t kLastStep = 5;

// Tracked values, all of which are the number of steps.
struct Counts {
  int64_t steps = 0;
  std::vector<int64_t> many = std::vector<int64_t>(2000);
  std::map<std::string, int64_t> by_name = {{"one", 0}, {"two", 0}};

  void track_in(Loop& loop) {
    loop.track("steps", steps);
    loop.track("many", many);
    loop.track("by_name", by_name);
  }
  void add_one() {
    ++steps;
    for (int64_t& each : many) ++each;
    for (auto& [name, each] : by_name) ++each;
  }
  bool are_all(int64_t number) const {
    return steps == number && std::ranges::count(many, number) == std::ssize(many) &&
           std::ranges::all_of(by_name, [=](const auto& each) { return each.second == number; });
  }
};

class ShortOfMemoryTest : public testing::Test {
 protected:
  // Hundreds of runs are made: not on a disk, if there is another place.
  ShortOfMemoryTest() {
    if (::access("/dev/shm", W_OK) == 0) ::setenv("TMPDIR", "/dev/shm", 1);
  }
  ~ShortOfMemoryTest() override {
    std::fclose(bar_);
    if (former_place_)
      ::setenv("TMPDIR", former_place_->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
  }

  // A run with checkpoints, curves and hooks. Returns its tracked values.
  Counts run(const std::string& directory) {
    Counts counts;
    EvaluationHook evaluation(
        {.every_n_steps = 2,
         .evaluate =
             [&] {
               return Metrics{{"error", 1.0 / static_cast<double>(counts.steps)}};
             },
         .output_dir = directory,
         .clock = &clock_});
    const MetricSource error = evaluation.metric("error");
    Loop loop({.checkpoint = {.dir = directory,
                              .every_steps = 2,
                              .copy_threads = 2,
                              .saving = {.metrics = {error}},
                              .saver = {.max_to_keep = 2,
                                        .keep_best =
                                            KeepBest{.metric = "error", .better = Better::kLower}}},
               .summaries = {.every_steps = 1, .count_every_steps = 1},
               .hooks = {SignalHook({SIGUSR2}), std::move(evaluation),
                         stop_if_no_decrease_hook(error, 100, {.run_every_steps = 1}),
                         NanTensorHook("loss"),
                         LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 1}),
                         ProfilerHook({.save_steps = 3, .output_dir = directory}),
                         ProgressBarHook({.values = {"loss"}, .every_secs = 0.001, .stream = bar_}),
                         StopAtStepHook({.last_step = kLastStep})},
               .clock = &clock_});
    counts.track_in(loop);
    loop.scalar("loss", [&] { return 1.0 / static_cast<double>(counts.steps); });
    loop.average("mean loss", [&] { return 1.0 / static_cast<double>(counts.steps); });
    loop.histogram("many", [&] { return to_tensor(std::vector{1.0, 2.0, 4.0}); });
    loop.text("sample", [&] { return std::string("once upon a time"); });
    loop.run([] {}, [&] { counts.add_one(); });
    return counts;
  }

  // Runs while the allocations fail that begin with number `first`. Returns the number of those
  // that were made.
  int64_t run_short_of_memory(const std::string& directory, int64_t first, int64_t length) {
    const FailingAllocations failing(first, length);
    std::thread([&] {
      try {
        run(directory);
        ++num_ended_;
      } catch (const std::exception&) {
        ++num_failed_;
      }
    }).join();
    return failing.count();
  }

  // Makes `length` allocations in a row fail, beginning at about `num_runs` places of a run.
  void attack(int64_t length, int64_t num_runs) {
    int64_t count = 0;
    {
      const TempDirectory directory;
      count = run_short_of_memory(directory / "run", std::numeric_limits<int64_t>::max() / 2, 1);
    }
    ASSERT_EQ(num_ended_, 1);
    const int64_t stride = std::max<int64_t>(1, count / num_runs);
    for (int64_t first = 0; first < count; first += stride) {
      const TempDirectory directory;
      run_short_of_memory(directory / "run", first, length);
      EXPECT_TRUE(run(directory / "run").are_all(kLastStep)) << "after allocation " << first;
    }
    EXPECT_GT(num_failed_, num_runs / 10);
  }

  LogCapture log_;
  FakeClock clock_;
  std::FILE* const bar_ = std::tmpfile();
  const std::optional<std::string> former_place_ =
      std::getenv("TMPDIR") ? std::optional<std::string>(std::getenv("TMPDIR")) : std::nullopt;
  int64_t num_ended_ = 0;
  int64_t num_failed_ = 0;
};

TEST_F(ShortOfMemoryTest, ARunSurvivesAFailedAllocation) { attack(1, 100); }

TEST_F(ShortOfMemoryTest, ARunSurvivesManyFailedAllocationsInARow) { attack(40, 40); }

}  // namespace
}  // namespace crochet
