// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ThrowsMessage;

class EndsHook final : public SessionRunHook {
 public:
  void after_create_session(Session&, Coordinator& of_session) override {
    coordinator = &of_session;
  }
  void end(Session&) override { ++num_ends; }
  void on_error(std::exception_ptr) override { ++num_errors; }

  Coordinator* coordinator = nullptr;
  int num_ends = 0;
  int num_errors = 0;
};

class SingularMonitoredSessionTest : public testing::Test {
 protected:
  std::unique_ptr<SessionCreator> creator() {
    return std::make_unique<ChiefSessionCreator>(graph_);
  }

  LogCapture log_;
  ScriptedGraph graph_;
  std::shared_ptr<EndsHook> hook_ = std::make_shared<EndsHook>();
};

// MS-92, MS-96, MS-97: initialised, closed by its scope; afterwards raw_session is null.
TEST_F(SingularMonitoredSessionTest, RunsAndIsClosedByItsScope) {
  SingularMonitoredSession session(creator(), {hook_});
  EXPECT_EQ(&session.graph(), &graph_);
  run_in_scope(session, [&] { EXPECT_EQ(session.run("global_step").scalar<int64_t>(), 0); });
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.raw_session(), nullptr);
  EXPECT_EQ(hook_->num_ends, 1);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
  EXPECT_FALSE(graph_.finalized());
}

// MS-92: it initialises an engine that needs it, and accepts a session creator's options.
TEST_F(SingularMonitoredSessionTest, CreatesItsSessionItself) {
  ScriptedGraph graph({.global_step = 7, .starts_initialized = false});
  const auto scaffold = std::make_shared<Scaffold>();
  int num_inits = 0;
  scaffold->init_fn = [&](Session&) { ++num_inits; };
  SingularMonitoredSession session(
      graph, {hook_}, {.scaffold = scaffold, .master = "there", .config = {"settings"}});
  EXPECT_EQ(session.current_step(), 7);
  EXPECT_EQ(num_inits, 1);
  EXPECT_EQ(session.raw_session()->target(), "there");
  EXPECT_EQ(graph.last_config().serialized, "settings");
  session.close();
  EXPECT_EQ(hook_->num_ends, 1);
}

TEST_F(SingularMonitoredSessionTest, RestoresTheGivenFile) {
  MemoryFileSystem files;
  const auto saver = std::make_shared<Saver>(SaverOptions{.files = &files});
  ScriptedGraph saved({.global_step = 30});
  saver->save(*saved.new_session(""), "d/model.ckpt", 30);
  SingularMonitoredSession session(
      graph_, {},
      {.scaffold = std::make_shared<Scaffold>(Scaffold{.saver = saver}),
       .checkpoint_filename_with_path = "d/model.ckpt-30"});
  EXPECT_EQ(session.current_step(), 30);
  session.close();
}

// MS-98: the raw session is the engine's.
TEST_F(SingularMonitoredSessionTest, ExposesTheEnginesSession) {
  SingularMonitoredSession session(creator(), {});
  session.raw_session()->run(graph_.train());
  EXPECT_EQ(session.current_step(), 1);
  session.close();
  EXPECT_EQ(session.current_step(), 1);
}

// MS-93: an abort is thrown, inside the scope and out of it.
TEST_F(SingularMonitoredSessionTest, DoesNotRecover) {
  SingularMonitoredSession session(creator(), {hook_});
  graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
  bool seen = false;
  const auto body = [&] {
    try {
      session.run(graph_.train());
    } catch (const AbortedError&) {
      EXPECT_NE(session.raw_session(), nullptr);
      seen = true;
      throw;
    }
  };
  EXPECT_THROW(run_in_scope(session, body), AbortedError);
  EXPECT_TRUE(seen);
  EXPECT_EQ(hook_->num_errors, 1);
  EXPECT_EQ(graph_.num_sessions(), 1);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
  EXPECT_EQ(session.num_recoveries(), 0);
}

TEST_F(SingularMonitoredSessionTest, DoesNotRetryCreatingASession) {
  graph_.fail_session(0, UnavailableError("not yet"));
  EXPECT_THROW(SingularMonitoredSession(creator(), {hook_}), UnavailableError);
  EXPECT_EQ(graph_.num_sessions(), 1);
  EXPECT_EQ(hook_->num_errors, 1);
}

// MS-95: should_stop and the scope throw the error of a thread.
TEST_F(SingularMonitoredSessionTest, ThrowsTheErrorOfAThread) {
  SingularMonitoredSession session(creator(), {hook_});
  hook_->coordinator->request_stop(std::make_exception_ptr(DataLossError("a thread's")));
  EXPECT_THAT([&] { run_in_scope(session, [&] { session.should_stop(); }); },
              ThrowsMessage<DataLossError>("a thread's"));
  EXPECT_EQ(hook_->num_errors, 1);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

TEST_F(SingularMonitoredSessionTest, ThrowsThePreemptionOfAThreadAtClose) {
  SingularMonitoredSession session(creator(), {hook_});
  hook_->coordinator->request_stop(std::make_exception_ptr(AbortedError("a thread's")));
  EXPECT_THROW(session.should_stop(), AbortedError);
  EXPECT_THROW(run_in_scope(session, [] { throw StopIteration(); }), AbortedError);
  EXPECT_EQ(hook_->num_ends, 1);
  EXPECT_EQ(graph_.num_open_sessions(), 0);
}

}  // namespace
}  // namespace crochet
