// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/guards/spike_guard_hook.h"

#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// A program that draws a batch in each step, and has a loss for each batch.
class SpikeGuardHookTest : public testing::Test {
 protected:
  using Losses = std::map<int64_t, double>;

  // Trains up to `last_step`; batches that are not named have a loss near 2. Returns the batches
  // that were used, in order.
  std::vector<int64_t> train(const Losses& losses, int64_t last_step,
                             SpikeGuardHookOptions options = {.min_values = 5}, bool asks = true) {
    ScriptedGraph graph;
    // The position in the data is state of the graph.
    graph.variable("position", Tensor::scalar(int64_t{0}));
    double loss = 0;
    graph.value("loss",
                [&] { return std::isinf(loss) && loss < 0 ? Tensor() : Tensor::scalar(loss); });
    const auto saver =
        std::make_shared<Saver>(SaverOptions{.max_to_keep = 0, .files = &files_, .clock = &clock_});
    guard_ = std::make_shared<SpikeGuardHook>("loss", options);
    const auto scaffold = std::make_shared<Scaffold>();
    scaffold->saver = saver;
    MonitoredSession session(
        std::make_unique<ChiefSessionCreator>(
            graph, ChiefSessionCreatorOptions{.scaffold = scaffold, .checkpoint_dir = "d"}),
        {guard_, StopAtStepHook({.last_step = last_step}),
         CheckpointSaverHook(
             {.checkpoint_dir = "d", .save_steps = 10, .scaffold = scaffold, .clock = &clock_})},
        {.max_recoveries = 10, .clock = &clock_});
    std::vector<int64_t> used;
    try {
      while (!session.should_stop())
        session.run_step_fn([&](StepContext& context) {
          while (true) {
            const int64_t batch = context.session().read_variable("position").scalar<int64_t>() + 1;
            context.session().assign_variable("position", Tensor::scalar(batch));
            if (asks && guard_->skips_batch()) continue;
            const auto known = losses.find(batch);
            loss =
                known != losses.end() ? known->second : 2 + 0.01 * static_cast<double>(batch % 7);
            used.push_back(batch);
            break;
          }
          context.run_with_hooks(graph.train());
        });
      session.close();
    } catch (...) {
      std::rethrow_exception(session.abort(std::current_exception()));
    }
    return used;
  }
  // Those with step 0.
  std::vector<std::string> checkpoints() { return list_checkpoints(files_, "d", "model.ckpt"); }

