// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A callback may call every public function of the object that called it: the call returns or
// throws a FailedPreconditionError, and the run continues as if nothing had been called. A deadlock
// or a destroyed session would fail the test itself.
#include <algorithm>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/early_stopping_hook.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/training/coordinator.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::UnorderedElementsAre;

constexpr int64_t kSteps = 12;

// Records for each callback the functions that refused its call.
class Refusals {
 public:
  // Makes a call that may be refused but must not fail otherwise.
  void attempt(const std::string& function, const std::function<void()>& call) {
    try {
      call();
    } catch (const FailedPreconditionError&) {
      refused_[callback_].insert(function);
    }
  }
  // Calls `calls` on behalf of a callback, unless one is being served: `calls` may cause callbacks.
  void in(const std::string& callback, const std::function<void()>& calls) {
    if (!callback_.empty()) return;
    callback_ = callback;
    ++num_calls_[callback];
    calls();
    callback_.clear();
  }

  std::set<std::string> callbacks() const {
    std::set<std::string> names;
    for (const auto& [name, number] : num_calls_) names.insert(name);
    return names;
  }
  const std::set<std::string>& of(const std::string& callback) { return refused_[callback]; }

 private:
  std::string callback_;
  std::map<std::string, int> num_calls_;
  std::map<std::string, std::set<std::string>> refused_;
};

// An object that saves itself, and calls back.
class CallingSaveable final : public Saveable {
 public:
  explicit CallingSaveable(std::function<void(const std::string&)> call) : call_(std::move(call)) {}
  TensorMap save() const override {
    call_("save");
    return {{"", Tensor::scalar<int64_t>(1)}};
  }
  void restore(const TensorMap&) override { call_("restore"); }

 private:
  std::function<void(const std::string&)> call_;
};

// Calls back from every function of a hook.
class CallingHook final : public SessionRunHook {
 public:
  using Callback = std::function<void(const std::string& name, Session* session,
                                      Coordinator* coordinator, SessionRunContext* context)>;

  explicit CallingHook(Callback callback) : callback_(std::move(callback)) {}

  void begin(Graph&) override { call("begin"); }
  void after_create_session(Session& session, Coordinator& coordinator) override {
    coordinator_ = &coordinator;
    call("after_create_session", &session);
  }
  std::optional<SessionRunArgs> before_run(SessionRunContext& context) override {
    call("before_run", &context.session(), &context);
    return std::nullopt;
  }
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    call("after_run", &context.session(), &context);
  }
  void end(Session& session) override { call("end", &session); }
  void on_error(std::exception_ptr) override { call("on_error"); }
  SaveableMap saveables() override {
    call("saveables");
    return {{"object", std::make_shared<CallingSaveable>(
                           [this](const std::string& name) { call("hook's " + name); })}};
  }
  std::optional<int64_t> last_step() const override {
    call("last_step");
    return std::nullopt;
  }
  std::string name() const override { return "CallingHook"; }

 private:
  void call(const std::string& name, Session* session = nullptr,
            SessionRunContext* context = nullptr) const {
    callback_(name, session, coordinator_, context);
  }

  Callback callback_;
  Coordinator* coordinator_ = nullptr;
};

class CallingListener final : public CheckpointSaverListener {
 public:
  explicit CallingListener(std::function<void(const std::string&, Session&)> call)
      : call_(std::move(call)) {}
  void begin() override {}
  void before_save(Session& session, int64_t) override { call_("before_save", session); }
  bool after_save(Session& session, int64_t) override {
    call_("after_save", session);
    return false;
  }
  void end(Session& session, int64_t) override { call_("listener's end", session); }

 private:
  std::function<void(const std::string&, Session&)> call_;
};

class ReentryTest : public testing::Test {
 protected:
  // Every function of an engine's session.
  void call(Session& session) {
    Refusals& of = refusals_;
    of.attempt("Session::graph", [&] { session.graph().operation_names(); });
    of.attempt("Session::target", [&] { session.target(); });
    of.attempt("Session::run", [&] { session.run("global_step"); });
    of.attempt("Session::snapshot", [&] { session.snapshot(session.graph().variables()); });
    of.attempt("Session::read_variable", [&] { session.read_variable("global_step"); });
    of.attempt("Session::assign_variable", [&] {
      session.assign_variable("global_step", session.read_variable("global_step"));
    });
    of.attempt("read_global_step", [&] { read_global_step(session); });
  }
  void call(Coordinator& coordinator) {
    Refusals& of = refusals_;
    of.attempt("Coordinator::should_stop", [&] { coordinator.should_stop(); });
    of.attempt("Coordinator::wait_for_stop", [&] { coordinator.wait_for_stop({}); });
    of.attempt("Coordinator::stop_token", [&] { coordinator.stop_token(); });
    of.attempt("Coordinator::stop_request", [&] { coordinator.stop_request(); });
    of.attempt("Coordinator::raise", [&] { coordinator.raise_requested_exception(); });
    of.attempt("Coordinator::stop_on_exception",
               [&] { coordinator.stop_on_exception([&] { coordinator.joined(); }); });
    of.attempt("Coordinator::start_thread", [&] {
      coordinator.start_thread("short", [&] { coordinator.should_stop(); })->wait();
    });
  }
  void call(SessionRunContext& context) {
    Refusals& of = refusals_;
    of.attempt("SessionRunContext", [&] {
      context.original_args();
      context.last_step();
      context.stop_requested();
      context.stop_request();
      context.step_rejected();
    });
  }

