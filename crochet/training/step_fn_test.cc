// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::ThrowsMessage;

// Records its calls, makes a raw run after each run, fails once where the test asks for it.
class NotingHook final : public SessionRunHook {
 public:
  void after_create_session(Session&, Coordinator& of_session) override {
    coordinator = &of_session;
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override {
    calls.emplace_back("before_run");
    if (before_failure) std::rethrow_exception(std::exchange(before_failure, nullptr));
    return SessionRunArgs{.fetches = context.session().graph().output("loss")};
  }
  void after_run(SessionRunContext& context, const SessionRunValues& values) override {
    calls.emplace_back("after_run");
    losses.push_back(values.results.scalar<float>());
    context.session().run("accuracy");
    if (on_after_run) on_after_run(context);
  }

  std::function<void(SessionRunContext&)> on_after_run;
  Coordinator* coordinator = nullptr;
  std::exception_ptr before_failure;
  std::vector<std::string> calls;
  std::vector<float> losses;
};

class StepFnTest : public testing::Test {
 protected:
  StepFnTest() {
    graph_.value("loss", {Tensor::scalar(0.5f)});
    graph_.value("accuracy", {Tensor::scalar(0.75f)});
  }

  std::unique_ptr<SessionCreator> creator() {
    return std::make_unique<ChiefSessionCreator>(graph_);
  }
  MonitoredSession& session() {
    if (!session_) session_.emplace(creator(), HookList{hook_}, options_);
    return *session_;
  }
  std::vector<std::vector<std::string>> fetched() const {
    std::vector<std::vector<std::string>> fetched;
    for (const ScriptedRun& run : graph_.runs()) fetched.push_back(run.fetches);
    return fetched;
  }

  template <typename E>
  static std::exception_ptr error(const char* message) {
    return std::make_exception_ptr(E(message));
  }

