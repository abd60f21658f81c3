// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/time_ledger.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet::internal {
namespace {

using std::chrono::milliseconds;

// Its calls take as long as the test says.
class SlowHook final : public SessionRunHook {
 public:
  SlowHook(std::string name, FakeClock& clock) : name_(std::move(name)), clock_(clock) {}

  void after_create_session(Session&, Coordinator&) override { clock_.advance(in_creation); }
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    clock_.advance(before);
    return std::nullopt;
  }
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    if (after_call) after_call(context);
    clock_.advance(after);
  }
  std::string name() const override { return name_; }

  Clock::Duration in_creation = {};
  Clock::Duration before = {};
  Clock::Duration after = {};
  std::function<void(SessionRunContext&)> after_call;

 private:
  const std::string name_;
  FakeClock& clock_;
};

class TimeLedgerTest : public testing::Test {
 protected:
  TimeLedgerTest() {
    graph_.value("loss", [this] {
      clock_.advance(engine_);
      return Tensor::scalar(1.0f);
    });
  }

  MonitoredSession session() {
    return MonitoredSession(std::make_unique<ChiefSessionCreator>(graph_), {first_, second_},
                            {.clock = &clock_});
  }
  RunTimes times() { return TimeLedger::of(graph_).times(); }

  LogCapture log_;
  FakeClock clock_;
  ScriptedGraph graph_;
  Clock::Duration engine_ = milliseconds(10);
  std::shared_ptr<SlowHook> first_ = std::make_shared<SlowHook>("First", clock_);
  std::shared_ptr<SlowHook> second_ = std::make_shared<SlowHook>("Second", clock_);
};

TEST_F(TimeLedgerTest, CountsHooksByNameAndLeavesTheStepsTheRest) {
  first_->before = milliseconds(2);
  first_->after = milliseconds(1);
  second_->after = milliseconds(4);
  MonitoredSession session(this->session());
  for (int i = 0; i < 100; ++i) {
    session.run("loss");
    clock_.advance(milliseconds(3));  // The program's own.
  }
  const RunTimes times = this->times();
  EXPECT_NEAR(times.total, 2.0, 1e-9);
  EXPECT_NEAR(times.hooks, 0.7, 1e-9);
  EXPECT_NEAR(times.by_hook.at("First"), 0.3, 1e-9);
  EXPECT_NEAR(times.by_hook.at("Second"), 0.4, 1e-9);
  EXPECT_NEAR(times.steps(), 1.3, 1e-9);
  session.close();
}

TEST_F(TimeLedgerTest, WhatHasAKindOfItsOwnIsNotTheHooks) {
  first_->after_call = [this](SessionRunContext& context) {
    const TimeSpan evaluation(TimeLedger::of(context.session().graph()), TimeKind::kEvaluation);
    clock_.advance(milliseconds(5));
    const TimeSpan saving(TimeLedger::of(context.session().graph()), TimeKind::kSaving);
    clock_.advance(milliseconds(7));
  };
  first_->after = milliseconds(1);
  MonitoredSession session(this->session());
  for (int i = 0; i < 10; ++i) session.run("loss");
  const RunTimes times = this->times();
  EXPECT_NEAR(times.evaluation, 0.05, 1e-9);
  EXPECT_NEAR(times.saving, 0.07, 1e-9);
  EXPECT_NEAR(times.hooks, 0.01, 1e-9);
  EXPECT_NEAR(times.steps(), 0.10, 1e-9);
  session.close();
}

TEST_F(TimeLedgerTest, SetupIsTheFirstSessionAndEveryRecoveryWithItsPauses) {
  first_->in_creation = milliseconds(500);
  MonitoredSession session(this->session());
  EXPECT_NEAR(times().setup, 0.5, 1e-9);
  session.run("loss");
  int failures = 3;
  first_->after_call = [&failures](SessionRunContext&) {
    if (failures-- > 0) throw UnavailableError("lost");
  };
  session.run("loss");  // Four attempts of 10 ms; pauses of 0, 1 and 2 s; three sessions.
  EXPECT_NEAR(times().setup, 0.5 + 3 + 1.5, 1e-9);
  EXPECT_NEAR(times().steps(), 0.05, 1e-9);
  session.close();
}

