// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/global_step_waiter_hook.h"

#include <functional>
#include <stop_token>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

// A clock that lets other workers run while it sleeps.
class BusyClock final : public Clock {
 public:
  TimePoint now() const override { return clock_.now(); }
  double wall_time() const override { return clock_.wall_time(); }
  bool sleep_for(Duration duration, const std::stop_token& stop) override {
    if (meanwhile) meanwhile();
    return clock_.sleep_for(duration, stop);
  }
  Duration slept() const {
    Duration sum{};
    for (const Duration& sleep : clock_.sleeps()) sum += sleep;
    return sum;
  }

  std::function<void()> meanwhile;

 private:
  FakeClock clock_;
};

// A hook driven by hand, on a session whose other workers make 110 steps in 100 ms.
class GlobalStepWaiterHookTest : public testing::Test {
 protected:
  GlobalStepWaiterHookTest() {
    clock_.meanwhile = [this] { session_->run(graph_.train()); };
  }
  ~GlobalStepWaiterHookTest() override { set_pending_signal(0); }

  void before_run(GlobalStepWaiterHook& hook) {
    const SessionRunArgs original;
    StopState stop;
    SessionRunContext context(original, *session_, std::nullopt, stop);
    EXPECT_FALSE(hook.before_run(context));
  }
  GlobalStepWaiterHook begun(GlobalStepWaiterHookOptions options) {
    options.clock = &clock_;
    GlobalStepWaiterHook hook(options);
    hook.begin(graph_);
    hook.after_create_session(*session_, coordinator_);
    return hook;
  }

  LogCapture log_;
  BusyClock clock_;
  Coordinator coordinator_;
  ScriptedGraph graph_{{.steps_per_run = 110}};
  std::unique_ptr<Session> session_ = graph_.new_session("");
};

// BH-54: nothing is read for step 0.
TEST_F(GlobalStepWaiterHookTest, DoesNotWaitForStepZero) {
  for (const int64_t step : {0, -1}) {
    GlobalStepWaiterHook hook = begun({.wait_until_step = step});
    before_run(hook);
  }
  EXPECT_EQ(graph_.num_runs(), 0);
  EXPECT_EQ(clock_.slept(), Clock::Duration::zero());
}

// BH-55: polling finds the steps 0, 550, 1100: two sleeps of half a second.
TEST_F(GlobalStepWaiterHookTest, WaitsForTheStep) {
  GlobalStepWaiterHook hook = begun({.wait_until_step = 1000});
  before_run(hook);
  EXPECT_EQ(clock_.slept(), std::chrono::seconds(1));
  EXPECT_EQ(read_global_step(*session_), 1100);
  EXPECT_TRUE(log_.contains("waiting for step 1000"));
}

TEST_F(GlobalStepWaiterHookTest, WaitsOnceInEachRun) {
  GlobalStepWaiterHook hook = begun({.wait_until_step = 500});
  before_run(hook);
  EXPECT_EQ(clock_.slept(), std::chrono::milliseconds(500));
  session_ = graph_.new_session("");  // A recovery: at step 0 again.
  hook.after_create_session(*session_, coordinator_);
  before_run(hook);
  EXPECT_EQ(clock_.slept(), std::chrono::milliseconds(500));
  hook.begin(graph_);
  before_run(hook);
  EXPECT_EQ(clock_.slept(), std::chrono::milliseconds(1000));
}

TEST_F(GlobalStepWaiterHookTest, LogsTheStepEveryThousandSteps) {
  GlobalStepWaiterHook hook = begun({.wait_until_step = 2500});
  before_run(hook);
  EXPECT_TRUE(log_.contains("it is 1100 now"));
  EXPECT_FALSE(log_.contains("it is 550 now"));
  EXPECT_FALSE(log_.contains("it is 1650 now"));
}

TEST_F(GlobalStepWaiterHookTest, ThrowsAfterMaxSecs) {
  clock_.meanwhile = {};
  GlobalStepWaiterHook hook = begun({.wait_until_step = 7, .max_secs = 60.0});
  EXPECT_THAT([&] { before_run(hook); },
              ThrowsMessage<DeadlineExceededError>(HasSubstr("the step is 0, expected 7")));
  EXPECT_EQ(clock_.slept(), std::chrono::seconds(60));
  EXPECT_THROW(begun({.wait_until_step = 7, .max_secs = 0.0}), InvalidArgumentError);
}

TEST_F(GlobalStepWaiterHookTest, HeedsTheCoordinator) {
  clock_.meanwhile = [this] { coordinator_.request_stop(StopRequest{"somebody", "enough"}); };
  GlobalStepWaiterHook hook = begun({.wait_until_step = 7});
  EXPECT_THROW(before_run(hook), StopIteration);
  EXPECT_EQ(clock_.slept(), std::chrono::milliseconds(500));
}

TEST_F(GlobalStepWaiterHookTest, ThrowsTheErrorOfAThread) {
  coordinator_.request_stop(std::make_exception_ptr(DataLossError("a queue is broken")));
  GlobalStepWaiterHook hook = begun({.wait_until_step = 7});
  EXPECT_THROW(before_run(hook), DataLossError);
}

TEST_F(GlobalStepWaiterHookTest, EndsTheRunCleanlyAtASignal) {
  clock_.meanwhile = [] { set_pending_signal(15); };
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph_),
                           {GlobalStepWaiterHook({.wait_until_step = 7, .clock = &clock_})});
  run_in_scope(session, [&] { session.run(graph_.train()); });
  EXPECT_EQ(session.current_step(), 0);
  EXPECT_EQ(session.stop_request()->who, "GlobalStepWaiterHook");
  EXPECT_EQ(session.stop_request()->signal, 15);
  EXPECT_LE(clock_.slept(), std::chrono::milliseconds(100));
}

TEST_F(GlobalStepWaiterHookTest, NeedsAGlobalStep) {
  ScriptedGraph graph({.counts_steps = false});
  GlobalStepWaiterHook hook(7);
  EXPECT_THROW(hook.begin(graph), FailedPreconditionError);
}

TEST(StaggeredStartStepTest, GrowsWithTheLogarithmOfTheTask) {
  EXPECT_EQ(staggered_start_step(0, 100), 0);
  EXPECT_EQ(staggered_start_step(1, 100), 69);
  EXPECT_EQ(staggered_start_step(2, 100), 109);
  EXPECT_EQ(staggered_start_step(99, 1000), 4605);
  EXPECT_EQ(staggered_start_step(7, 0), 0);
  EXPECT_THROW(staggered_start_step(-1, 100), InvalidArgumentError);
  EXPECT_THROW(staggered_start_step(1, -1), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