  MemoryFileSystem files_;
  FakeClock clock_;
  LogCapture log_;
  Refusals refusals_;
};

// Every function of a MonitoredSession from every callback of a run, a recovery and its end.
TEST_F(ReentryTest, OfAMonitoredSession) {
  local::Graph graph;
  std::unique_ptr<MonitoredSession> session;
  const auto call_session = [&] {
    if (!session) return;  // Still being created.
    Refusals& of = refusals_;
    of.attempt("graph", [&] { session->graph().collection_names(); });
    of.attempt("run", [&] { session->run("global_step"); });
    of.attempt("run_step_fn", [&] {
      session->run_step_fn([](StepContext& context) { context.run_with_hooks("global_step"); });
    });
    of.attempt("should_stop", [&] { EXPECT_FALSE(session->should_stop()); });
    of.attempt("close", [&] { session->close(); });
    of.attempt("abort", [&] { session->abort(std::make_exception_ptr(DataLossError("x"))); });
    of.attempt("stop_request", [&] { session->stop_request(); });
    of.attempt("num_recoveries", [&] { session->num_recoveries(); });
    of.attempt("first_step", [&] { session->first_step(); });
    of.attempt("current_step", [&] { session->current_step(); });
  };
  int failures = 2;
  const auto add = [&](const std::string& name, std::vector<Output> after, bool fails) {
    return graph.op(name,
                    [&, name, fails] {
                      refusals_.in(name, call_session);
                      if (fails && failures-- == 1) throw AbortedError("lost");
                    },
                    {.control_inputs = std::move(after)});
  };
  const Output operation = add("operation", {}, true);
  const Operation train = graph.increment_global_step({operation});
  const auto hook =
      std::make_shared<CallingHook>([&](const std::string& name, Session* engine,
                                        Coordinator* coordinator, SessionRunContext* context) {
        refusals_.in(name, [&] {
          call_session();
          if (engine != nullptr) call(*engine);
          if (coordinator != nullptr) call(*coordinator);
          if (context != nullptr) call(*context);
        });
      });
  session = std::make_unique<MonitoredSession>(
      std::make_unique<ChiefSessionCreator>(graph), HookList{hook},
      MonitoredSessionOptions{.can_recover =
                                  [&] {
                                    refusals_.in("can_recover", call_session);
                                    return true;
                                  },
                              .clock = &clock_});
  for (int64_t step = 0; step < kSteps; ++step) session->run(train);
  EXPECT_EQ(session->num_recoveries(), 1);
  session->close();
  EXPECT_THAT(refusals_.callbacks(),
              UnorderedElementsAre("after_create_session", "after_run", "before_run", "begin",
                                   "can_recover", "end", "last_step", "operation", "saveables"));
  for (const std::string callback :
       {"operation", "after_create_session", "before_run", "after_run", "end", "can_recover"}) {
    EXPECT_THAT(refusals_.of(callback), Contains("run")) << callback;
    EXPECT_THAT(refusals_.of(callback), Contains("run_step_fn")) << callback;
    EXPECT_THAT(refusals_.of(callback), Contains("close")) << callback;
  }
  for (const std::string callback : {"after_create_session", "before_run", "after_run", "end"})
    EXPECT_THAT(refusals_.of(callback), UnorderedElementsAre("run", "run_step_fn", "close"))
        << callback;
  EXPECT_TRUE(log_.contains("abort was called from within run"));
}

// From a hook's on_error, too.
TEST_F(ReentryTest, OfAMonitoredSessionThatFails) {
  local::Graph graph;
  const Operation train = graph.increment_global_step();
  std::unique_ptr<MonitoredSession> session;
  const auto hook = std::make_shared<CallingHook>(
      [&](const std::string& name, Session*, Coordinator* coordinator, SessionRunContext*) {
        if (name != "on_error") return;
        refusals_.in(name, [&] {
          refusals_.attempt("run", [&] { session->run(train); });
          refusals_.attempt("close", [&] { session->close(); });
          session->abort(std::make_exception_ptr(DataLossError("another")));
          session->request_stop("enough");
          session->should_stop();
          session->current_step();
          call(*coordinator);
        });
      });
  session = std::make_unique<MonitoredSession>(std::make_unique<ChiefSessionCreator>(graph),
                                               HookList{hook});
  EXPECT_THROW(run_in_scope(*session, [] { throw DataLossError("first"); }), DataLossError);
  EXPECT_THAT(refusals_.of("on_error"), UnorderedElementsAre("run", "close"));
}

