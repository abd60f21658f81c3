// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/monitored_session.h"

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/allocation_counter.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/coordinator.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// Records its calls; throws where the test asks for it.
class DiaryHook final : public SessionRunHook {
 public:
  using Diary = std::vector<std::string>;

  DiaryHook(std::string called, Diary& diary) : called_(std::move(called)), diary_(diary) {}

  void begin(Graph&) override { note("begin"); }
  void after_create_session(Session&, Coordinator& coordinator) override {
    coordinator_ = &coordinator;
    note("after_create_session");
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    note("before_run");
    return std::nullopt;
  }
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    note("after_run");
    if (stops) context.request_stop("it is enough");
  }
  void end(Session& session) override {
    note("end");
    EXPECT_NO_THROW(read_global_step(session));  // It is still open.
  }
  void on_error(std::exception_ptr error) override {
    errors.push_back(describe(error));
    note("on_error");
  }
  std::optional<int64_t> last_step() const override { return last; }
  HookPlace place() const override { return where; }
  std::string name() const override { return called_; }

  Coordinator& coordinator() { return *coordinator_; }

  std::string throws_in;
  bool stops = false;
  std::optional<int64_t> last;
  HookPlace where = HookPlace::kAsGiven;
  std::vector<std::string> errors;

 private:
  void note(const std::string& call) {
    diary_.push_back(called_ + " " + call);
    if (throws_in == call) throw DataLossError(fmt::format("{}: {}", called_, call));
  }

  const std::string called_;
  Diary& diary_;
  Coordinator* coordinator_ = nullptr;
};

class MonitoredSessionTest : public testing::Test {
 protected:
  std::unique_ptr<ChiefSessionCreator> creator() {
    return std::make_unique<ChiefSessionCreator>(graph_);
  }
  HookList both() { return {first_, second_}; }

  ScriptedGraph graph_;
  DiaryHook::Diary diary_;
  std::shared_ptr<DiaryHook> first_ = std::make_shared<DiaryHook>("First", diary_);
  std::shared_ptr<DiaryHook> second_ = std::make_shared<DiaryHook>("Second", diary_);
  LogCapture log_;
};

TEST_F(MonitoredSessionTest, CallsHooksInTheirOrder) {
  MonitoredSession session(creator(), both());
  EXPECT_THAT(diary_, ElementsAre("First begin", "Second begin", "First after_create_session",
                                  "Second after_create_session"));
  diary_.clear();
  session.run(graph_.train());
  EXPECT_THAT(diary_, ElementsAre("First before_run", "Second before_run", "First after_run",
                                  "Second after_run"));
  diary_.clear();
  session.close();
  EXPECT_THAT(diary_, ElementsAre("First end", "Second end"));
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

// MS-56: a default session initialises the variables.
TEST_F(MonitoredSessionTest, InitialisesVariables) {
  ScriptedGraph graph({.global_step = 7, .starts_initialized = false});
  MonitoredSession session(graph);
  EXPECT_EQ(session.run("global_step").scalar<int64_t>(), 7);
  session.close();
}

TEST_F(MonitoredSessionTest, NeedsNoHooks) {
  MonitoredSession session(graph_);
  EXPECT_EQ(session.run("global_step").scalar<int64_t>(), 0);
  EXPECT_FALSE(session.should_stop());
  session.close();
}

// MS-71: the graph is the one that was launched.
TEST_F(MonitoredSessionTest, ReportsItsGraphAndSteps) {
  MonitoredSession session(creator(), {});
  EXPECT_EQ(&session.graph(), &graph_);
  EXPECT_EQ(session.first_step(), 0);
  session.run(graph_.train());
  EXPECT_EQ(session.current_step(), 1);
  session.close();
  EXPECT_EQ(session.current_step(), 1);
}

TEST_F(MonitoredSessionTest, ReportsNoStepsIfTheGraphCountsNone) {
  ScriptedGraph graph({.counts_steps = false});
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph), {});
  session.run(graph.train());
  EXPECT_EQ(session.first_step(), std::nullopt);
  EXPECT_EQ(session.current_step(), std::nullopt);
  session.close();
}

