// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Points of an evaluator in another process, of checkpoints that the run has abandoned since: it
// went back to an earlier one.
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/hooks/early_stopping_hook.h"
#include "crochet/hooks/metric_source.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/evaluator.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::IsEmpty;

class AbandonedPointsTest : public testing::Test {
 protected:
  // One process of the job, which saves every 5 steps. Returns its early stopping.
  std::shared_ptr<EarlyStoppingHook> train_to(int64_t last_step,
                                              CheckpointChoice which = CheckpointChoice::newest()) {
    const MetricSource error = metric_in_directory("run/eval", "error", &files_, &clock_);
    const auto patience = std::make_shared<EarlyStoppingHook>(
        stop_if_no_decrease_hook(error, 1000, EarlyStoppingOptions{.run_every_steps = 1}));
    int64_t count = 0;
    Loop loop({.checkpoint = {.dir = "run",
                              .every_steps = 5,
                              .saving = {.metrics = {error}},
                              .saver = {.max_to_keep = 0}},
               .restore = {.which = std::move(which)},
               .hooks = {patience, StopAtStepHook({.last_step = last_step})},
               .files = &files_,
               .clock = &clock_});
    loop.track("count", count);
    loop.run([&](Step& step) {
      clock_.advance(std::chrono::seconds(1));
      ++count;
      if (at_step_) at_step_(step.number());
    });
    return patience;
  }

  // Evaluates all checkpoints, whose errors decrease from step to step.
  void evaluate() {
    int64_t count = 0;
    Evaluator evaluator(
        {.checkpoint_dir = "run",
         .checkpoints = {
             .timeout_secs = 0.0, .all_checkpoints = true, .files = &files_, .clock = &clock_}});
    evaluator.track("count", count);
    evaluator.run([&] { return Metrics{{"error", 1000.0 - static_cast<double>(count)}}; });
  }

  std::map<std::string, double> metrics_of(int64_t step) {
    return read_sidecar(files_, fmt::format("run/model.ckpt-{}", step))->metrics;
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  std::function<void(int64_t)> at_step_;
};

TEST_F(AbandonedPointsTest, DoNotCountInTheNextProcess) {
  train_to(35);
  evaluate();
  train_to(35, CheckpointChoice::at_step(20));  // Meanwhile, nothing is evaluated.
  EXPECT_EQ(train_to(36)->best_step(), 20);
  EXPECT_THAT(metrics_of(20), testing::SizeIs(1));
  EXPECT_THAT(metrics_of(30), IsEmpty());
  evaluate();
  EXPECT_EQ(train_to(37)->best_step(), 36);
}

// The evaluator is slower than the job, and finds an abandoned checkpoint after the job went back.
TEST_F(AbandonedPointsTest, DoNotCountIfTheyAreMeasuredLater) {
  train_to(35);
  at_step_ = [this](int64_t step) {
    if (step == 22) evaluate();
  };
  EXPECT_EQ(train_to(34, CheckpointChoice::at_step(20))->best_step(), 20);
  at_step_ = {};
  EXPECT_EQ(train_to(36)->best_step(), 20);
}

// Those of the run as it is now count, whichever process has resumed since.
TEST_F(AbandonedPointsTest, ArePointsOfLaterStepsOnly) {
  train_to(20);
  evaluate();
  train_to(23);
  train_to(30);
  evaluate();
  EXPECT_EQ(train_to(31)->best_step(), 30);
}

}  // namespace
}  // namespace crochet
