// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/coordinated_session.h"

#include <latch>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/coordinator.h"
#include "crochet/training/internal/hooked_session.h"

namespace crochet::internal {
namespace {

using testing::ThrowsMessage;

// A session whose answers the test sets.
class ToldSession final : public WrappedSession {
 public:
  Graph& graph() const override { return *told_graph; }
  const std::string& target() const override { return told_target; }
  FetchValues run(const Fetches&, const Feeds& feeds, const RunOptions&, RunMetadata*) override {
    num_feeds = feeds.size();
    if (failure) std::rethrow_exception(failure);
    return FetchValues(Tensor::scalar(1.0f));
  }
  bool should_stop() override { return stops; }
  void close() override {
    ++num_closes;
    if (close_failure) std::rethrow_exception(close_failure);
  }

  Graph* told_graph = nullptr;
  std::string told_target;
  std::exception_ptr failure;
  std::exception_ptr close_failure;
  bool stops = false;
  int num_closes = 0;
  size_t num_feeds = 0;
};

template <typename E>
std::exception_ptr error(const char* message) {
  return std::make_exception_ptr(E(message));
}

class CoordinatedSessionTest : public testing::Test {
 protected:
  LogCapture log_;
  Coordinator coordinator_;
  ToldSession* inner_ = new ToldSession;
  CoordinatedSession session_{std::unique_ptr<WrappedSession>(inner_), coordinator_};
};

// MS-22, MS-28: graph and target are the inner session's.
TEST_F(CoordinatedSessionTest, ShowsGraphAndTarget) {
  ScriptedGraph graph;
  inner_->told_graph = &graph;
  inner_->told_target = "grpc://worker:1";
  EXPECT_EQ(&session_.graph(), &graph);
  EXPECT_EQ(session_.target(), "grpc://worker:1");
}

// MS-24: the inner session is asked each time.
TEST_F(CoordinatedSessionTest, AsksTheInnerSessionEachTimeWhetherToStop) {
  for (const bool stops : {false, true, false, true}) {
    inner_->stops = stops;
    EXPECT_EQ(session_.should_stop(), stops);
  }
}

// MS-29: run passes feeds through.
TEST_F(CoordinatedSessionTest, ForwardsRuns) {
  EXPECT_EQ(session_.run({}, {{Output(), Tensor()}}).scalar<float>(), 1);
  EXPECT_EQ(inner_->num_feeds, 1);
}

// MS-31, MS-25: the coordinator's request and the inner session's both count.
TEST_F(CoordinatedSessionTest, StopsIfTheCoordinatorOrTheInnerSessionDoes) {
  EXPECT_FALSE(session_.should_stop());
  inner_->stops = true;
  EXPECT_TRUE(session_.should_stop());
  inner_->stops = false;
  coordinator_.request_stop({"a thread", "it is done"});
  EXPECT_TRUE(session_.should_stop());
}

// MS-30, MS-26: it stops on close, and a second close is harmless.
TEST_F(CoordinatedSessionTest, StopsItsThreadsOnClose) {
  session_.close();
  session_.close();
  EXPECT_TRUE(session_.should_stop());
  EXPECT_TRUE(coordinator_.should_stop());
  EXPECT_EQ(inner_->num_closes, 1);
}

// MS-32: an error of a run does not stop the threads.
TEST_F(CoordinatedSessionTest, LeavesTheThreadsAloneIfARunFails) {
  inner_->failure = error<DataLossError>("gone");
  EXPECT_THROW(session_.run({}, {}), DataLossError);
  EXPECT_FALSE(coordinator_.should_stop());
}

TEST_F(CoordinatedSessionTest, ThrowsTheErrorOfAThread) {
  coordinator_.request_stop(error<DataLossError>("a thread's"));
  EXPECT_THAT([&] { session_.should_stop(); }, ThrowsMessage<DataLossError>("a thread's"));
  EXPECT_THAT([&] { session_.close(); }, ThrowsMessage<DataLossError>("a thread's"));
  EXPECT_EQ(inner_->num_closes, 1);
}

TEST_F(CoordinatedSessionTest, ThrowsThePreemptionOfAThreadThatMadeTheRunFail) {
  coordinator_.request_stop(error<AbortedError>("the cause"));
  inner_->failure = error<CancelledError>("the consequence");
  EXPECT_THAT([&] { session_.run({}, {}); }, ThrowsMessage<AbortedError>("the cause"));
  inner_->failure = error<UnavailableError>("another preemption");
  EXPECT_THROW(session_.run({}, {}), UnavailableError);
}

TEST_F(CoordinatedSessionTest, ThrowsTheRunsErrorIfAThreadsIsNotAPreemption) {
  coordinator_.request_stop(error<DataLossError>("a thread's"));
  inner_->failure = error<CancelledError>("the run's");
  EXPECT_THAT([&] { session_.run({}, {}); }, ThrowsMessage<CancelledError>("the run's"));
}

TEST_F(CoordinatedSessionTest, LogsAnErrorOfClosingTheInnerSession) {
  inner_->close_failure = error<DataLossError>("gone");
  EXPECT_NO_THROW(session_.close());
  EXPECT_TRUE(log_.contains("gone"));
}

// MS-33: threads survive runs, including one that fails, and are joined by close.
TEST_F(CoordinatedSessionTest, JoinsItsThreadsOnClose) {
  std::vector<std::shared_ptr<CoordinatedThread>> threads;
  for (int i = 0; i < 3; ++i)
    threads.push_back(coordinator_.start_thread("reader", [&] { coordinator_.wait_for_stop(); }));
  session_.run({}, {});
  inner_->failure = error<DataLossError>("gone");
  EXPECT_THROW(session_.run({}, {}), DataLossError);
  for (const auto& thread : threads) EXPECT_FALSE(thread->has_ended());
  session_.close();
  for (const auto& thread : threads) EXPECT_TRUE(thread->has_ended());
  EXPECT_EQ(inner_->num_closes, 1);
}

TEST(CoordinatedSessionGraceTest, NamesStragglersAndStillCloses) {
  const LogCapture log;
  FakeClock clock;
  std::latch release(1);
  Coordinator coordinator({.clock = &clock});
  coordinator.start_thread("straggler", [&] { release.wait(); });
  auto* inner = new ToldSession;
  CoordinatedSession session(std::unique_ptr<WrappedSession>(inner), coordinator, 7);
  const Clock::TimePoint start = clock.now();
  session.close();
  EXPECT_EQ(to_seconds(clock.now() - start), 7);
  EXPECT_TRUE(log.contains("threads still running after the stop: straggler"));
  EXPECT_EQ(inner->num_closes, 1);
  release.count_down();
}

TEST(CoordinatedSessionFeedsTest, RunsWithoutFeeds) {
  ScriptedGraph graph;
  const Output loss = graph.value("loss", {Tensor::scalar(1.0f)});
  const std::unique_ptr<Session> engine = graph.new_session("");
  const HookList hooks;
  Coordinator coordinator;
  StopState stop;
  CoordinatedSession session(std::make_unique<HookedSession>(*engine, hooks, stop), coordinator);
  EXPECT_EQ(session.run(loss).scalar<float>(), 1);
}

}  // namespace
}  // namespace crochet::internal
