// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ThrowsMessage;

// Counts its calls; fails, and requests a stop, where the test asks for it.
class CountingHook final : public SessionRunHook {
 public:
  void begin(Graph&) override { ++num_begins; }
  void after_create_session(Session& session, Coordinator& of_session) override {
    steps_at_creation.push_back(read_global_step(session));
    coordinator = &of_session;
    throw_if(std::exchange(creation_failure, nullptr));
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override {
    ++num_before_runs;
    if (std::exchange(stops_before_run, false)) context.request_stop("it is enough");
    if (before_failure && on_failure) on_failure();
    throw_if(std::exchange(before_failure, nullptr));
    return std::nullopt;
  }
  void after_run(SessionRunContext&, const SessionRunValues&) override {
    ++num_after_runs;
    throw_if(std::exchange(after_failure, nullptr));
  }
  void end(Session&) override { ++num_ends; }
  void on_error(std::exception_ptr) override { ++num_errors; }
  std::optional<int64_t> last_step() const override { return last; }

  Coordinator* coordinator = nullptr;
  std::vector<int64_t> steps_at_creation;
  std::exception_ptr creation_failure;
  std::exception_ptr before_failure;
  std::exception_ptr after_failure;
  std::function<void()> on_failure;
  std::optional<int64_t> last;
  bool stops_before_run = false;
  int num_begins = 0;
  int num_before_runs = 0;
  int num_after_runs = 0;
  int num_ends = 0;
  int num_errors = 0;

 private:
  static void throw_if(const std::exception_ptr& error) {
    if (error) std::rethrow_exception(error);
  }
};

class RecoveryTest : public testing::Test {
 protected:
  RecoveryTest() {
    scaffold_->saver = std::make_shared<Saver>(SaverOptions{.files = &files_, .clock = &clock_});
  }

  // Restores from the directory "d".
  std::unique_ptr<SessionCreator> creator() {
    return std::make_unique<ChiefSessionCreator>(
        graph_, ChiefSessionCreatorOptions{.scaffold = scaffold_, .checkpoint_dir = "d"});
  }
  MonitoredSessionOptions options() { return {.clock = &clock_}; }

  // Writes a checkpoint of this step.
  void save_step(int64_t step) {
    ScriptedGraph graph({.global_step = step});
    scaffold_->saver->save(*graph.new_session(""), "d/model.ckpt", step);
  }

