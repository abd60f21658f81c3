// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/guards/preemption_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

TEST(PreemptionSignalTest, EndsAfterTheGracePeriodOfTheSignal) {
  FakeClock clock;
  const auto source = preemption_signal(SIGUSR1, 120, &clock);
  ::raise(SIGUSR1);
  const auto notice = source->wait({});
  ASSERT_TRUE(notice);
  EXPECT_EQ(notice->ends_at, clock.wall_time() + 120);
  EXPECT_EQ(notice->text, "SIGUSR1 announces the end of the process");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(source->wait(stop.get_token()));  // It is heeded once.
}

TEST(PreemptionSignalTest, HandlesItAsLongAsItExists) {
  ScriptedGraph graph;
  {
    const auto source = preemption_signal(SIGUSR1, 120);
    EXPECT_THROW(MonitoredSession(std::make_unique<ChiefSessionCreator>(graph),
                                  {SaveOnSignalHook({SIGUSR1})}),
                 FailedPreconditionError);
  }
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                           {SaveOnSignalHook({SIGUSR1})});
  session.close();
}

TEST(PreemptionSignalTest, RefusesWhatCannotBe) {
  EXPECT_THROW(preemption_signal(SIGKILL, 1), InvalidArgumentError);
  EXPECT_THROW(preemption_signal(SIGUSR1, -1), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
