// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "best_accuracy_hook.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/temp_directory.h"

namespace digits {
namespace {

using crochet::Loop;
using crochet::StopAtStepHook;
using crochet::TempDirectory;

// A run, new or resumed, whose accuracy is 1 at the step `peak` and 0.001 less for each step away.
std::shared_ptr<BestAccuracyHook> run_until(const std::string& directory, int64_t last_step,
                                            int64_t peak) {
  auto best = std::make_shared<BestAccuracyHook>();
  Loop loop({.checkpoint = {.dir = directory},
             .hooks = {StopAtStepHook({.last_step = last_step}), best}});
  int64_t step = 0;
  loop.track("step", step);
  loop.scalar("accuracy", [&] { return 1 - 0.001f * static_cast<float>(std::abs(step - peak)); });
  loop.run([&] { ++step; });
  return best;
}

TEST(BestAccuracyHookTest, ChecksEveryHundredthStep) {
  const TempDirectory directory;
  EXPECT_EQ(run_until(directory / "a", 99, 50)->best_step(), 0);
  const auto best = run_until(directory / "b", 500, 280);
  EXPECT_EQ(best->best_step(), 300);
  EXPECT_FLOAT_EQ(best->best(), 0.98f);
}

TEST(BestAccuracyHookTest, ResumedRunKnowsTheBestOfAllRuns) {
  const TempDirectory directory;
  run_until(directory.path(), 250, 200);
  const auto best = run_until(directory.path(), 500, 200);
  EXPECT_EQ(best->best_step(), 200);
  EXPECT_FLOAT_EQ(best->best(), 1);
}

TEST(BestAccuracyHookTest, ResumedRunFindsABetterOne) {
  const TempDirectory directory;
  run_until(directory.path(), 150, 400);
  EXPECT_EQ(run_until(directory.path(), 500, 400)->best_step(), 400);
}

}  // namespace
}  // namespace digits