  LogCapture log_;
  FakeClock clock_;
  ScriptedGraph graph_;
  std::shared_ptr<NotingHook> hook_ = std::make_shared<NotingHook>();
  MonitoredSessionOptions options_{.clock = &clock_};
  std::optional<MonitoredSession> session_;
};

// MS-77: the value computed with hooks is what it returns.
TEST_F(StepFnTest, ReturnsTheResultOfTheFunction) {
  EXPECT_EQ(session().run_step_fn([&](StepContext& context) {
    return context.run_with_hooks("accuracy").scalar<float>();
  }),
            0.75f);
  EXPECT_THAT(hook_->calls, ElementsAre("before_run", "after_run"));
  session().close();
}

// MS-81: any type is accepted, including void and a reference.
TEST_F(StepFnTest, ReturnsAnyType) {
  std::string text = "a text";
  EXPECT_EQ(
      session().run_step_fn([](StepContext&) { return std::make_unique<int>(3); }).operator*(), 3);
  EXPECT_EQ(&session().run_step_fn([&](StepContext&) -> std::string& { return text; }), &text);
  static_assert(std::is_void_v<decltype(session().run_step_fn([](StepContext&) {}))>);
  int calls = 0;
  session().run_step_fn([&](StepContext&) { ++calls; });
  EXPECT_EQ(calls, 1);
  session().close();
}

// MS-85: a raw run in the function, the merged run, a raw run by the hook.
TEST_F(StepFnTest, RunsWithAndWithoutHooks) {
  session();
  const size_t before = fetched().size();
  session().run_step_fn([&](StepContext& context) {
    context.session().run(graph_.train());
    context.run_with_hooks("global_step");
  });
  auto runs = fetched();
  runs.erase(runs.begin(), runs.begin() + static_cast<ptrdiff_t>(before));
  EXPECT_THAT(runs, ElementsAre(ElementsAre("train"), ElementsAre("global_step:0", "loss:0"),
                                ElementsAre("accuracy:0")));
  EXPECT_THAT(hook_->losses, ElementsAre(0.5f));
  session().close();
}

// MS-86: the same on a session that does not recover.
TEST_F(StepFnTest, RunsWithAndWithoutHooksWithoutRecovery) {
  SingularMonitoredSession singular(creator(), {hook_}, {.clock = &clock_});
  const int64_t step = singular.run_step_fn([&](StepContext& context) {
    EXPECT_EQ(&context.session(), singular.raw_session());
    context.session().run(graph_.train());
    return context.run_with_hooks("global_step").scalar<int64_t>();
  });
  EXPECT_EQ(step, 1);
  EXPECT_THAT(hook_->calls, ElementsAre("before_run", "after_run"));
  singular.close();
}

// MS-79 differs: the request ends the function and is kept.
TEST_F(StepFnTest, StopsTheLoopWithoutAScope) {
  EXPECT_THROW(
      session().run_step_fn([](StepContext& context) { context.request_stop("it is enough"); }),
      StopIteration);
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(session().stop_request()->who, "the program");
  EXPECT_EQ(session().stop_request()->reason, "it is enough");
  session().close();
}

// MS-80, MS-87: it ends the scope cleanly, and hooks are not called for that step.
TEST_F(StepFnTest, EndsItsScopeOnARequestToStop) {
  int num_steps = 0;
  run_in_scope(session(), [&] {
    while (!session().should_stop())
      session().run_step_fn([&](StepContext& context) {
        if (++num_steps == 3) context.request_stop();
      });
    ADD_FAILURE() << "the scope continues";
  });
  EXPECT_EQ(num_steps, 3);
  EXPECT_THAT(hook_->calls, IsEmpty());
  EXPECT_EQ(session().stop_request()->reason, "requested by the step function");
}

// MS-88: an abort in the function itself: it is called again.
TEST_F(StepFnTest, RecoversFromAnErrorOfTheFunction) {
  int num_calls = 0;
  const int result = session().run_step_fn([&](StepContext&) {
    if (++num_calls == 1) throw AbortedError("the worker is gone");
    return num_calls;
  });
  EXPECT_EQ(result, 2);
  EXPECT_EQ(session().num_recoveries(), 1);
  session().close();
}

// MS-89: also after a run with hooks; all of it is done twice.
TEST_F(StepFnTest, RepeatsTheWholeFunction) {
  int num_calls = 0;
  session().run_step_fn([&](StepContext& context) {
    ++num_calls;
    context.run_with_hooks(graph_.train());
    if (num_calls == 1) throw UnavailableError("the worker is gone");
  });
  EXPECT_EQ(num_calls, 2);
  EXPECT_THAT(hook_->calls, ElementsAre("before_run", "after_run", "before_run", "after_run"));
  EXPECT_EQ(session().current_step(), 1);
  session().close();
}

TEST_F(StepFnTest, RepeatsTheWholeFunctionAfterARequestToStop) {
  hook_->on_after_run = [this](SessionRunContext& context) {
    if (hook_->losses.size() != 2) return;
    context.request_stop("it is enough");
    throw AbortedError("the worker is gone");
  };
  run_in_scope(session(), [&] {
    while (!session().should_stop())
      session().run_step_fn([&](StepContext& context) {
        context.run_with_hooks(graph_.train());
        context.run_with_hooks(graph_.train());
        session().run(graph_.train());  // Part of the function, too.
      });
  });
  EXPECT_EQ(hook_->losses.size(), 5);
  EXPECT_EQ(session().stop_request()->reason, "it is enough");
}

TEST_F(StepFnTest, RefusesTheRunsAfterARequestInTheRepetition) {
  hook_->on_after_run = [this](SessionRunContext& context) {
    context.request_stop("it is enough");
    if (hook_->losses.size() == 1) throw AbortedError("the worker is gone");
  };
  EXPECT_THROW(session().run_step_fn([&](StepContext& context) {
    context.run_with_hooks(graph_.train());
    context.run_with_hooks(graph_.train());
  }),
               FailedPreconditionError);
  EXPECT_EQ(hook_->losses.size(), 2);
  session().close();
}

// MS-91: from before_run within the function.
TEST_F(StepFnTest, RecoversFromAnErrorOfAHook) {
  hook_->before_failure = error<AbortedError>("the worker is gone");
  int num_calls = 0;
  session().run_step_fn([&](StepContext& context) {
    ++num_calls;
    context.run_with_hooks(graph_.train());
  });
  EXPECT_EQ(num_calls, 2);
  session().close();
}

// MS-90: a session without recovery does not recover.
TEST_F(StepFnTest, PassesOnErrorsWithoutRecovery) {
  SingularMonitoredSession singular(creator(), {hook_}, {.clock = &clock_});
  int num_calls = 0;
  EXPECT_THROW(run_in_scope(singular,
                            [&] {
                              singular.run_step_fn([&](StepContext&) {
                                ++num_calls;
                                throw AbortedError("the worker is gone");
                              });
                            }),
               AbortedError);
  EXPECT_EQ(num_calls, 1);
  EXPECT_EQ(graph_.num_sessions(), 1);
}

// The second call gets the session that is open at that time.
TEST_F(StepFnTest, GetsTheNewSessionAfterARecovery) {
  int num_calls = 0;
  session().run_step_fn([&](StepContext& context) {
    context.session().run("accuracy");
    EXPECT_EQ(graph_.runs().back().session, num_calls);
    if (++num_calls < 3) throw AbortedError("the worker is gone");
  });
  EXPECT_EQ(num_calls, 3);
  EXPECT_EQ(graph_.num_open_sessions(), 1);
  session().close();
}

// MS-42, MS-45: a thread reports Aborted between two steps, with hooks or without.
TEST_F(StepFnTest, ContinuesAfterAThreadsPreemption) {
  session().run_step_fn([&](StepContext& context) { context.run_with_hooks(graph_.train()); });
  hook_->coordinator->request_stop(error<AbortedError>("a thread's"));
  EXPECT_FALSE(session().should_stop());
  EXPECT_EQ(graph_.num_sessions(), 2);
  session().run_step_fn([&](StepContext& context) { context.run_with_hooks(graph_.train()); });
  hook_->coordinator->request_stop(error<UnavailableError>("a thread's"));
  EXPECT_FALSE(session().should_stop());
  session().run_step_fn([&](StepContext& context) { context.session().run(graph_.train()); });
  EXPECT_EQ(graph_.runs().back().session, 2);
  session().close();
}

// MS-43: another error of a thread ends the loop, and is thrown by close.
TEST_F(StepFnTest, StopsOnAnotherErrorOfAThread) {
  session().run_step_fn([&](StepContext& context) { context.run_with_hooks(graph_.train()); });
  hook_->coordinator->request_stop(error<DataLossError>("a thread's"));
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(graph_.num_sessions(), 1);
  EXPECT_THAT([&] { session().close(); }, ThrowsMessage<DataLossError>("a thread's"));
}

// MS-44: Cancelled, while a thread reports Aborted: that is a preemption.
TEST_F(StepFnTest, RecoversIfAThreadReportedThePreemption) {
  session();
  hook_->coordinator->request_stop(error<AbortedError>("the cause"));
  hook_->before_failure = error<CancelledError>("the consequence");
  int num_calls = 0;
  session().run_step_fn([&](StepContext& context) {
    ++num_calls;
    context.run_with_hooks(graph_.train());
  });
  EXPECT_EQ(num_calls, 2);
  EXPECT_EQ(session().num_recoveries(), 1);
  session().close();
}

TEST_F(StepFnTest, FailsIfItDoesNotGetPastAStep) {
  options_.max_recoveries = 2;
  int num_calls = 0;
  const auto step = [&](StepContext& context) {
    ++num_calls;
    context.run_with_hooks(graph_.train());
    context.run_with_hooks(graph_.train());
    throw AbortedError("again");
  };
  EXPECT_THROW(session().run_step_fn(step), AbortedError);
  EXPECT_EQ(num_calls, 3);
  EXPECT_THROW(session().close(), AbortedError);
}

TEST_F(StepFnTest, RequiresAnOpenSession) {
  session().close();
  EXPECT_THROW(session().run_step_fn([](StepContext&) { FAIL() << "called"; }),
               FailedPreconditionError);
}

TEST_F(StepFnTest, HasNoSessionOnceClosedFromWithin) {
  session().run_step_fn([&](StepContext& context) {
    session().close();
    EXPECT_THROW(context.session(), FailedPreconditionError);
    EXPECT_THROW(context.run_with_hooks(graph_.train()), FailedPreconditionError);
  });
}

struct Model {
  float step_fn(StepContext& context) {
    ++calls;
    return context.run_with_hooks("loss").scalar<float>();
  }
  int calls = 0;
};

TEST_F(StepFnTest, AcceptsAMemberFunction) {
  Model model;
  EXPECT_EQ(session().run_step_fn(&Model::step_fn, model), 0.5f);
  EXPECT_EQ(model.calls, 1);
}

}  // namespace
}  // namespace crochet