TEST_F(MonitoredSessionTest, StopsWhenAHookAsks) {
  second_->stops = true;
  MonitoredSession session(creator(), both());
  EXPECT_EQ(session.stop_request(), std::nullopt);
  session.run(graph_.train());
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.stop_request()->who, "Second");
  EXPECT_EQ(session.stop_request()->reason, "it is enough");
  EXPECT_THROW(session.run(graph_.train()), FailedPreconditionError);
  session.close();
  EXPECT_EQ(session.stop_request()->who, "Second");
}

TEST_F(MonitoredSessionTest, StopsWhenTheProgramAsks) {
  MonitoredSession session(creator(), both());
  session.request_stop("the user is bored");
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.stop_request()->who, "the program");
  session.request_stop("another reason");
  EXPECT_EQ(session.stop_request()->reason, "the user is bored");
  session.close();
}

TEST_F(MonitoredSessionTest, StopsWhenTheCoordinatorIsAsked) {
  MonitoredSession session(creator(), both());
  first_->coordinator().request_stop({"a thread", "the queue is empty"});
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.stop_request()->who, "a thread");
  session.run(graph_.train());  // A coordinator's stop does not forbid runs.
  session.close();
  EXPECT_TRUE(log_.contains("a thread requested a stop: the queue is empty"));
  EXPECT_EQ(session.stop_request()->who, "a thread");
}

TEST_F(MonitoredSessionTest, StopsAndThrowsFromCloseOnAnErrorOfAThread) {
  MonitoredSession session(creator(), both());
  first_->coordinator().request_stop(std::make_exception_ptr(DataLossError("a thread's")));
  EXPECT_TRUE(session.should_stop());
  EXPECT_THAT([&] { session.close(); }, ThrowsMessage<DataLossError>("a thread's"));
  EXPECT_THAT(diary_, testing::Contains("Second end"));
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

TEST_F(MonitoredSessionTest, MakesNoStepIfAHooksLastStepHasBeenReached) {
  ScriptedGraph graph({.global_step = 5});
  second_->last = 5;
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph), both());
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.stop_request()->who, "Second");
  EXPECT_THAT(session.stop_request()->reason, HasSubstr("step 5"));
  session.close();
  EXPECT_THAT(diary_, ElementsAre("First begin", "Second begin", "First after_create_session",
                                  "Second after_create_session", "First end", "Second end"));
}

TEST_F(MonitoredSessionTest, ContinuesIfALastStepIsAhead) {
  second_->last = 1;
  MonitoredSession session(creator(), both());
  EXPECT_FALSE(session.should_stop());
  session.close();
}

