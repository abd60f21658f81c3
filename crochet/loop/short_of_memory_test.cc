// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Whole runs while memory is short: their allocations fail in turn. However a run ends, the process
// lives on, and the next run in it resumes from the newest checkpoint.
#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
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
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "tests/support/attack_allocations.h"

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
  ~ShortOfMemoryTest() override { std::fclose(bar_); }

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

  void attack(int64_t length, int64_t num_places) {
    attack_allocations(
        length, num_places, [this](const std::string& directory) { run(directory); },
        [this](const std::string& directory) { return run(directory).are_all(kLastStep); });
  }

  LogCapture log_;
  FakeClock clock_;
  std::FILE* const bar_ = std::tmpfile();
};

TEST_F(ShortOfMemoryTest, ARunSurvivesAFailedAllocation) { attack(1, 100); }

TEST_F(ShortOfMemoryTest, ARunSurvivesManyFailedAllocationsInARow) { attack(40, 40); }

}  // namespace
}  // namespace crochet