// Every function of a Loop, and of the engine's session if there is one, from every callback.
TEST_F(ReentryTest, OfALoop) {
  Loop* loop = nullptr;
  const auto call_loop = [&] {
    Refusals& of = refusals_;
    int64_t number = 0;
    of.attempt("track", [&] { loop->track("more", number); });
    of.attempt("scalar", [&] { loop->scalar("more", [] { return 1.0f; }); });
    of.attempt("histogram", [&] { loop->histogram("more", [] { return 1.0f; }); });
    of.attempt("text", [&] { loop->text("more", [] { return std::string(); }); });
    of.attempt("value", [&] { loop->value("more", [] { return 1.0f; }); });
    of.attempt("average", [&] { loop->average("more", [] { return 1.0f; }); });
    of.attempt("save", [&] { loop->save(); });
    of.attempt("add_hook", [&] { loop->add_hook(StopAtStepHook({.last_step = 1})); });
    of.attempt("restore", [&] { loop->restore(); });
    of.attempt("run", [&] { loop->run([] {}); });
  };
  const std::set<std::string> all = {"track",   "scalar", "histogram", "text",    "value",
                                     "average", "save",   "add_hook",  "restore", "run"};
  const auto call_both = [&](const std::string& name, Session* engine, Coordinator* coordinator,
                             SessionRunContext* context) {
    refusals_.in(name, [&] {
      call_loop();
      if (engine != nullptr) call(*engine);
      if (coordinator != nullptr) call(*coordinator);
      if (context != nullptr) call(*context);
    });
  };
  const auto program = [&](bool restores, int64_t last_step) {
    std::vector<int64_t> array(100);
    CallingSaveable object(
        [&](const std::string& name) { refusals_.in("object's " + name, [&] { call_loop(); }); });
    EvaluationHook evaluation({.every_n_steps = 2, .evaluate = [&](Session& session) {
                                 call_both("evaluate", &session, nullptr, nullptr);
                                 return Metrics{{"accuracy", 1.0}};
                               }});
    MetricSource source = evaluation.metric("accuracy");
    source.newest = [&, newest = source.newest] {
      call_both("newest", nullptr, nullptr, nullptr);
      return newest();
    };
    Loop with(
        {.checkpoint = {.dir = "run",
                        .every_steps = 2,
                        .listeners = {std::make_shared<CallingListener>(
                            [&](const std::string& name, Session& session) {
                              call_both(name, &session, nullptr, nullptr);
                            })},
                        .saving = {.metrics = {source}}},
         .summaries = {.every_steps = 2},
         .hooks = {std::make_shared<CallingHook>(call_both),
                   every({.steps = 2}, "loss",
                         [&](int64_t, float) { call_both("every", nullptr, nullptr, nullptr); }),
                   at_end("loss", [&](float) { call_both("at_end", nullptr, nullptr, nullptr); }),
                   LoggingTensorHook({.tensors = {"loss"},
                                      .every_n_iter = 2,
                                      .formatter =
                                          [&](const TensorMap&) {
                                            call_both("formatter", nullptr, nullptr, nullptr);
                                            return std::string();
                                          }}),
                   std::move(evaluation), stop_if_lower_hook(source, 0.5),
                   StopAtStepHook({.last_step = last_step})},
         .files = &files_,
         .clock = &clock_});
    loop = &with;
    with.track("object", object);
    with.track("array", array);
    with.scalar("loss", [&] {
      call_both("scalar", nullptr, nullptr, nullptr);
      return 1.0f;
    });
    if (restores) {
      EXPECT_EQ(with.restore(), last_step - kSteps);
    }
    const RunReport report =
        with.run([&](Step&) { call_both("compute", nullptr, nullptr, nullptr); },
                 [&](Step& step) {
                   call_both("update", nullptr, nullptr, nullptr);
                   std::ranges::fill(array, step.number());
                 });
    EXPECT_EQ(report.last_step, last_step);
    EXPECT_EQ(array[99], last_step);
  };
  program(false, kSteps);
  program(true, 2 * kSteps);
  EXPECT_THAT(refusals_.callbacks(),
              UnorderedElementsAre(
                  "after_create_session", "after_run", "after_save", "at_end", "before_run",
                  "before_save", "begin", "compute", "end", "evaluate", "every", "formatter",
                  "hook's restore", "hook's save", "last_step", "listener's end", "newest",
                  "object's restore", "object's save", "saveables", "scalar", "update"));
  for (const std::string& callback : refusals_.callbacks())
    EXPECT_EQ(refusals_.of(callback), all) << callback;
}

}  // namespace
}  // namespace crochet