TEST_F(MonitoredSessionTest, EndsAllHooksIfOneThrows) {
  first_->throws_in = "end";
  second_->throws_in = "end";
  MonitoredSession session(creator(), both());
  diary_.clear();
  EXPECT_THAT([&] { session.close(); }, ThrowsMessage<DataLossError>("First: end"));
  EXPECT_THAT(diary_, ElementsAre("First end", "Second end"));
  EXPECT_TRUE(log_.contains("Second: end"));
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

// MS-76 differs: a second close does nothing.
TEST_F(MonitoredSessionTest, ClosesOnce) {
  MonitoredSession session(creator(), both());
  session.close();
  diary_.clear();
  session.close();
  session.abort(std::make_exception_ptr(DataLossError("late")));
  EXPECT_THAT(diary_, IsEmpty());
  EXPECT_TRUE(session.should_stop());
  EXPECT_THROW(session.run(graph_.train()), FailedPreconditionError);
}

TEST_F(MonitoredSessionTest, CallsOnErrorOfAllHooksIfTheRunFails) {
  first_->throws_in = "on_error";
  MonitoredSession session(creator(), both());
  diary_.clear();
  session.abort(std::make_exception_ptr(DataLossError("gone")));
  EXPECT_THAT(diary_, ElementsAre("First on_error", "Second on_error"));
  EXPECT_THAT(second_->errors, ElementsAre("gone"));
  EXPECT_TRUE(log_.contains("First: on_error"));
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

TEST_F(MonitoredSessionTest, CallsOnErrorIfDestroyedWhileOpen) {
  { const MonitoredSession session(creator(), both()); }
  EXPECT_THAT(diary_, testing::Contains("First on_error"));
  EXPECT_THAT(diary_, testing::Not(testing::Contains("First end")));
  EXPECT_EQ(graph_.num_open_sessions(), 0);
  EXPECT_FALSE(graph_.finalized());
}

TEST_F(MonitoredSessionTest, CallsOnErrorOnlyOfHooksThatBegan) {
  second_->throws_in = "begin";
  EXPECT_THAT([&] { MonitoredSession(creator(), both()); },
              ThrowsMessage<DataLossError>("Second: begin"));
  diary_.clear();
  EXPECT_THROW(MonitoredSession(creator(), both()), DataLossError);
  EXPECT_THAT(diary_, ElementsAre("First begin", "Second begin", "First on_error"));
  EXPECT_EQ(graph_.num_sessions(), 0);
  EXPECT_FALSE(graph_.finalized());
}

TEST_F(MonitoredSessionTest, CallsOnErrorIfNoSessionCanBeCreated) {
  graph_.fail_session(0, NotFoundError("no such machine"));
  EXPECT_THROW(MonitoredSession(creator(), both()), NotFoundError);
  EXPECT_THAT(diary_,
              ElementsAre("First begin", "Second begin", "First on_error", "Second on_error"));
  EXPECT_THAT(first_->errors, ElementsAre("no such machine"));
}

TEST_F(MonitoredSessionTest, CallsOnErrorIfAfterCreateSessionThrows) {
  first_->throws_in = "after_create_session";
  EXPECT_THROW(MonitoredSession(creator(), both()), DataLossError);
  EXPECT_THAT(diary_, ElementsAre("First begin", "Second begin", "First after_create_session",
                                  "First on_error", "Second on_error"));
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

// MS-72: the graph is final while the session exists, and editable again afterwards.
TEST_F(MonitoredSessionTest, MakesTheGraphFinalWhileItExists) {
  MonitoredSession session(creator(), both());
  EXPECT_TRUE(graph_.finalized());
  session.close();
  EXPECT_FALSE(graph_.finalized());
  graph_.value("more", {Tensor::scalar(1.0f)});
}

// MS-73: a graph that was final before stays final.
TEST_F(MonitoredSessionTest, LeavesAFinalGraphFinal) {
  graph_.finalize();
  MonitoredSession session(creator(), both());
  session.close();
  EXPECT_TRUE(graph_.finalized());
}

TEST_F(MonitoredSessionTest, WarnsOfHooksAfterASaver) {
  first_->where = HookPlace::kSaver;
  MonitoredSession session(creator(), both());
  EXPECT_TRUE(log_.contains("Second comes after a hook that saves"));
  session.close();
}

// MS-69: a body that ends normally ends the hooks and closes.
TEST_F(MonitoredSessionTest, IsClosedByItsScope) {
  MonitoredSession session(creator(), both());
  run_in_scope(session, [&] { session.run(graph_.train()); });
  EXPECT_THAT(diary_, testing::Contains("Second end"));
  EXPECT_TRUE(session.should_stop());
}

// MS-64, MS-65: the end of the data ends the scope cleanly.
TEST_F(MonitoredSessionTest, EndsCleanlyWhenTheDataEnds) {
  for (const auto& body : std::vector<std::function<void()>>{
           [] { throw OutOfRangeError("no more batches"); }, [] { throw StopIteration(); }}) {
    diary_.clear();
    MonitoredSession session(creator(), both());
    run_in_scope(session, body);
    EXPECT_THAT(diary_, testing::Contains("Second end"));
    EXPECT_EQ(session.stop_request()->who, "the program");
    EXPECT_EQ(session.stop_request()->reason, "the data ended");
  }
}

TEST_F(MonitoredSessionTest, ThrowsAnErrorOfAHooksEndWhenTheDataEnds) {
  first_->throws_in = "end";
  MonitoredSession session(creator(), both());
  EXPECT_THROW(run_in_scope(session, [] { throw StopIteration(); }), DataLossError);
}

// MS-66, MS-70: any other error leaves the scope; no end, but on_error.
TEST_F(MonitoredSessionTest, PassesOtherErrorsOutOfItsScope) {
  struct UsersError {};
  MonitoredSession session(creator(), both());
  EXPECT_THROW(run_in_scope(session, [] { throw UsersError(); }), UsersError);
  EXPECT_THAT(diary_, testing::Not(testing::Contains("First end")));
  EXPECT_THAT(diary_, testing::Contains("Second on_error"));
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

// MS-68: an error reported by a thread: should_stop is true, and the scope throws it as it ends.
TEST_F(MonitoredSessionTest, PassesAnErrorOfAThreadOutOfItsScope) {
  MonitoredSession session(creator(), both());
  const auto body = [&] {
    session.run(graph_.train());
    EXPECT_FALSE(session.should_stop());
    first_->coordinator().request_stop(std::make_exception_ptr(DataLossError("a thread's")));
    EXPECT_TRUE(session.should_stop());
  };
  EXPECT_THAT([&] { run_in_scope(session, body); }, ThrowsMessage<DataLossError>("a thread's"));
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

TEST_F(MonitoredSessionTest, PassesAnErrorOfAHookOutOfItsScope) {
  second_->throws_in = "after_run";
  MonitoredSession session(creator(), both());
  EXPECT_THROW(run_in_scope(session, [&] { session.run(graph_.train()); }), DataLossError);
  EXPECT_THAT(first_->errors, ElementsAre("Second: after_run"));
}

TEST_F(MonitoredSessionTest, JoinsTheThreadsOfItsHooksOnClose) {
  MonitoredSession session(creator(), {first_});
  Coordinator& coordinator = first_->coordinator();
  const auto thread = coordinator.start_thread("reader", [&] { coordinator.wait_for_stop(); });
  session.run(graph_.train());
  EXPECT_FALSE(thread->has_ended());
  session.close();
  EXPECT_TRUE(thread->has_ended());
}

TEST_F(MonitoredSessionTest, TreatsTheEndOfAThreadsDataAsAnError) {
  MonitoredSession session(creator(), {first_});
  first_->coordinator().start_thread("reader", [] { throw OutOfRangeError("no more"); })->wait();
  EXPECT_TRUE(session.should_stop());
  EXPECT_THROW(session.close(), OutOfRangeError);
}

// The engine's session is closed before the wait for a straggler: closing it may end the straggler.
TEST_F(MonitoredSessionTest, WaitsForStragglersAfterClosingTheSession) {
  FakeClock clock;
  std::atomic<bool> closed = false;
  std::shared_ptr<CoordinatedThread> thread;
  {
    MonitoredSession session(creator(), {first_}, {.stop_grace_period_secs = 3, .clock = &clock});
    thread = first_->coordinator().start_thread("straggler", [&] {
      wait_until("the session to close", [&] { return graph_.num_open_sessions() == 0; });
      closed = true;
    });
    session.close();
  }
  EXPECT_THAT(clock.sleeps(), ElementsAre(std::chrono::seconds(3)));
  EXPECT_TRUE(log_.contains("threads still running after the stop: straggler"));
  EXPECT_TRUE(thread->has_ended());
  EXPECT_TRUE(closed);
}

TEST_F(MonitoredSessionTest, StopsThreadsIfAHookFailsDuringCreation) {
  class ThreadHook final : public SessionRunHook {
   public:
    void after_create_session(Session&, Coordinator& coordinator) override {
      thread = coordinator.start_thread("reader", [&] { coordinator.wait_for_stop(); });
      throw DataLossError("no reader without data");
    }
    std::shared_ptr<CoordinatedThread> thread;
  };
  const auto hook = std::make_shared<ThreadHook>();
  EXPECT_THROW(MonitoredSession(creator(), {hook}), DataLossError);
  EXPECT_TRUE(hook->thread->has_ended());
}

TEST_F(MonitoredSessionTest, RejectsANegativeGracePeriod) {
  EXPECT_THROW(MonitoredSession(creator(), {}, {.stop_grace_period_secs = -1}),
               InvalidArgumentError);
}

// D8: as in Python, where the `with` is left with the error thrown by the coordinator's join.
TEST_F(MonitoredSessionTest, ThrowsTheErrorOfAThreadIfItsScopeThrowsToo) {
  MonitoredSession session(creator(), both());
  const auto run = [&] {
    run_in_scope(session, [&] {
      first_->coordinator().request_stop(std::make_exception_ptr(DataLossError("the cause")));
      throw std::runtime_error("a consequence");
    });
  };
  EXPECT_THAT(run, ThrowsMessage<DataLossError>("the cause"));
  EXPECT_THAT(second_->errors, ElementsAre("the cause"));
  EXPECT_TRUE(log_.contains("after the error of a thread: a consequence"));
}

TEST_F(MonitoredSessionTest, FailsWithTheErrorOfAThreadThatCancelledTheRun) {
  MonitoredSession session(creator(), both());
  graph_.fail_run(graph_.num_runs(), CancelledError("the queue is closed"));
  const auto run = [&] {
    run_in_scope(session, [&] {
      first_->coordinator().request_stop(std::make_exception_ptr(DataLossError("a bad record")));
      session.run(graph_.train());
    });
  };
  EXPECT_THAT(run, ThrowsMessage<DataLossError>("a bad record"));
}

TEST_F(MonitoredSessionTest, FailsWithItsOwnErrorIfAThreadReportsOneAtTheJoin) {
  MonitoredSession session(creator(), both());
  first_->coordinator().start_thread("late", [this] {
    first_->coordinator().wait_for_stop();
    throw DataLossError("the cause");
  });
  // This thread requested the stop; as always, errors reported after it are only logged.
  EXPECT_THAT([&] { run_in_scope(session, [] { throw std::runtime_error("mine"); }); },
              testing::ThrowsMessage<std::runtime_error>("mine"));
  EXPECT_TRUE(log_.contains("the cause"));
}

TEST_F(MonitoredSessionTest, KeepsItsScopesErrorIfAThreadReportedAPreemption) {
  MonitoredSession session(creator(), both());
  const auto run = [&] {
    run_in_scope(session, [&] {
      first_->coordinator().request_stop(std::make_exception_ptr(AbortedError("preempted")));
      throw std::runtime_error("mine");
    });
  };
  EXPECT_THAT(run, testing::ThrowsMessage<std::runtime_error>("mine"));
}

TEST_F(MonitoredSessionTest, FailsWithTheErrorOfAThreadIfAHookFailsDuringCreation) {
  class FailingHook final : public SessionRunHook {
    void after_create_session(Session&, Coordinator& coordinator) override {
      coordinator.request_stop(std::make_exception_ptr(DataLossError("the cause")));
      throw CancelledError("a consequence");
    }
  };
  EXPECT_THAT(
      [&] {
        MonitoredSession(creator(), {FailingHook(), first_});
      },
      ThrowsMessage<DataLossError>("the cause"));
  EXPECT_THAT(first_->errors, ElementsAre("the cause"));
}

// Notes whether on_error was called.
class ToldHook final : public SessionRunHook {
 public:
  explicit ToldHook(bool& told) : told_(told) {}
  void on_error(std::exception_ptr) override { told_ = true; }

 private:
  bool& told_;
};

// Calls `end` with a session once for each allocation that it makes, which fails then, alone or
// with many that follow. Expects that the hooks are notified.
void end_without_memory(const std::function<std::unique_ptr<SessionCreator>()>& creator,
                        const std::function<void(std::unique_ptr<MonitoredSession>)>& end) {
  constexpr std::array<int64_t, 3> kLengths = {1, 40, 1000};
  for (const int64_t length : kLengths) {
    for (int64_t first = 0, count = 1; first < count; ++first) {
      bool told = false;
      std::latch begun(1), short_of_memory(1), ended(1), over(1);
      std::thread program([&] {
        auto session = std::make_unique<MonitoredSession>(
            creator(), HookList{std::make_shared<ToldHook>(told)});
        begun.count_down();
        short_of_memory.wait();
        end(std::move(session));
        ended.count_down();
        over.wait();
      });
      begun.wait();
      {
        const FailingAllocations failing(first, length);
        short_of_memory.count_down();
        ended.wait();
        count = failing.count();
      }
      over.count_down();
      program.join();
      EXPECT_TRUE(told) << first;
      ASSERT_LT(first, 5000);
    }
  }
}

TEST_F(MonitoredSessionTest, AnAbortSurvivesFailedAllocations) {
  const auto error = std::make_exception_ptr(DataLossError("gone"));
  end_without_memory([this] { return creator(); },
                     [&](std::unique_ptr<MonitoredSession> session) {
                       EXPECT_TRUE(session->abort(error) == error);
                     });
}

TEST_F(MonitoredSessionTest, ADestructionSurvivesFailedAllocations) {
  end_without_memory([this] { return creator(); },
                     [](std::unique_ptr<MonitoredSession> session) { session.reset(); });
}

}  // namespace
}  // namespace crochet