  static std::vector<int64_t> range(int64_t first, int64_t last) {
    std::vector<int64_t> numbers;
    for (int64_t i = first; i <= last; ++i) numbers.push_back(i);
    return numbers;
  }
  static std::vector<int64_t> joined(const std::vector<std::vector<int64_t>>& parts) {
    std::vector<int64_t> all;
    for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  std::shared_ptr<SpikeGuardHook> guard_;
};

TEST_F(SpikeGuardHookTest, GoesBackToTheNewestCheckpointAndSkipsTheBatch) {
  const auto used = train({{17, 50.0}}, 30);
  EXPECT_EQ(used, joined({range(1, 17), range(11, 16), range(18, 31)}));
  EXPECT_EQ(guard_->num_rollbacks(), 1);
  EXPECT_TRUE(log_.contains(
      "loss:0 = 50 at step 17 is a spike: the median of the last 16 is 2.03 and their median "
      "absolute deviation 0.02; rollback 1 of at most 3, to step 16 or before it; batches 17 to 17 "
      "are skipped"))
      << log_.lines(Severity::kWarning).front();
}

TEST_F(SpikeGuardHookTest, NaNAndInfinityAreSpikesFromTheFirstStepOn) {
  EXPECT_EQ(train({{1, NAN}, {3, INFINITY}}, 4), joined({{1}, {2, 3}, {2, 4, 5, 6}}));
}

// A checkpoint of after the batches that are to be skipped is not used, and not lost.
TEST_F(SpikeGuardHookTest, GoesFurtherBackForTheBatchesBeforeTheSpike) {
  const auto used = train({{23, 50.0}}, 30, {.min_values = 5, .skip_before = 5, .skip_after = 2});
  EXPECT_EQ(used, joined({range(1, 23), range(11, 17), range(26, 38)}));
  EXPECT_TRUE(files_.exists("d/model.ckpt-20.index"));
  EXPECT_TRUE(files_.exists("d/model.ckpt-20.index.abandoned"));
}

// The second time from the checkpoint before.
TEST_F(SpikeGuardHookTest, ASpikeSoonAfterARollbackGoesFurtherBack) {
  const auto used = train({{27, 50.0}, {29, 60.0}}, 40);
  EXPECT_EQ(used,
            joined({range(1, 27), range(21, 26), {28, 29}, range(11, 26), {28}, range(30, 42)}));
  EXPECT_EQ(guard_->num_rollbacks(), 2);
}

TEST_F(SpikeGuardHookTest, EndsTheRunAfterTheLastRollback) {
  EXPECT_THAT(
      [&] {
        train({{17, 50.0}}, 30, {.min_values = 5, .max_rollbacks = 2}, false);
      },
      ThrowsMessage<FailedPreconditionError>(
          HasSubstr("SpikeGuardHook: loss:0 = 50 at step 17 is a spike: the median of the "
                    "last 16 is 2.03 and their median absolute deviation 0.02; the run "
                    "went back 2 times since step 17 and ends")));
  EXPECT_TRUE(log_.contains("no batch is skipped, since the body does not call skips_batch()"));
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-10"));
}

TEST_F(SpikeGuardHookTest, ANaNAtTheEndIsTheErrorOfNaN) {
  EXPECT_THROW(train({{7, NAN}}, 30, {.max_rollbacks = 0}), NanLossDuringTrainingError);
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0")) << "the step is not saved";
}

// After `window` steps a run has got past a spike.
TEST_F(SpikeGuardHookTest, SpikesFarApartAreCountedEachByItself) {
  Losses losses;
  for (int64_t batch = 15; batch < 400; batch += 30) losses[batch] = 99;
  train(losses, 380, {.window = 20, .min_values = 5, .max_rollbacks = 1});
  EXPECT_EQ(guard_->num_rollbacks(), 13);
}

TEST_F(SpikeGuardHookTest, TheLearningRateFallsWithEachRollback) {
  train({{17, 50.0}, {170, 70.0}}, 200, {.min_values = 5, .learning_rate_factor = 0.5});
  EXPECT_EQ(guard_->learning_rate_factor(), 0.25);
}

// The next process of the run knows the batches, the rollbacks and the last values.
TEST_F(SpikeGuardHookTest, WhatItKnowsIsInTheCheckpoint) {
  train({{17, 50.0}}, 25, {.min_values = 5, .skip_after = 20, .learning_rate_factor = 0.5});
  const auto used =
      train({{50, 50.0}}, 30, {.min_values = 20, .skip_after = 20, .learning_rate_factor = 0.5});
  EXPECT_EQ(used, joined({range(47, 50), range(42, 49), range(71, 72)}))
      << "the values of the first process show that 50 is a spike, the second in a row";
  EXPECT_EQ(guard_->num_rollbacks(), 2);
  EXPECT_EQ(guard_->learning_rate_factor(), 0.25);
}

TEST_F(SpikeGuardHookTest, AStepWithoutALossIsNotWatched) {
  EXPECT_EQ(train({{17, -INFINITY}}, 20), range(1, 20));
}

TEST_F(SpikeGuardHookTest, ABodyCanRefuseABatchBeforeItChangesAnything) {
  SpikeGuardHook guard("loss", {.min_values = 1});
  EXPECT_FALSE(guard.skips_batch());
  EXPECT_FALSE(guard.accepts(NAN));
  EXPECT_TRUE(log_.contains("batch 1 is skipped: its loss, NaN, is a spike: after 0 values"));
  EXPECT_TRUE(guard.accepts(1));
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(guard.accepts(INFINITY));
  EXPECT_TRUE(guard.accepts(1)) << "they were not in a row";
  for (int i = 0; i < 9; ++i) EXPECT_FALSE(guard.accepts(INFINITY));
}

TEST_F(SpikeGuardHookTest, RefusesOptionsThatMeanNothing) {
  const auto with = [](SpikeGuardHookOptions options) {
    return [options] { SpikeGuardHook("loss", options); };
  };
  const auto says = [](const char* text) {
    return ThrowsMessage<InvalidArgumentError>(HasSubstr(text));
  };
  EXPECT_THAT(with({.factor = 0}), says("factor is 0, expected more than 0"));
  EXPECT_THAT(with({.factor = NAN}), says("factor is nan"));
  EXPECT_THAT(with({.min_values = 0}), says("min_values is 0, expected 1 or more"));
  EXPECT_THAT(with({.window = 5}), says("window is 5, expected 20 or more"));
  EXPECT_THAT(with({.skip_before = -1}), says("skip_before is -1"));
  EXPECT_THAT(with({.skip_after = -1}), says("skip_after is -1"));
  EXPECT_THAT(with({.learning_rate_factor = 0}), says("learning_rate_factor is 0"));
  EXPECT_THAT(with({.max_rollbacks = -1}), says("max_rollbacks is -1"));
  EXPECT_THAT([] { SpikeGuardHook(Fetches::List{}); }, says("one output or one name"));
}

TEST_F(SpikeGuardHookTest, AStateOfAnotherKindChangesNothing) {
  SpikeGuardHook guard("loss");
  const auto state = guard.saveables().at("state");
  for (int i = 0; i < 3; ++i) guard.skips_batch();
  const TensorMap good = state->save();
  for (const char* const key : {"counts", "skipped", "values"}) {
    TensorMap bad = good;
    bad.erase(key);
    EXPECT_THROW(state->restore(bad), InvalidArgumentError) << key;
    bad[key] = Tensor::scalar(1.0F);
    EXPECT_THROW(state->restore(bad), InvalidArgumentError) << key;
  }
  TensorMap bad = good;
  bad["skipped"] = Tensor::from(std::vector<int64_t>{1, 2, 3});
  EXPECT_THROW(state->restore(bad), InvalidArgumentError);
  EXPECT_EQ(state->save().at("counts").flat<int64_t>()[0], 3);
}

}  // namespace
}  // namespace crochet
