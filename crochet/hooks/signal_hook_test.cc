// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/signal_hook.h"

#include <signal.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/signal_request.h"
#include "crochet/base/pending_signal.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

void (*handler_of(int signal))(int) {
  struct sigaction action = {};
  ::sigaction(signal, nullptr, &action);
  return action.sa_handler;
}

// Raises a signal in a run.
class RaisingHook final : public SessionRunHook {
 public:
  explicit RaisingHook(int signal) : signal_(signal) {}
  void after_run(SessionRunContext&, const SessionRunValues&) override { ::raise(signal_); }

 private:
  int signal_;
};

class SignalHookTest : public testing::Test {
 protected:
  ~SignalHookTest() override { set_pending_signal(0); }

  std::unique_ptr<SessionCreator> creator() {
    return std::make_unique<ChiefSessionCreator>(graph_);
  }

  ScriptedGraph graph_;
};

TEST_F(SignalHookTest, RejectsSignalsThatCannotBeHandled) {
  EXPECT_THROW(SignalHook({}), InvalidArgumentError);
  for (const int signal : {0, -1, 10'000, SIGKILL, SIGSTOP, 32})
    EXPECT_THROW(SignalHook({signal}), InvalidArgumentError) << signal;
  EXPECT_THAT(
      [] {
        SignalHook({SIGTERM, SIGKILL});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("SIGKILL")));
}

TEST_F(SignalHookTest, StopsAfterTheStep) {
  MonitoredSession session(creator(), {RaisingHook(SIGTERM), SignalHook({SIGINT, SIGTERM})});
  session.run(graph_.train());
  EXPECT_EQ(pending_signal(), SIGTERM);
  EXPECT_TRUE(session.should_stop());
  session.close();
  EXPECT_EQ(session.stop_request()->who, "SignalHook");
  EXPECT_EQ(session.stop_request()->reason, "SIGTERM");
  EXPECT_EQ(session.stop_request()->signal, SIGTERM);
  EXPECT_EQ(session.current_step(), 1);
  EXPECT_EQ(pending_signal(), SIGTERM);  // It stays set.
}

TEST_F(SignalHookTest, StartsNoRunIfASignalIsPending) {
  set_pending_signal(SIGINT);
  MonitoredSession session(creator(), {SignalHook({SIGINT})});
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.stop_request()->signal, SIGINT);
  session.close();
}

void ignore_it(int) {}

TEST_F(SignalHookTest, RestoresThePreviousHandlers) {
  ::signal(SIGUSR1, ignore_it);
  const auto former = handler_of(SIGUSR2);
  {
    MonitoredSession session(creator(), {SignalHook({SIGUSR1, SIGUSR2})});
    EXPECT_NE(handler_of(SIGUSR1), ignore_it);
    EXPECT_NE(handler_of(SIGUSR2), former);
    session.close();
    EXPECT_EQ(handler_of(SIGUSR1), ignore_it);
    EXPECT_EQ(handler_of(SIGUSR2), former);
  }
  {
    const MonitoredSession session(creator(), {SignalHook({SIGUSR1})});
    EXPECT_NE(handler_of(SIGUSR1), ignore_it);
  }  // Ends with an error.
  EXPECT_EQ(handler_of(SIGUSR1), ignore_it);
  {
    SignalHook hook({SIGUSR1});
    hook.begin(graph_);
  }
  EXPECT_EQ(handler_of(SIGUSR1), ignore_it);
  ::signal(SIGUSR1, SIG_DFL);
}

// As nohup and shells start programs.
TEST_F(SignalHookTest, LeavesASignalIgnored) {
  ::signal(SIGUSR1, SIG_IGN);
  {
    MonitoredSession session(creator(), {SignalHook({SIGUSR1, SIGUSR2})});
    EXPECT_EQ(handler_of(SIGUSR1), SIG_IGN);
    EXPECT_NE(handler_of(SIGUSR2), SIG_DFL);
    session.close();
  }
  EXPECT_EQ(handler_of(SIGUSR1), SIG_IGN);
  ::signal(SIGUSR1, SIG_DFL);
}

TEST_F(SignalHookTest, RejectsASignalThatAnotherHookHandles) {
  SignalHook first({SIGUSR1});
  first.begin(graph_);
  const auto handler = handler_of(SIGUSR1);
  SignalHook second({SIGUSR2, SIGUSR1});
  EXPECT_THAT([&] { second.begin(graph_); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("SIGUSR1")));
  EXPECT_EQ(handler_of(SIGUSR1), handler);
  EXPECT_EQ(handler_of(SIGUSR2), SIG_DFL);
  SignalHook third({SIGUSR2});
  third.begin(graph_);
}

using SignalHookDeathTest = SignalHookTest;

TEST_F(SignalHookDeathTest, SurvivesSeveralSignalsOfOneRequest) {
  EXPECT_EXIT(
      {
        SignalHook hook({SIGTERM, SIGINT});
        hook.begin(graph_);
        for (const int signal : {SIGTERM, SIGINT, SIGTERM, SIGINT, SIGTERM}) ::raise(signal);
        ::_exit(pending_signal());
      },
      testing::ExitedWithCode(SIGTERM), "");
}

TEST_F(SignalHookDeathTest, EndsTheProcessWhenAPersonAsksAgain) {
  EXPECT_EXIT(
      {
        SignalHook hook({SIGINT});
        hook.begin(graph_);
        internal::record_signal_at(SIGINT, -2'000'000'000);  // Seconds ago.
        ::raise(SIGINT);
        ::_exit(0);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace crochet
