// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Records the requests, where a saver would fulfil them.
class Recorder final : public SessionRunHook {
 public:
  explicit Recorder(std::vector<std::string>& requests) : requests_(requests) {}
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    requests_.push_back(context.save_request().value_or("none"));
  }
  HookPlace place() const override { return HookPlace::kSaver; }

 private:
  std::vector<std::string>& requests_;
};

class SaveOnSignalHookTest : public testing::Test {
 protected:
  ScriptedGraph graph_;
  std::vector<std::string> requests_;
  LogCapture log_;
};

TEST_F(SaveOnSignalHookTest, RequestsOneSaveAndContinues) {
  MonitoredSession session(graph_, {SaveOnSignalHook({SIGUSR1, SIGUSR2}), Recorder(requests_)});
  session.run(graph_.train());
  ::raise(SIGUSR1);
  ::raise(SIGUSR1);
  session.run(graph_.train());
  session.run(graph_.train());
  ::raise(SIGUSR2);
  session.run(graph_.train());
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(pending_signal(), 0);
  session.close();
  EXPECT_THAT(requests_, ElementsAre("none", "SIGUSR1", "none", "SIGUSR2"));
}

TEST_F(SaveOnSignalHookTest, RestoresThePreviousHandlers) {
  struct sigaction action = {};
  {
    MonitoredSession session(graph_, {SaveOnSignalHook({SIGUSR1}), Recorder(requests_)});
    ::sigaction(SIGUSR1, nullptr, &action);
    EXPECT_NE(action.sa_handler, SIG_DFL);
    session.close();
  }
  ::sigaction(SIGUSR1, nullptr, &action);
  EXPECT_EQ(action.sa_handler, SIG_DFL);
}

TEST_F(SaveOnSignalHookTest, RejectsSignalsThatCannotBeHandled) {
  EXPECT_THROW(SaveOnSignalHook({}), InvalidArgumentError);
  EXPECT_THAT([] { SaveOnSignalHook({SIGKILL}); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("SaveOnSignalHook: SIGKILL cannot be handled")));
}

TEST_F(SaveOnSignalHookTest, RejectsASignalThatAnotherHookHandles) {
  SignalHook stop({SIGUSR1});
  stop.begin(graph_);
  SaveOnSignalHook save({SIGUSR2, SIGUSR1});
  EXPECT_THAT([&] { save.begin(graph_); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("SIGUSR1")));
  SaveOnSignalHook other({SIGUSR2});
  other.begin(graph_);
}

}  // namespace
}  // namespace crochet
