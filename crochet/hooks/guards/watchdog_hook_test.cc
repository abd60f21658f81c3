// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What the hook does in its own process; tests/watchdog has programs that hang.
#include "crochet/hooks/guards/watchdog_hook.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/guards/internal/watched_process.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class WatchdogHookTest : public testing::Test {
 protected:
  // A run of some steps.
  void run(HookList hooks) {
    ScriptedGraph graph;
    graph.value("loss", {Tensor::scalar(0.5F)});
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph), std::move(hooks));
    for (int i = 0; i < 50; ++i) session.run(graph.train());
    session.close();
  }

  LogCapture log_;
};

// Whatever its helper does.
TEST_F(WatchdogHookTest, ARunWithoutAHelperIsARun) {
  run({WatchdogHook({.values = {"loss"}, .helper = "/nowhere/crochet"})});
  EXPECT_TRUE(
      log_.contains("the run is not watched: its helper \"/nowhere/crochet\" cannot be "
                    "started: No such file or directory"));
  log_.clear();
  run({WatchdogHook({.values = {"loss"}, .helper = "/bin/true"})});
  run({WatchdogHook({.helper = "/bin/false"})});
  EXPECT_FALSE(log_.contains("is not watched")) << "one after another";
}

TEST_F(WatchdogHookTest, AProcessHasOne) {
  run({WatchdogHook({.helper = "/bin/true"}), WatchdogHook({.helper = "/bin/true"})});
  EXPECT_TRUE(log_.contains("the run is not watched: this process has another WatchdogHook"));
}

TEST_F(WatchdogHookTest, ThePageSaysWhatTheProcessDoes) {
  const auto process = internal::WatchedProcess::start("/bin/true", internal::WatchAction::kAbort,
                                                       3, std::string(10'000, 'd'));
  ASSERT_NE(process, nullptr);
  const internal::WatchPage& page = process->page();
  EXPECT_EQ(page.pid, ::getpid());
  EXPECT_EQ(page.rank, 3);
  EXPECT_EQ(page.action, internal::WatchAction::kAbort);
  EXPECT_EQ(page.directory.back(), '\0') << "cut";
  EXPECT_GE(page.signal, SIGRTMIN);
  // As the helper does where it may not trace.
  ASSERT_EQ(::raise(page.signal), 0);
  EXPECT_EQ(page.thread, ::gettid());
  EXPECT_GT(page.depth, 1);
}

TEST_F(WatchdogHookTest, RefusesOptionsThatMeanNothing) {
  const auto says = [](const char* text) {
    return ThrowsMessage<InvalidArgumentError>(HasSubstr(text));
  };
  EXPECT_THAT([] { WatchdogHook({.min_step_secs = 0}); }, says("min_step_secs is 0"));
  EXPECT_THAT([] { WatchdogHook({.factor = 0.5}); }, says("factor is 0.5"));
  EXPECT_THAT([] { WatchdogHook({.restore_secs = 0}); }, says("restore_secs is 0"));
  EXPECT_THAT([] { WatchdogHook({.save_secs = 0}); }, says("save_secs is 0"));
  EXPECT_THAT([] { WatchdogHook({.evaluation_secs = 0}); }, says("evaluation_secs is 0"));
  EXPECT_THAT([] { WatchdogHook({.end_secs = 0}); }, says("end_secs is 0"));
  EXPECT_THAT([] { WatchdogHook({.values = std::vector<std::string>(9, "x")}); },
              says("9 values, expected at most 8"));
}

}  // namespace
}  // namespace crochet
