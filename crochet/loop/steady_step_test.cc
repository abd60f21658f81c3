// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A steady step, between two triggers of its hooks, allocates nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/engines/local/graph.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/nan_tensor_hook.h"
#include "crochet/hooks/step_counter_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::Each;

// Hooks that act every 100 runs do so in the first of them.
constexpr int kNumSteadySteps = 89;
constexpr int kNumStepsBefore = 10;

class SteadyStepTest : public testing::Test {
 protected:
  SteadyStepTest() {
    graph_.create_global_step();
    train_ = graph_.increment_global_step({});
    loss_ = graph_.value("loss", [] { return Tensor::scalar(0.5f); });
  }

  HookList usual_hooks() {
    const auto saver = std::make_shared<Saver>(SaverOptions{.files = &files_});
    return {
        StopAtStepHook({.last_step = 1000}),
        StepCounterHook({.every_n_steps = 100}),
        LoggingTensorHook({.tensors = {"loss"}, .every_n_iter = 100}),
        AsyncCheckpointSaverHook({.checkpoint_dir = "run", .save_secs = 600, .saver = saver}),
        FinalOpsHook("loss"),
    };
  }

  // Writes the checkpoint of the step at which sessions start: later sessions do not save it again,
  // and no save ends while they run.
  void save_first_step() {
    MonitoredSession(std::make_unique<ChiefSessionCreator>(graph_), usual_hooks()).close();
  }

  int64_t allocations_of_steps(HookList hooks, const Fetches& fetches) {
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph_), std::move(hooks));
    const auto make_steps = [&](int n) {
      for (int i = 0; i < n && !session.should_stop(); ++i) session.run(fetches);
    };
    make_steps(kNumStepsBefore);
    const AllocationCounter allocations;
    make_steps(kNumSteadySteps);
    const int64_t count = allocations.count();
    EXPECT_EQ(session.current_step(), kNumStepsBefore + kNumSteadySteps);
    session.close();
    return count;
  }

  local::Graph graph_;
  Operation train_;
  Output loss_;
  MemoryFileSystem files_;
  LogCapture log_;
};

TEST_F(SteadyStepTest, AllocatesNothingWithoutHooks) {
  EXPECT_EQ(allocations_of_steps({}, train_), 0);
}

TEST_F(SteadyStepTest, AllocatesNothingWithTheUsualHooks) {
  save_first_step();
  EXPECT_EQ(allocations_of_steps(usual_hooks(), train_), 0);
}

TEST_F(SteadyStepTest, AllocatesNothingForHooksThatReadEachValue) {
  EXPECT_EQ(allocations_of_steps({NanTensorHook("loss")}, train_), 0);
}

// Checks the measurement: a list of values is allocated by the session, in each step.
TEST_F(SteadyStepTest, AllocatesListsOfValues) {
  EXPECT_GE(allocations_of_steps({}, Fetches{train_, loss_}), kNumSteadySteps);
}

// The allocations of each of the first 99 steps of a loop, from the tenth on.
std::vector<int64_t> allocations_of_loop(const std::string& directory) {
  double weight = 0;
  Loop loop({.checkpoint = {.dir = directory},
             .hooks = {NanTensorHook("weight")},
             .ending = {.continue_finished = true}});
  loop.track("weight", weight);
  loop.scalar("weight", [&] { return weight; });
  std::vector<int64_t> allocations;
  allocations.reserve(kNumSteadySteps);
  std::optional<AllocationCounter> since_last_step;
  int64_t num_steps = 0;
  loop.run([&](Step& step) {
    if (since_last_step) allocations.push_back(since_last_step->count());
    since_last_step.reset();
    if (allocations.size() == kNumSteadySteps) step.request_stop("it was measured");
    weight += 0.5;
    if (++num_steps >= kNumStepsBefore) since_last_step.emplace();
  });
  return allocations;
}

TEST_F(SteadyStepTest, AllocatesNothingInLoops) {
  const TempDirectory directory;
  allocations_of_loop(directory.path());  // The next loop resumes from its last save.
  const std::vector<int64_t> allocations = allocations_of_loop(directory.path());
  EXPECT_EQ(allocations.size(), kNumSteadySteps);
  EXPECT_THAT(allocations, Each(0));
}

}  // namespace
}  // namespace crochet
