// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/training/internal/recoverable_session.h"

#include <deque>
#include <stop_token>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"

namespace crochet::internal {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::ThrowsMessage;

template <typename E>
std::exception_ptr failure(const char* message) {
  return std::make_exception_ptr(E(message));
}

// Sessions whose runs follow a script, one entry per run: null is a success.
class RecoverableSessionTest : public testing::Test {
 protected:
  using Script = std::deque<std::exception_ptr>;

  ~RecoverableSessionTest() override { set_pending_signal(0); }

  class ScriptRunner final : public WrappedSession {
   public:
    explicit ScriptRunner(RecoverableSessionTest& test) : test_(test) {}
    Graph& graph() const override { return test_.graph_; }
    const std::string& target() const override { return test_.target_; }
    FetchValues run(const Fetches&, const Feeds& feeds, const RunOptions&, RunMetadata*) override {
      test_.feeds_ = feeds;
      next();
      ++test_.num_runs_;
      return {};
    }
    bool should_stop() override {
      if (auto failure = std::exchange(test_.stop_failure_, nullptr))
        std::rethrow_exception(failure);
      return false;
    }
    void close() override { ++test_.num_closes_; }

   private:
    void next() {
      if (test_.script_.empty()) return;
      const std::exception_ptr failure = test_.script_.front();
      test_.script_.pop_front();
      if (failure) std::rethrow_exception(failure);
    }

    RecoverableSessionTest& test_;
  };

  RecoverableSession make(RecoveryOptions options = {}) {
    options.clock = &clock_;
    return RecoverableSession(
        [this]() -> std::unique_ptr<WrappedSession> {
          ++num_sessions_;
          first_step_ = num_runs_;
          if (!creation_script_.empty()) {
            const std::exception_ptr failure = creation_script_.front();
            creation_script_.pop_front();
            if (failure) std::rethrow_exception(failure);
          }
          return std::make_unique<ScriptRunner>(*this);
        },
        std::move(options));
  }

