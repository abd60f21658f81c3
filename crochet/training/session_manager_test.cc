// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/session_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/restored_from.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;
using testing::ThrowsMessage;

// A graph with one variable, "v" of value 1, in an engine where variables start without values.
class SessionManagerTest : public testing::Test {
 protected:
  ~SessionManagerTest() override { set_pending_signal(0); }

  SessionManager manager(SessionManagerOptions options = {}) {
    options.clock = &clock_;
    return SessionManager(graph_, std::move(options));
  }
  // Checks all variables, every second.
  SessionManagerOptions asking(SessionManagerOptions options = {}) {
    options.ready_op = graph_.uninitialized("report", {v_});
    options.recovery_wait_secs = 1;
    return options;
  }
  Operation init() { return graph_.initializer("init", {v_}); }

  float value(Session& session, const Variable& variable) {
    return session.snapshot({{variable}}).tensors().at(0).tensor.scalar<float>();
  }
  bool is_initialized(Session& session, const Variable& variable) {
    try {
      value(session, variable);
      return true;
    } catch (const FailedPreconditionError&) {
      return false;
    }
  }

  // A checkpoint in which v is 7.
  void save(const std::string& save_path, int64_t step) {
    ScriptedGraph graph({.counts_steps = false});
    graph.variable("v", Tensor::scalar(7.0f));
    Saver({.files = &files_}).save(*graph.new_session(""), save_path, step);
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_;
  std::shared_ptr<Saver> saver_ = std::make_shared<Saver>(SaverOptions{.files = &files_});
  ScriptedGraph graph_{{.counts_steps = false, .starts_initialized = false}};
  Variable v_ = graph_.variable("v", Tensor::scalar(1.0f));
};

// Imitates another process that initialises v after some attempts: sessions of the fake share
// nothing.
class CountingManagerTest : public SessionManagerTest {
 protected:
  // Ready from the n-th check on.
  Output ready_after(int num_questions) {
    return graph_.value("ready", [this, num_questions] {
      return ++num_questions_ < num_questions ? Tensor::from(std::vector<std::string>{"v"})
                                              : Tensor::from(std::vector<std::string>{});
    });
  }
  int num_questions_ = 0;
};

// SM-1: init_op makes the session ready.
TEST_F(SessionManagerTest, PreparesWithAnInitOp) {
  const auto session = manager(asking()).prepare_session({.init_op = init()}).session;
  EXPECT_EQ(value(*session, v_), 1);
}

// SM-2: init_op is run with its feeds.
TEST_F(SessionManagerTest, FeedsTheInitOp) {
  const Output fed = graph_.placeholder("fed");
  const Operation init = graph_.initializer("init", v_, fed);
  const auto session =
      manager(asking())
          .prepare_session({.init_op = init, .init_feed_dict = {{fed, Tensor::scalar(3.0f)}}})
          .session;
  EXPECT_EQ(value(*session, v_), 3);
}

// SM-3: init_fn alone suffices.
TEST_F(SessionManagerTest, PreparesWithAnInitFn) {
  const Operation operation = init();
  const auto session =
      manager(asking())
          .prepare_session({.init_fn = [&](Session& session) { session.run(operation); }})
          .session;
  EXPECT_EQ(value(*session, v_), 1);
}

TEST_F(SessionManagerTest, RunsTheInitOpBeforeTheInitFn) {
  const Operation operation = init();
  std::optional<float> seen;
  manager(asking()).prepare_session(
      {.init_op = operation, .init_fn = [&](Session& session) { seen = value(session, v_); }});
  EXPECT_THAT(seen, Optional(1));
}

// SM-4: without a checkpoint or anything to initialise with, it fails, after waiting; once the
// checkpoint is back it restores and initialises nothing.
TEST_F(SessionManagerTest, PreparesFromACheckpointOrFails) {
  SessionManager sessions = manager(asking());
  PrepareSessionOptions options{
      .session = {
          .saver = saver_, .checkpoint_dir = "d", .wait_for_checkpoint = true, .max_wait_secs = 3}};
  EXPECT_THAT([&] { sessions.prepare_session(options); },
              ThrowsMessage<FailedPreconditionError>(
                  HasSubstr("no init_op or init_fn or local_init_op was given")));
  EXPECT_EQ(to_seconds(clock_.now() - FakeClock().now()), 3);
  EXPECT_EQ(graph_.num_open_sessions(), 0);

  save("d/model.ckpt", 5);
  options.init_op = init();
  options.init_fn = [](Session&) { ADD_FAILURE() << "called"; };
  const CreatedSession created = sessions.prepare_session(options);
  EXPECT_EQ(value(*created.session, v_), 7);
  EXPECT_THAT(created.restored, RestoredFrom("d/model.ckpt-5"));
  EXPECT_EQ(to_seconds(clock_.now() - FakeClock().now()), 3);
  EXPECT_TRUE(log_.contains("restored d/model.ckpt-5"));
}

TEST_F(SessionManagerTest, DoesNotWaitForACheckpointByDefault) {
  const auto session =
      manager(asking())
          .prepare_session({.session = {.saver = saver_, .checkpoint_dir = "d"}, .init_op = init()})
          .session;
  EXPECT_THAT(clock_.sleeps(), ElementsAre());
  EXPECT_TRUE(log_.contains("d holds no checkpoint: starting afresh"));
}

TEST_F(SessionManagerTest, StopsWaitingForACheckpointOnASignal) {
  set_pending_signal(15);
  EXPECT_THAT(
      [&] {
        manager().prepare_session(
            {.session = {.saver = saver_, .checkpoint_dir = "d", .wait_for_checkpoint = true}});
      },
      ThrowsMessage<CancelledError>("waiting for a checkpoint cut short by SIGTERM"));
  EXPECT_THAT(clock_.sleeps(), ElementsAre());
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

TEST_F(SessionManagerTest, NeedsNothingForAnEngineThatStartsInitialised) {
  ScriptedGraph graph;
  EXPECT_EQ(read_global_step(*SessionManager(graph).prepare_session({}).session), 0);
}

// SM-5: without a checkpoint nothing is initialised; with one it is recovered, from the
// directory and from the file; both at once are an error.
TEST_F(SessionManagerTest, RecoversFromADirectoryOrAFile) {
  SessionManager sessions = manager(asking());
  const RecoverSessionOptions directory{.saver = saver_, .checkpoint_dir = "d"};
  RecoveredSession recovered = sessions.recover_session(directory);
  EXPECT_FALSE(recovered.initialized);
  EXPECT_EQ(recovered.restored, std::nullopt);
  EXPECT_FALSE(is_initialized(*recovered.session, v_));

  save("d/model.ckpt", 5);
  recovered = sessions.recover_session(directory);
  EXPECT_TRUE(recovered.initialized);
  EXPECT_THAT(recovered.restored, RestoredFrom("d/model.ckpt-5"));
  EXPECT_EQ(value(*recovered.session, v_), 7);

  recovered = sessions.recover_session(
      {.saver = saver_, .checkpoint_filename_with_path = "d/model.ckpt-5"});
  EXPECT_TRUE(recovered.initialized);
  EXPECT_EQ(value(*recovered.session, v_), 7);

  EXPECT_THROW(sessions.recover_session({.saver = saver_,
                                         .checkpoint_dir = "d",
                                         .checkpoint_filename_with_path = "d/model.ckpt-5"}),
               InvalidArgumentError);
  EXPECT_FALSE(sessions.recover_session({.checkpoint_dir = "d"}).initialized);  // No saver.
}

TEST_F(SessionManagerTest, ClosesASessionThatCannotBeRestored) {
  SessionManager sessions = manager();
  EXPECT_THROW(sessions.recover_session(
                   {.saver = saver_, .checkpoint_filename_with_path = "d/model.ckpt-5"}),
               InvalidArgumentError);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

// SM-6: never ready, with a check every second for at most three seconds.
TEST_F(SessionManagerTest, TimesOutWaitingForASession) {
  EXPECT_THAT([&] { manager(asking()).wait_for_session({.max_wait_secs = 3}); },
              ThrowsMessage<DeadlineExceededError>(
                  AllOf(HasSubstr("Session was not ready after waiting 3 secs"),
                        HasSubstr("Variables not initialized: v"))));
  EXPECT_EQ(graph_.num_sessions(), 4);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
  EXPECT_EQ(to_seconds(clock_.now() - FakeClock().now()), 3);
}

TEST_F(SessionManagerTest, ChecksOnceIfThereIsNoTimeForASecondCheck) {
  EXPECT_THROW(manager(asking()).wait_for_session({.max_wait_secs = 0.5}), DeadlineExceededError);
  EXPECT_EQ(graph_.num_sessions(), 1);
  EXPECT_THAT(clock_.sleeps(), ElementsAre());
}

TEST_F(CountingManagerTest, WaitsUntilTheSessionIsReady) {
  SessionManager sessions = manager({.ready_op = ready_after(4), .recovery_wait_secs = 30});
  const auto session = sessions.wait_for_session({.master = "", .config = {"settings"}});
  EXPECT_EQ(graph_.num_sessions(), 4);
  EXPECT_EQ(graph_.num_open_sessions(), 1);
  EXPECT_EQ(to_seconds(clock_.now() - FakeClock().now()), 90);
  EXPECT_EQ(graph_.last_config().serialized, "settings");
  EXPECT_TRUE(log_.contains("waiting until the model is ready: Variables not initialized: v"));
}

TEST_F(SessionManagerTest, StopsWaitingForASessionOnASignal) {
  set_pending_signal(2);
  EXPECT_THAT(
      [&] { manager(asking()).wait_for_session(); },
      ThrowsMessage<CancelledError>("waiting until the model is ready cut short by SIGINT"));
  EXPECT_THAT(clock_.sleeps(), ElementsAre());
}

// SM-7: ready_for_local_init_op without a local_init_op.
TEST_F(SessionManagerTest, RejectsReadyForLocalInitOpWithoutALocalInitOp) {
  EXPECT_THAT([&] { manager({.ready_for_local_init_op = "v"}); },
              ThrowsMessage<InvalidArgumentError>(
                  "If you pass a ready_for_local_init_op you must also pass a local_init_op"));
}

TEST_F(SessionManagerTest, RejectsInvalidTimes) {
  EXPECT_THROW(manager({.recovery_wait_secs = 0}), InvalidArgumentError);
  EXPECT_THROW(manager().wait_for_session({.max_wait_secs = -1}), InvalidArgumentError);
  EXPECT_THROW(manager().recover_session({.max_wait_secs = -1}), InvalidArgumentError);
  EXPECT_EQ(graph_.num_sessions(), 0);
}

// With a local variable "w", initialised with the value of v.
class LocalInitTest : public SessionManagerTest {
 protected:
  // Checks both variables; before the local one is initialised, only the global one.
  SessionManagerOptions options() {
    return {.local_init_op = local_init_,
            .ready_op = ready_,
            .ready_for_local_init_op = global_ready_,
            .recovery_wait_secs = 1};
  }

  Variable w_ = graph_.local_variable("w", v_);
  Operation local_init_ = graph_.initializer("local_init", {w_});
  Output ready_ = graph_.uninitialized("report_all", {v_, w_});
  Output global_ready_ = graph_.uninitialized("report_global", {v_});
};

// SM-8: after a restore the local variable gets the restored value.
TEST_F(LocalInitTest, RunsTheLocalInitOpAfterARestore) {
  save("d/model.ckpt", 5);
  const RecoveredSession recovered =
      manager(options()).recover_session({.saver = saver_, .checkpoint_dir = "d"});
  EXPECT_TRUE(recovered.initialized);
  EXPECT_EQ(value(*recovered.session, v_), 7);
  EXPECT_EQ(value(*recovered.session, w_), 7);
}

// SM-9: a check that cannot succeed: the local variable is left as it is, the global is restored.
TEST_F(LocalInitTest, DoesNotRunALocalInitOpThatIsNotReady) {
  save("d/model.ckpt", 5);
  SessionManagerOptions too_strict = options();
  too_strict.ready_for_local_init_op = ready_;
  const RecoveredSession recovered =
      manager(too_strict).recover_session({.saver = saver_, .checkpoint_dir = "d"});
  EXPECT_FALSE(recovered.initialized);
  EXPECT_EQ(value(*recovered.session, v_), 7);
  EXPECT_FALSE(is_initialized(*recovered.session, w_));
  EXPECT_TRUE(log_.contains("the model is not ready: Variables not initialized: w"));
}

TEST_F(LocalInitTest, IsNotRecoveredIfAVariableIsNotInitialised) {
  save("d/model.ckpt", 5);
  const RecoveredSession recovered =
      manager({.ready_op = ready_}).recover_session({.saver = saver_, .checkpoint_dir = "d"});
  EXPECT_FALSE(recovered.initialized);
  EXPECT_EQ(value(*recovered.session, v_), 7);
  EXPECT_TRUE(log_.contains("the model is not ready: Variables not initialized: w"));
}

// SM-10: without a checkpoint the local variables are still initialised.
TEST_F(LocalInitTest, RunsTheLocalInitOpWithoutACheckpoint) {
  SessionManagerOptions unasked = options();
  unasked.ready_for_local_init_op = Fetches();
  const RecoveredSession recovered =
      manager(unasked).recover_session({.saver = saver_, .checkpoint_dir = "d"});
  EXPECT_FALSE(recovered.initialized);
  EXPECT_FALSE(is_initialized(*recovered.session, v_));
  EXPECT_EQ(value(*recovered.session, w_), 1);
}

// SM-14: the local init runs though the global variable has no value; the session is never ready.
TEST_F(LocalInitTest, TimesOutIfTheGlobalVariableIsNotInitialised) {
  SessionManagerOptions unasked = options();
  unasked.ready_for_local_init_op = Fetches();
  EXPECT_THAT([&] { manager(unasked).wait_for_session({.max_wait_secs = 3}); },
              ThrowsMessage<DeadlineExceededError>(
                  AllOf(HasSubstr("Session was not ready after waiting"), HasSubstr("v"))));
  EXPECT_EQ(graph_.runs()[0].fetches, (std::vector<std::string>{"local_init"}));
}

// SM-15: init_op first, then a list of local operations that use the global value.
TEST_F(LocalInitTest, RunsALocalInitOpThatIsAList) {
  const Variable x = graph_.local_variable("x", v_);
  SessionManagerOptions listed = options();
  listed.local_init_op = {local_init_, graph_.initializer("init_x", {x})};
  const Output fed = graph_.placeholder("fed");
  const auto session = manager(listed)
                           .prepare_session({.init_op = graph_.initializer("init", v_, fed),
                                             .init_feed_dict = {{fed, Tensor::scalar(4.0f)}}})
                           .session;
  EXPECT_EQ(value(*session, v_), 4);
  EXPECT_EQ(value(*session, w_), 4);
  EXPECT_EQ(value(*session, x), 4);
}

TEST_F(LocalInitTest, FeedsTheLocalInitOp) {
  const Output fed = graph_.placeholder("fed");
  SessionManagerOptions with_feed = options();
  with_feed.local_init_op = graph_.initializer("init_fed", w_, fed);
  with_feed.local_init_feed_dict = {{fed, Tensor::scalar(5.0f)}};
  const auto session = manager(with_feed).prepare_session({.init_op = init()}).session;
  EXPECT_EQ(value(*session, w_), 5);
}

// SM-18: the local variable is not initialised.
TEST_F(LocalInitTest, FailsIfTheLocalVariableIsNotInitialised) {
  EXPECT_THAT([&] { manager({.ready_op = ready_}).prepare_session({.init_op = init()}); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("Init operations did not make model ready"),
                        HasSubstr("Variables not initialized: w"))));
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

// SM-19: the same with a list of init operations.
TEST_F(LocalInitTest, FailsIfAListDoesNotInitialiseTheLocalVariable) {
  EXPECT_THAT([&] { manager({.ready_op = ready_}).prepare_session({.init_op = {Output(init())}}); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("Init operations did not make model ready"),
                        HasSubstr("Variables not initialized: w"))));
}

// SM-20: the global variables are not initialised when the local ones should be.
TEST_F(LocalInitTest, FailsIfItIsNotReadyForTheLocalInitOp) {
  EXPECT_THAT([&] { manager(options()).prepare_session({}); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("Init operations did not make model ready for local_init"),
                        HasSubstr("Variables not initialized: v"))));
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

// SM-21: without that check the local init runs, and the final check misses the global variable.
TEST_F(LocalInitTest, FailsAfterTheLocalInitOpWithoutAReadyCheckBefore) {
  SessionManagerOptions unasked = options();
  unasked.ready_for_local_init_op = Fetches();
  EXPECT_THAT([&] { manager(unasked).prepare_session({}); },
              ThrowsMessage<FailedPreconditionError>(
                  AllOf(HasSubstr("Init operations did not make model ready"),
                        Not(HasSubstr("for local_init")), HasSubstr("initialized: v"))));
  EXPECT_EQ(graph_.runs()[0].fetches, (std::vector<std::string>{"local_init"}));
}

// The results that a ready operation may give, in a session that needs nothing else.
class ReadyRuleTest : public testing::Test {
 protected:
  std::unique_ptr<Session> prepare(const Fetches& ready_op) {
    return SessionManager(graph_, {.ready_op = ready_op}).prepare_session({}).session;
  }

  LogCapture log_;
  ScriptedGraph graph_;
};

TEST_F(ReadyRuleTest, IsReadyWithoutAValueAnInt32OrNoElements) {
  graph_.value("int", {Tensor::scalar<int32_t>(1)});
  graph_.value("nothing", {Tensor::from(std::vector<std::string>{})});
  graph_.value("no_floats", {Tensor::from(std::vector<float>{})});
  EXPECT_NO_THROW(prepare(graph_.train()));
  for (const char* name : {"int", "nothing", "no_floats"}) EXPECT_NO_THROW(prepare(name)) << name;
}

TEST_F(ReadyRuleTest, IsNotReadyForAnyOtherValue) {
  graph_.value("names", {Tensor::from({"a", "b"})});
  graph_.value("number", {Tensor::scalar(1.0f)});
  EXPECT_THAT([&] { prepare("names"); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("Variables not initialized: a, b")));
  EXPECT_THAT([&] { prepare("number"); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("float32 [] = 1")));
  EXPECT_THAT(
      [&] {
        prepare(Fetches::List{"names", "number"});
      },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("a, b, (float32 [] = 1)")));
}

// The rule that TensorFlow's older, asserting ready operations rely on.
TEST_F(ReadyRuleTest, IsNotReadyIfTheErrorMentionsUninitialized) {
  graph_.value("assertion",
               []() -> Tensor { throw FailedPreconditionError("uninitialized value v"); });
  EXPECT_THAT([&] { prepare("assertion"); },
              ThrowsMessage<FailedPreconditionError>(
                  "Init operations did not make model ready: uninitialized value v"));
}

TEST_F(ReadyRuleTest, PassesOnOtherErrors) {
  graph_.value("precondition", []() -> Tensor { throw FailedPreconditionError("no disk"); });
  graph_.value("abort", []() -> Tensor { throw AbortedError("gone"); });
  EXPECT_THAT([&] { prepare("precondition"); }, ThrowsMessage<FailedPreconditionError>("no disk"));
  EXPECT_TRUE(log_.contains("checking whether the model is ready: no disk"));
  EXPECT_THROW(prepare("abort"), AbortedError);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

}  // namespace
}  // namespace crochet