  static std::exception_ptr aborted() {
    return std::make_exception_ptr(AbortedError("the worker is gone"));
  }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_;
  ScriptedGraph graph_;
  std::shared_ptr<Scaffold> scaffold_ = std::make_shared<Scaffold>();
  std::shared_ptr<CountingHook> hook_ = std::make_shared<CountingHook>();
};

// MS-61, MS-62: without a checkpoint it starts afresh, and runs again.
TEST_F(RecoveryTest, StartsAfreshWithoutACheckpoint) {
  MonitoredSession session(creator(), {hook_}, options());
  session.run(graph_.train());
  graph_.fail_run(graph_.num_runs(), UnavailableError("the worker is gone"));
  session.run(graph_.train());
  EXPECT_EQ(session.current_step(), 1);
  EXPECT_EQ(session.num_recoveries(), 1);
  EXPECT_EQ(hook_->num_begins, 1);
  EXPECT_THAT(hook_->steps_at_creation, ElementsAre(0, 0));
  EXPECT_EQ(hook_->num_before_runs, 3);
  EXPECT_EQ(hook_->num_after_runs, 2);
  session.close();
  EXPECT_EQ(hook_->num_ends, 1);
  EXPECT_EQ(hook_->num_errors, 0);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

// MS-63: with a checkpoint, its state is restored.
TEST_F(RecoveryTest, RestoresTheNewestCheckpoint) {
  save_step(2);
  MonitoredSession session(creator(), {hook_}, options());
  session.run(graph_.train());
  hook_->after_failure = aborted();
  session.run(graph_.train());
  EXPECT_EQ(session.current_step(), 3);
  EXPECT_EQ(session.first_step(), 2);
  EXPECT_THAT(hook_->steps_at_creation, ElementsAre(2, 2));
  session.close();
}

TEST_F(RecoveryTest, RecoversFromErrorsOfHooks) {
  MonitoredSession session(creator(), {hook_}, options());
  hook_->before_failure = aborted();
  session.run(graph_.train());
  hook_->creation_failure = aborted();
  hook_->after_failure = aborted();
  session.run(graph_.train());
  EXPECT_EQ(session.num_recoveries(), 3);
  EXPECT_EQ(graph_.num_open_sessions(), 1);
  session.close();
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

// MS-60: an abort while the first session is made is retried.
TEST_F(RecoveryTest, RecoversFromAFailedFirstCreation) {
  hook_->creation_failure = aborted();
  graph_.fail_session(1, UnavailableError("not yet"));
  MonitoredSession session(creator(), {hook_}, options());
  EXPECT_EQ(graph_.num_sessions(), 3);
  EXPECT_EQ(hook_->num_begins, 1);
  EXPECT_EQ(graph_.num_open_sessions(), 1);
  session.close();
}

TEST_F(RecoveryTest, CallsInitFnAgain) {
  int calls = 0;
  scaffold_->init_fn = [&](Session&) {
    if (++calls == 1) throw AbortedError("the worker is gone");
  };
  MonitoredSession session(creator(), {hook_}, options());
  EXPECT_EQ(calls, 2);
  session.close();
}

TEST_F(RecoveryTest, RethrowsIfCanRecoverIsFalse) {
  MonitoredSession session(creator(), {hook_},
                           {.can_recover = [] { return false; }, .clock = &clock_});
  graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
  EXPECT_THAT([&] { run_in_scope(session, [&] { session.run(graph_.train()); }); },
              ThrowsMessage<AbortedError>("the worker is gone"));
  EXPECT_EQ(hook_->num_errors, 1);
  EXPECT_EQ(hook_->num_ends, 0);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

TEST_F(RecoveryTest, FailsIfItDoesNotGetPastAStep) {
  save_step(2);
  MonitoredSession session(creator(), {hook_}, {.max_recoveries = 2, .clock = &clock_});
  const Clock::TimePoint start = clock_.now();
  // The step of each new session is read twice before it is run.
  for (int attempt = 0; attempt < 5; ++attempt)
    graph_.fail_run(graph_.num_runs() + 3 * attempt, AbortedError("again"));
  EXPECT_THAT([&] { session.run(graph_.train()); }, ThrowsMessage<AbortedError>("again"));
  EXPECT_EQ(session.num_recoveries(), 2);
  EXPECT_DOUBLE_EQ(to_seconds(clock_.now() - start), 1);
  EXPECT_TRUE(session.should_stop());
  EXPECT_THAT([&] { session.close(); }, ThrowsMessage<AbortedError>("again"));
  EXPECT_EQ(hook_->num_errors, 1);
}

// Its data did not end: it has none, and no hook's end() could save it.
TEST_F(RecoveryTest, IsAnErrorIfTheNextSessionFailsWithEndOfInput) {
  for (const auto& failure : {std::make_exception_ptr(OutOfRangeError("no file to read")),
                              std::make_exception_ptr(StopIteration())}) {
    const auto hook = std::make_shared<CountingHook>();
    MonitoredSession session(creator(), {hook}, options());
    hook->after_failure = aborted();
    hook->creation_failure = failure;
    EXPECT_ANY_THROW(run_in_scope(session, [&] { session.run(graph_.train()); }));
    EXPECT_EQ(hook->num_errors, 1);
    EXPECT_EQ(hook->num_ends, 0);
    EXPECT_EQ(session.stop_request(), std::nullopt) << session.stop_request()->reason;
    EXPECT_EQ(graph_.num_open_sessions(), 0);
  }
}

TEST_F(RecoveryTest, IsAnErrorIfAThreadReportedEndOfInputBeforeTheSessionWasLost) {
  MonitoredSession session(creator(), {hook_}, options());
  hook_->coordinator->request_stop(std::make_exception_ptr(OutOfRangeError("a thread's")));
  hook_->after_failure = aborted();
  EXPECT_THAT([&] { run_in_scope(session, [&] { session.run(graph_.train()); }); },
              ThrowsMessage<OutOfRangeError>("a thread's"));
  EXPECT_EQ(hook_->num_errors, 1);
  EXPECT_EQ(hook_->num_ends, 0);
}

// The program took it for the end of its data.
TEST_F(RecoveryTest, ThrowsAgainAtCloseWhatTheProgramCaught) {
  MonitoredSession session(creator(), {hook_}, options());
  hook_->after_failure = aborted();
  hook_->creation_failure = std::make_exception_ptr(OutOfRangeError("no file to read"));
  EXPECT_THROW(session.run(graph_.train()), OutOfRangeError);
  EXPECT_TRUE(session.is_lost());
  EXPECT_TRUE(session.should_stop());
  EXPECT_THAT([&] { session.run(graph_.train()); },
              ThrowsMessage<FailedPreconditionError>(testing::HasSubstr("no file to read")));
  EXPECT_EQ(hook_->num_errors, 0);
  EXPECT_THAT([&] { session.close(); }, ThrowsMessage<OutOfRangeError>("no file to read"));
  EXPECT_EQ(hook_->num_errors, 1);
  EXPECT_NO_THROW(session.close());
}

TEST_F(RecoveryTest, LogsThatASessionWasDestroyedWithoutClose) {
  { MonitoredSession session(creator(), {hook_}, options()); }
  EXPECT_EQ(hook_->num_errors, 1);
  EXPECT_TRUE(log_.contains("destroyed without close()"));
}

TEST_F(RecoveryTest, KeepsARequestToStopThroughARecovery) {
  MonitoredSession session(creator(), {hook_}, options());
  hook_->stops_before_run = true;
  hook_->after_failure = aborted();
  session.run(graph_.train());
  EXPECT_EQ(session.num_recoveries(), 1);
  EXPECT_EQ(session.current_step(), 1);
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.stop_request()->who, "CountingHook");
  EXPECT_EQ(session.stop_request()->reason, "it is enough");
  session.close();
}

// Others made the steps, for example the workers of a cluster.
TEST_F(RecoveryTest, RepeatsTheRunIfTheTargetIsReachedMeanwhile) {
  hook_->last = 4;
  MonitoredSession session(creator(), {hook_}, options());
  hook_->before_failure = aborted();
  hook_->on_failure = [this] { save_step(6); };
  int num_runs = 0;
  run_in_scope(session, [&] {
    while (!session.should_stop()) {
      session.run(graph_.train());
      ++num_runs;
    }
  });
  EXPECT_EQ(num_runs, 1);
  EXPECT_EQ(session.current_step(), 7);
  EXPECT_EQ(hook_->num_ends, 1);
}

TEST_F(RecoveryTest, MakesNoRunIfTheTargetIsReachedBetweenTwoRuns) {
  hook_->last = 4;
  MonitoredSession session(creator(), {hook_}, options());
  save_step(6);
  hook_->coordinator->request_stop(aborted());
  EXPECT_TRUE(session.should_stop());
  EXPECT_THROW(session.run(graph_.train()), FailedPreconditionError);
  session.close();
}

TEST_F(RecoveryTest, RefusesANewRunAfterARequestThatARecoveryKept) {
  MonitoredSession session(creator(), {hook_}, options());
  session.request_stop("it is enough");
  hook_->coordinator->request_stop(aborted());
  EXPECT_TRUE(session.should_stop());
  EXPECT_THROW(session.run(graph_.train()), FailedPreconditionError);
  session.close();
}

// The program catches the error: what a hook requested remains.
TEST_F(RecoveryTest, KeepsARequestToStopOfARunThatFails) {
  MonitoredSession session(creator(), {hook_}, options());
  hook_->stops_before_run = true;
  hook_->after_failure = std::make_exception_ptr(DataLossError("a bad record"));
  EXPECT_THROW(session.run(graph_.train()), DataLossError);
  EXPECT_TRUE(session.should_stop());
  session.close();
  EXPECT_EQ(hook_->num_ends, 1);
}

TEST_F(RecoveryTest, KeepsAThreadsRequestToStopThroughARecovery) {
  MonitoredSession session(creator(), {hook_}, options());
  hook_->coordinator->request_stop({"a thread", "the queue is empty"});
  hook_->after_failure = aborted();
  session.run(graph_.train());
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.stop_request()->who, "a thread");
  session.close();
}

// MS-41: Cancelled, while a thread reports Aborted: that is a preemption.
TEST_F(RecoveryTest, RecoversIfAThreadReportedThePreemption) {
  MonitoredSession session(creator(), {hook_}, options());
  hook_->coordinator->request_stop(aborted());
  hook_->before_failure = std::make_exception_ptr(CancelledError("the consequence"));
  session.run(graph_.train());
  EXPECT_EQ(session.num_recoveries(), 1);
  EXPECT_FALSE(session.should_stop());
  session.close();
}

// Its thread fails and its first session is lost while it is created.
class LostAtCreationHook final : public SessionRunHook {
 public:
  void after_create_session(Session&, Coordinator& coordinator) override {
    if (++num_sessions_ > 1) return;
    coordinator.request_stop(std::make_exception_ptr(DataLossError("of the lost session")));
    throw AbortedError("preempted");
  }

 private:
  int num_sessions_ = 0;
};

TEST_F(RecoveryTest, ForgetsTheErrorOfAThreadOfASessionThatIsReplaced) {
  MonitoredSession session(creator(), {LostAtCreationHook()}, options());
  EXPECT_EQ(session.num_recoveries(), 1);
  EXPECT_THAT([&] { run_in_scope(session, [] { throw std::runtime_error("of the program"); }); },
              ThrowsMessage<std::runtime_error>("of the program"));
}

TEST_F(RecoveryTest, RecoversInShouldStop) {
  MonitoredSession session(creator(), {hook_}, options());
  hook_->coordinator->request_stop(aborted());
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(session.num_recoveries(), 1);
  session.close();
}

TEST_F(RecoveryTest, IgnoresThePreemptionOfAThreadAtClose) {
  MonitoredSession session(creator(), {hook_}, options());
  hook_->coordinator->request_stop(aborted());
  EXPECT_NO_THROW(session.close());
  EXPECT_EQ(hook_->num_ends, 1);
}

}  // namespace
}  // namespace crochet