  LogCapture log_;
  FakeClock clock_;
  ScriptedGraph graph_;
  const std::string target_ = "grpc://worker:1";
  Feeds feeds_;  // Of the last run.
  Script script_;
  Script creation_script_;
  std::exception_ptr stop_failure_;
  int num_sessions_ = 0;
  int64_t first_step_ = 0;  // Of the current session, if every step is saved.
  int num_runs_ = 0;
  int num_closes_ = 0;
};

// MS-36, MS-22: graph and target are the inner session's.
TEST_F(RecoverableSessionTest, ShowsGraphAndTarget) {
  RecoverableSession session = make();
  EXPECT_EQ(&session.graph(), &graph_);
  EXPECT_EQ(session.target(), "grpc://worker:1");
  session.close();
  EXPECT_THROW(session.graph(), FailedPreconditionError);
  EXPECT_THROW(session.target(), FailedPreconditionError);
}

// MS-37: run passes feeds through.
TEST_F(RecoverableSessionTest, PassesOnFeeds) {
  RecoverableSession session = make();
  const Feeds feeds = {{graph_.placeholder("fed"), Tensor::scalar(20.0f)}};
  session.run({}, feeds);
  EXPECT_EQ(feeds_, feeds);
}

// MS-38: an aborted run is repeated on a fresh session.
TEST_F(RecoverableSessionTest, RunsAgainOnANewSession) {
  RecoverableSession session = make();
  script_ = {failure<AbortedError>("a"), failure<UnavailableError>("b"), nullptr};
  session.run({}, {});
  EXPECT_EQ(num_runs_, 1);
  EXPECT_EQ(num_sessions_, 3);
  EXPECT_EQ(num_closes_, 2);
  EXPECT_EQ(session.num_recoveries(), 2);
  EXPECT_TRUE(log_.contains("recovering from: a"));
}

// MS-38: an error of the factory is thrown.
TEST_F(RecoverableSessionTest, ThrowsWhatTheFactoryThrows) {
  RecoverableSession session = make();
  script_ = {failure<AbortedError>("a")};
  creation_script_ = {failure<DataLossError>("no checkpoint")};
  EXPECT_THAT([&] { session.run({}, {}); }, ThrowsMessage<DataLossError>("no checkpoint"));
  EXPECT_TRUE(session.should_stop());
  EXPECT_THROW(session.run({}, {}), FailedPreconditionError);
}

TEST_F(RecoverableSessionTest, RecoversFromAPreemptionDuringCreation) {
  creation_script_ = {failure<AbortedError>("a"), failure<UnavailableError>("b"), nullptr};
  RecoverableSession session = make();
  EXPECT_EQ(num_sessions_, 3);
  EXPECT_EQ(session.num_recoveries(), 2);
}

TEST_F(RecoverableSessionTest, PassesOnOtherErrors) {
  RecoverableSession session = make();
  script_ = {failure<DataLossError>("gone")};
  EXPECT_THROW(session.run({}, {}), DataLossError);
  EXPECT_EQ(num_sessions_, 1);
  session.run({}, {});
  EXPECT_EQ(num_runs_, 1);
}

// MS-39: Aborted reported by a thread: should_stop returns false, on a second session.
TEST_F(RecoverableSessionTest, RecoversInShouldStop) {
  RecoverableSession session = make();
  stop_failure_ = failure<AbortedError>("a thread's");
  EXPECT_FALSE(session.should_stop());
  EXPECT_EQ(num_sessions_, 2);
}

// MS-40: another error of a thread: should_stop is true, no new session.
TEST_F(RecoverableSessionTest, StopsOnAnotherErrorOfAThread) {
  RecoverableSession session = make();
  stop_failure_ = failure<DataLossError>("a thread's");
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(num_sessions_, 1);
}

TEST_F(RecoverableSessionTest, ClosesOnce) {
  RecoverableSession session = make();
  session.close();
  session.close();
  EXPECT_EQ(num_closes_, 1);
  EXPECT_TRUE(session.should_stop());
  EXPECT_THROW(session.run({}, {}), FailedPreconditionError);
}

TEST_F(RecoverableSessionTest, WaitsLongerWithEachRecovery) {
  std::vector<double> waits;
  Clock::TimePoint last = clock_.now();
  for (int i = 0; i < 10; ++i) script_.push_back(failure<AbortedError>("a"));
  // The time at which each session is created.
  RecoverableSession session(
      [&]() -> std::unique_ptr<WrappedSession> {
        waits.push_back(to_seconds(clock_.now() - last));
        last = clock_.now();
        return std::make_unique<ScriptRunner>(*this);
      },
      {.clock = &clock_});
  session.run({}, {});
  EXPECT_THAT(waits, ElementsAre(0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60));
}

TEST_F(RecoverableSessionTest, FailsAfterMaxRecoveriesWithoutProgress) {
  RecoverableSession session = make({.max_recoveries = 3});
  for (int i = 0; i < 4; ++i) script_.push_back(failure<AbortedError>("the last one too"));
  EXPECT_THAT([&] { session.run({}, {}); }, ThrowsMessage<AbortedError>("the last one too"));
  EXPECT_EQ(session.num_recoveries(), 3);
  EXPECT_EQ(num_sessions_, 4);
}

TEST_F(RecoverableSessionTest, CountsFailedCreations) {
  creation_script_ = {failure<AbortedError>("a"), failure<AbortedError>("b"),
                      failure<AbortedError>("c")};
  EXPECT_THAT([&] { make({.max_recoveries = 2}); }, ThrowsMessage<AbortedError>("c"));
}

TEST_F(RecoverableSessionTest, NeverRecoversIfMaxRecoveriesIsZero) {
  RecoverableSession session = make({.max_recoveries = 0});
  script_ = {failure<AbortedError>("a")};
  EXPECT_THROW(session.run({}, {}), AbortedError);
  EXPECT_EQ(num_sessions_, 1);
}

// Every step is on disk: each new session continues where the last one failed.
TEST_F(RecoverableSessionTest, CountsFromZeroOncePastTheFailedStep) {
  RecoverableSession session =
      make({.max_recoveries = 1, .start_step = [this] { return first_step_; }});
  for (int i = 0; i < 5; ++i) {
    script_ = {failure<AbortedError>("a")};
    session.run({}, {});
    session.run({}, {});
  }
  EXPECT_EQ(session.num_recoveries(), 5);
}

// Restored at step 0 each time, it completes step 1 and fails before completing step 2.
TEST_F(RecoverableSessionTest, DoesNotCountARepeatedStepAsProgress) {
  RecoverableSession session = make({.max_recoveries = 2});
  session.run({}, {});
  script_ = {failure<AbortedError>("a"), nullptr, failure<AbortedError>("b"), nullptr,
             failure<AbortedError>("c")};
  session.run({}, {});
  session.run({}, {});
  EXPECT_THAT([&] { session.run({}, {}); }, ThrowsMessage<AbortedError>("c"));
}

TEST_F(RecoverableSessionTest, AsksWhetherItCanRecover) {
  bool can = true;
  RecoverableSession session = make({.can_recover = [&] { return can; }});
  script_ = {failure<AbortedError>("a"), nullptr, failure<AbortedError>("b")};
  session.run({}, {});
  can = false;
  EXPECT_THAT([&] { session.run({}, {}); }, ThrowsMessage<AbortedError>("b"));
  EXPECT_EQ(session.num_recoveries(), 1);
}

TEST_F(RecoverableSessionTest, DoesNotRecoverIfASignalIsPending) {
  RecoverableSession session = make();
  set_pending_signal(15);
  script_ = {failure<AbortedError>("a")};
  EXPECT_THAT([&] { session.run({}, {}); }, ThrowsMessage<AbortedError>("a"));
  EXPECT_EQ(num_sessions_, 1);
}

// A clock during whose sleep a signal arrives.
class SignallingClock final : public Clock {
 public:
  TimePoint now() const override { return clock_.now(); }
  double wall_time() const override { return clock_.wall_time(); }
  bool sleep_for(Duration duration, const std::stop_token& stop) override {
    set_pending_signal(15);
    return clock_.sleep_for(duration, stop);
  }

 private:
  FakeClock clock_;
};

TEST_F(RecoverableSessionTest, EndsItsWaitWhenASignalArrives) {
  SignallingClock clock;
  const Clock::TimePoint start = clock.now();
  RecoverableSession session([this] { return std::make_unique<ScriptRunner>(*this); },
                             {.clock = &clock});
  for (int i = 0; i < 5; ++i) script_.push_back(failure<AbortedError>("a"));
  EXPECT_THROW(session.run({}, {}), AbortedError);
  EXPECT_LT(to_seconds(clock.now() - start), 0.5);
}

}  // namespace
}  // namespace crochet::internal