TEST_F(TimeLedgerTest, AShortRunIsMeasuredSeldomAndTheSumsAreRightOnAverage) {
  engine_ = std::chrono::microseconds(20);
  first_->after = std::chrono::microseconds(5);
  MonitoredSession session(this->session());
  int64_t num_runs = 0;
  // Rare and long.
  second_->after_call = [&](SessionRunContext&) {
    if (++num_runs % 100 == 0) clock_.advance(std::chrono::microseconds(400));
  };
  for (int i = 0; i < 400'000; ++i) session.run("loss");
  const RunTimes times = this->times();
  EXPECT_NEAR(times.by_hook.at("First"), 2.0, 0.02);
  EXPECT_NEAR(times.by_hook.at("Second"), 1.6, 0.2);
  EXPECT_NEAR(times.steps(), 8.0, 0.25);
  session.close();
}

// A trace begins between two runs that would be measured, and ends between two others.
TEST_F(TimeLedgerTest, ATraceChangesNoSum) {
  engine_ = std::chrono::microseconds(20);
  first_->after = std::chrono::microseconds(5);
  MonitoredSession session(this->session());
  TimeLedger& ledger = TimeLedger::of(graph_);
  for (int i = 0; i < 2000; ++i) {
    for (int k = 0; k < 17; ++k) session.run("loss");
    ledger.begin_trace();
    for (int k = 0; k < 3; ++k) session.run("loss");
    const std::vector<TraceSpan> spans = ledger.take_trace();
    EXPECT_EQ(std::ranges::count(spans, "run", &TraceSpan::name), 3);
    EXPECT_EQ(std::ranges::count(spans, "First", &TraceSpan::name), 6);
  }
  EXPECT_NEAR(times().by_hook.at("First"), 0.2, 0.0001);
  session.close();
}

TEST_F(TimeLedgerTest, StepsBesideASaveThatTakeLongerAreSlowed) {
  MonitoredSession session(this->session());
  TimeLedger& ledger = TimeLedger::of(graph_);
  for (int i = 0; i < 50; ++i) session.run("loss");
  EXPECT_EQ(times().slowed, 0);
  ledger.set_saving(true);
  engine_ = milliseconds(12);
  for (int i = 0; i < 20; ++i) session.run("loss");
  ledger.set_saving(false);
  engine_ = milliseconds(10);
  for (int i = 0; i < 50; ++i) session.run("loss");
  EXPECT_NEAR(times().slowed, 0.040, 1e-9);
  EXPECT_NEAR(times().steps(), 1.2, 1e-9);
  session.close();
}

TEST_F(TimeLedgerTest, ARunThatFailsIsNotCountedAndTheNextIs) {
  first_->before = milliseconds(2);
  MonitoredSession session(this->session());
  session.run("loss");
  bool fails = true;
  first_->after_call = [&fails](SessionRunContext&) {
    if (std::exchange(fails, false)) throw InternalError("not a matter of the session");
  };
  EXPECT_THROW(session.run("loss"), InternalError);
  session.run("loss");
  EXPECT_NEAR(times().hooks, 0.004, 1e-9);
  session.abort(std::make_exception_ptr(InternalError("the end")));
}

TEST_F(TimeLedgerTest, ANewRunBeginsWithNothing) {
  first_->after = milliseconds(9);
  {
    MonitoredSession session(this->session());
    session.run("loss");
    session.close();
  }
  EXPECT_GT(times().hooks, 0);
  MonitoredSession session(this->session());
  EXPECT_EQ(times().hooks, 0);
  EXPECT_EQ(times().total, 0);
  session.close();
}

TEST_F(TimeLedgerTest, HooksCanReadTheTimes) {
  RunTimes seen;
  first_->before = milliseconds(3);
  second_->after_call = [&](SessionRunContext& context) { seen = context.times(); };
  MonitoredSession session(this->session());
  for (int i = 0; i < 2; ++i) session.run("loss");
  EXPECT_NEAR(seen.hooks, 0.003, 1e-9) << "of the run before";
  session.close();
}

}  // namespace
}  // namespace crochet::internal
