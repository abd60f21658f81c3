// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/logging_tensor_hook.h"

#include <fmt/format.h>
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

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::ThrowsMessage;

class LoggingTensorHookTest : public testing::Test {
 protected:
  ~LoggingTensorHookTest() override { set_pending_signal(0); }

  std::shared_ptr<LoggingTensorHook> hook(LoggingTensorHookOptions options) {
    options.clock = &clock_;
    return std::make_shared<LoggingTensorHook>(std::move(options));
  }
  // The indices, from 0, of the runs that logged.
  std::vector<int> logged_runs(MonitoredSession& session, int num_runs) {
    std::vector<int> logged;
    for (int i = 0; i < num_runs; ++i) {
      log_.clear();
      session.run(graph_.train());
      if (log_.contains("loss = ")) logged.push_back(i);
    }
    log_.clear();
    return logged;
  }
  MonitoredSession session(const std::shared_ptr<LoggingTensorHook>& hook) {
    return MonitoredSession(std::make_unique<ChiefSessionCreator>(graph_), {hook});
  }
  std::vector<std::string> value_lines() {
    std::vector<std::string> lines;
    for (const std::string& line : log_.lines(Severity::kInfo))
      if (line.find(" = ") != std::string::npos) lines.push_back(line);
    return lines;
  }

  LogCapture log_;
  FakeClock clock_;
  ScriptedGraph graph_;
  const Output loss_ = graph_.value("loss", {Tensor::scalar(42.0f)});
};

// BH-10: two intervals, or one that is not positive; see below for none.
TEST_F(LoggingTensorHookTest, RejectsIllegalIntervals) {
  const auto refused = [this](const LoggingTensorHookOptions& options, const char* fragment) {
    EXPECT_THAT([&] { hook(options); }, ThrowsMessage<InvalidArgumentError>(HasSubstr(fragment)));
  };
  refused({.tensors = {"loss"}, .every_n_iter = 0}, "nvalid every_n_iter");
  refused({.tensors = {"loss"}, .every_n_iter = -10}, "nvalid every_n_iter");
  refused({.tensors = {"loss"}, .every_n_iter = 5, .every_n_secs = 5.0}, "at most one of");
  refused({.tensors = {"loss"}, .every_n_iter = 5, .every_n_secs = 5.0, .at_end = true},
          "at most one of");
  refused({.tensors = {"loss"}, .every_n_secs = 0.0},
          "LoggingTensorHook: every_n_secs is 0, expected more than 0");
}

// BH-10: TensorFlow rejects a hook without an interval.
TEST_F(LoggingTensorHookTest, LogsEveryTwoSecondsByDefault) {
  MonitoredSession open = session(hook({.tensors = {"loss"}}));
  std::vector<size_t> num_logged;
  for (int i = 0; i < 5; ++i) {
    num_logged.push_back(logged_runs(open, 1).size());
    clock_.advance(std::chrono::milliseconds(500));
  }
  EXPECT_THAT(num_logged, ElementsAre(1, 0, 0, 0, 1));
}

TEST_F(LoggingTensorHookTest, RejectsTensorsItCannotLog) {
  EXPECT_THROW(hook({.every_n_iter = 1}), InvalidArgumentError);
  EXPECT_THROW(hook({.tensors = {{"both", Fetches{loss_, loss_}}}, .every_n_iter = 1}),
               InvalidArgumentError);
  EXPECT_THAT(
      [&] {
        hook({.tensors = {"loss", "loss"}, .every_n_iter = 1});
      },
      ThrowsMessage<InvalidArgumentError>(HasSubstr("\"loss\" is repeated")));
  EXPECT_THROW(hook({.tensors = {"lost"}, .at_end = true})->begin(graph_), NotFoundError);
  EXPECT_THROW(hook({.tensors = {"train"}, .at_end = true})->begin(graph_), InvalidArgumentError);
}

// BH-11: at_end alone.
TEST_F(LoggingTensorHookTest, LogsAtTheEndOnly) {
  MonitoredSession open = session(hook({.tensors = {"loss"}, .at_end = true}));
  EXPECT_THAT(logged_runs(open, 3), IsEmpty());
  open.close();
  EXPECT_THAT(value_lines(), ElementsAre("loss = 42"));
}

