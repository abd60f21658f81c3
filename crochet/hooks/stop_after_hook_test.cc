// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

class StopAfterHookTest : public testing::Test {
 protected:
  MonitoredSession session(HookList hooks) {
    return MonitoredSession(std::make_unique<ChiefSessionCreator>(graph_), std::move(hooks));
  }
  StopAfterHook hook(double secs) { return StopAfterHook({.secs = secs, .clock = &clock_}); }

  FakeClock clock_;
  ScriptedGraph graph_;
};

TEST_F(StopAfterHookTest, StopsOnceTheTimeHasPassed) {
  MonitoredSession open = session({hook(60)});
  clock_.advance(std::chrono::milliseconds(59'999));
  open.run(graph_.train());
  EXPECT_FALSE(open.should_stop());
  clock_.advance(std::chrono::milliseconds(1));
  EXPECT_FALSE(open.should_stop());  // The step is finished first.
  open.run(graph_.train());
  EXPECT_TRUE(open.should_stop());
  open.close();
  EXPECT_EQ(open.stop_request()->who, "StopAfterHook");
  EXPECT_EQ(open.stop_request()->reason, "the run has lasted for 60 seconds");
}

TEST_F(StopAfterHookTest, IgnoresTheWallClock) {
  MonitoredSession open = session({hook(60)});
  clock_.set_wall_time(clock_.wall_time() + 1e6);
  open.run(graph_.train());
  EXPECT_FALSE(open.should_stop());
  open.close();
}

TEST_F(StopAfterHookTest, CountsFromTheBeginOfEachRun) {
  const auto shared =
      std::make_shared<StopAfterHook>(StopAfterHookOptions{.secs = 60, .clock = &clock_});
  for (int run = 0; run < 2; ++run) {
    clock_.advance(std::chrono::seconds(45));
    MonitoredSession open = session({shared});
    open.run(graph_.train());
    EXPECT_FALSE(open.should_stop());
    open.close();
  }
}

TEST_F(StopAfterHookTest, KeepsCountingAcrossARecovery) {
  MonitoredSession open = session({hook(60)});
  clock_.advance(std::chrono::seconds(45));
  graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
  open.run(graph_.train());
  EXPECT_FALSE(open.should_stop());
  clock_.advance(std::chrono::seconds(15));
  open.run(graph_.train());
  EXPECT_TRUE(open.should_stop());
  open.close();
}

TEST_F(StopAfterHookTest, MakesNoStepIfRestoringTookAllTheTime) {
  class SlowHook final : public SessionRunHook {
   public:
    explicit SlowHook(FakeClock& clock) : clock_(clock) {}
    void after_create_session(Session&, Coordinator&) override {
      clock_.advance(std::chrono::seconds(60));
    }

   private:
    FakeClock& clock_;
  };
  MonitoredSession open = session({SlowHook(clock_), hook(60)});
  EXPECT_TRUE(open.should_stop());
  open.close();
  EXPECT_EQ(open.stop_request()->who, "StopAfterHook");
  EXPECT_EQ(open.current_step(), 0);
}

TEST_F(StopAfterHookTest, DoesNotKnowTheLastStep) { EXPECT_FALSE(hook(60).last_step()); }

TEST_F(StopAfterHookTest, RejectsTimesThatAreNotAboveZero) {
  EXPECT_THROW(hook(0), InvalidArgumentError);
  EXPECT_THROW(hook(-1), InvalidArgumentError);
  EXPECT_THROW(hook(std::nan("")), InvalidArgumentError);
  EXPECT_THROW(StopAfterHook({}), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
