// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/internal/deadline_hook.h"

#include <stdlib.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet::inline v0::internal {
namespace {

using std::chrono::seconds;

// Has each run take this time.
class SlowRuns final : public SessionRunHook {
 public:
  SlowRuns(FakeClock& clock, int secs) : clock_(clock), secs_(secs) {}
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    clock_.advance(seconds(secs_));
    return {};
  }

 private:
  FakeClock& clock_;
  const int secs_;
};

class DeadlineHookTest : public testing::Test {
 protected:
  // Runs until the hook stops it; returns how long before the deadline that is.
  double secs_left_at_stop(int run_secs) {
    const double time = clock_.wall_time() + 1000;
    ScriptedGraph graph;
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                             {SlowRuns(clock_, run_secs), DeadlineHook(time, clock_)});
    while (!session.should_stop()) session.run(graph.train());
    stop_ = *session.stop_request();
    session.close();
    return time - clock_.wall_time();
  }

  FakeClock clock_;
  StopRequest stop_;
};

// And a second, for the end of the program.
TEST_F(DeadlineHookTest, StopsAStepBeforeIt) {
  EXPECT_EQ(secs_left_at_stop(1), 2);
  EXPECT_EQ(stop_.who, "crochet");
  EXPECT_EQ(stop_.signal, SIGTERM);
  EXPECT_EQ(stop_.reason, "the deadline is 2001-09-09 02:03:20 UTC: a step may take 1.0 s");
}

TEST_F(DeadlineHookTest, MakesNoStepThatDoesNotFit) { EXPECT_EQ(secs_left_at_stop(90), 10); }

// An evaluation, for example.
TEST_F(DeadlineHookTest, AnExceptionalStepIsForgotten) {
  StopInTime stop(clock_);
  ScriptedGraph graph;
  const std::unique_ptr<Session> session = graph.new_session({});
  const SessionRunArgs args;
  stop.begin();
  const double time = clock_.wall_time() + 1000;
  clock_.advance(seconds(400));
  for (int secs = 400; secs < 2000; ++secs) {
    StopState state;
    SessionRunContext context(args, *session, {}, state);
    stop.measure();
    stop.request(context, time, "the deadline");
    if (context.stop_requested()) break;
    clock_.advance(seconds(1));
  }
  EXPECT_EQ(time - clock_.wall_time(), 2);
}

TEST(SlurmEndTimeTest, IsThatOfTheEnvironment) {
  LogCapture log;
  ::unsetenv("SLURM_JOB_END_TIME");
  EXPECT_EQ(slurm_end_time(), std::nullopt);
  ::setenv("SLURM_JOB_END_TIME", "1764401935", 1);
  EXPECT_EQ(slurm_end_time(), 1764401935);
  for (const char* const text :
       {"soon", "12 ", "-5", "0", "99999999999999999999", "999999999999"}) {
    ::setenv("SLURM_JOB_END_TIME", text, 1);
    EXPECT_EQ(slurm_end_time(), std::nullopt) << text;
    EXPECT_TRUE(log.contains(std::string("SLURM_JOB_END_TIME is \"") + text));
  }
  ::setenv("SLURM_JOB_END_TIME", "", 1);
  EXPECT_EQ(slurm_end_time(), std::nullopt);
  ::unsetenv("SLURM_JOB_END_TIME");
}

}  // namespace
}  // namespace crochet::inline v0::internal