// BH-12: by the number of runs since the hook's begin, not by the step.
TEST_F(LoggingTensorHookTest, LogsEveryNRuns) {
  const auto every_ten = hook({.tensors = {"loss"}, .every_n_iter = 10});
  for (int life = 0; life < 2; ++life) {
    MonitoredSession open = session(every_ten);
    EXPECT_THAT(logged_runs(open, 32), ElementsAre(0, 10, 20, 30));
    open.close();
    EXPECT_THAT(value_lines(), IsEmpty());
  }
}

// BH-13: and once more at the end.
TEST_F(LoggingTensorHookTest, LogsEveryNRunsAndAtTheEnd) {
  MonitoredSession open = session(hook({.tensors = {"loss"}, .every_n_iter = 10, .at_end = true}));
  EXPECT_THAT(logged_runs(open, 11), ElementsAre(0, 10));
  open.close();
  EXPECT_THAT(value_lines(), ElementsAre("loss = 42 (0.000 sec)"));
}

// BH-15, BH-16: by time.
TEST_F(LoggingTensorHookTest, LogsEveryNSeconds) {
  for (const bool at_end : {false, true}) {
    MonitoredSession open =
        session(hook({.tensors = {"loss"}, .every_n_secs = 1.0, .at_end = at_end}));
    EXPECT_THAT(logged_runs(open, 2), ElementsAre(0));
    clock_.advance(std::chrono::seconds(1));
    EXPECT_THAT(logged_runs(open, 2), ElementsAre(0));
    open.close();
    EXPECT_THAT(value_lines(), SizeIs(at_end ? 1 : 0));
  }
}

// BH-17: the formatter's result is logged unchanged.
TEST_F(LoggingTensorHookTest, LogsTheFormattersResult) {
  MonitoredSession open = session(hook(
      {.tensors = {{"tag", loss_}}, .every_n_iter = 1, .formatter = [](const TensorMap& values) {
         return fmt::format("<{}>", values.at("tag").scalar<float>());
       }}));
  log_.clear();
  open.run(graph_.train());
  open.run(graph_.train());
  EXPECT_THAT(log_.lines(), ElementsAre("<42>", "<42>"));
  open.close();
}

TEST_F(LoggingTensorHookTest, LogsEachLineOfTheFormattersResult) {
  MonitoredSession open =
      session(hook({.tensors = {loss_}, .every_n_iter = 1, .formatter = [](const TensorMap&) {
                      return std::string("a\n  b\n");
                    }}));
  log_.clear();
  open.run(graph_.train());
  EXPECT_THAT(log_.lines(), ElementsAre("a", "  b"));
  open.close();
}

TEST_F(LoggingTensorHookTest, LogsInOrderWithTagsAndTheTimeBetween) {
  graph_.value("gradient", {Tensor::from<float>({0.5f, -1})});
  graph_.value("accuracy", {Tensor()});
  MonitoredSession open =
      session(hook({.tensors = {loss_, "gradient", {"top", "accuracy"}}, .every_n_iter = 1}));
  open.run(graph_.train());
  clock_.advance(std::chrono::milliseconds(1250));
  open.run(graph_.train());
  EXPECT_THAT(value_lines(), ElementsAre("loss:0 = 42, gradient = [0.5 -1], top = -",
                                         "loss:0 = 42, gradient = [0.5 -1], top = - (1.250 sec)"));
  open.close();
}

TEST_F(LoggingTensorHookTest, ComputesOnlyWhatItLogs) {
  MonitoredSession open = session(hook({.tensors = {"loss"}, .every_n_iter = 2}));
  const auto first = static_cast<size_t>(graph_.num_runs());
  for (int i = 0; i < 2; ++i) open.run(graph_.train());
  EXPECT_THAT(graph_.runs()[first].fetches, ElementsAre("train", "loss:0"));
  EXPECT_THAT(graph_.runs()[first + 1].fetches, ElementsAre("train"));
  open.close();
}

TEST_F(LoggingTensorHookTest, CountsOnlyRunsThatSucceeded) {
  MonitoredSession open = session(hook({.tensors = {"loss"}, .every_n_iter = 2}));
  open.run(graph_.train());
  graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
  EXPECT_THAT(logged_runs(open, 3), ElementsAre(1));
  open.close();
}

TEST_F(LoggingTensorHookTest, EvaluatesNothingAtTheEndAfterASignal) {
  MonitoredSession open = session(hook({.tensors = {"loss"}, .at_end = true}));
  set_pending_signal(15);
  open.close();
  EXPECT_THAT(value_lines(), IsEmpty());
  EXPECT_TRUE(log_.contains("SIGTERM"));
}

}  // namespace
}  // namespace crochet
