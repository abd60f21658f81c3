// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/training/coordinator.h"

namespace crochet {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::ThrowsMessage;

class LooperThreadTest : public testing::Test {
 protected:
  void stop() { coordinator_.request_stop({"the target", "it was called often enough"}); }

  LogCapture log_;
  FakeClock clock_;
  Coordinator coordinator_;
};

// CO-16: it calls its target back to back until the stop.
TEST_F(LooperThreadTest, CallsBackToBackUntilTheStop) {
  int num_calls = 0;
  const auto looper = start_looper_thread(
      coordinator_, {.name = "looper", .timer_interval_secs = 0, .clock = &clock_}, [&] {
        if (++num_calls == 3) stop();
      });
  coordinator_.join();
  EXPECT_EQ(looper->name(), "looper");
  EXPECT_TRUE(looper->has_ended());
  EXPECT_EQ(num_calls, 3);
  EXPECT_THAT(clock_.sleeps(), ElementsAre());
}

TEST_F(LooperThreadTest, CallsAtFixedBoundaries) {
  const Clock::TimePoint start = clock_.now();
  std::vector<Clock::Duration> calls;
  start_looper_thread(coordinator_, {.timer_interval_secs = 10, .clock = &clock_}, [&] {
    calls.push_back(clock_.now() - start);
    clock_.advance(seconds(3));  // The duration of the call.
    if (calls.size() == 3) stop();
  });
  coordinator_.join();
  EXPECT_THAT(calls, ElementsAre(seconds(0), seconds(10), seconds(20)));
  EXPECT_THAT(clock_.sleeps(), ElementsAre(seconds(7), seconds(7)));
}

TEST_F(LooperThreadTest, MakesOverdueCallsBackToBack) {
  const Clock::TimePoint start = clock_.now();
  std::vector<Clock::Duration> calls;
  start_looper_thread(coordinator_, {.timer_interval_secs = 10, .clock = &clock_}, [&] {
    calls.push_back(clock_.now() - start);
    if (calls.size() == 1) clock_.advance(seconds(25));
    if (calls.size() == 4) stop();
  });
  coordinator_.join();
  EXPECT_THAT(calls, ElementsAre(seconds(0), seconds(25), seconds(25), seconds(30)));
}

// With the real clock: the stop cuts the hour short.
TEST_F(LooperThreadTest, IsWokenByTheStop) {
  int num_calls = 0;
  const auto looper = start_looper_thread(coordinator_, {.timer_interval_secs = 3600}, [&] {
    ++num_calls;
    stop();
  });
  coordinator_.join();
  EXPECT_TRUE(looper->has_ended());
  EXPECT_EQ(num_calls, 1);
}

TEST_F(LooperThreadTest, CallsNothingIfTheStopCameFirst) {
  stop();
  start_looper_thread(coordinator_, {.timer_interval_secs = 1, .clock = &clock_},
                      [] { FAIL() << "called"; });
  start_looper_thread(coordinator_, {}, [] { FAIL() << "called"; });
  coordinator_.join();
}

TEST_F(LooperThreadTest, CallsStartLoopAndStopLoop) {
  std::vector<std::string> calls;
  start_looper_thread(coordinator_,
                      {.start_loop = [&] { calls.emplace_back("start"); },
                       .stop_loop = [&] { calls.emplace_back("stop"); }},
                      [&] {
                        calls.emplace_back("target");
                        stop();
                      });
  coordinator_.join();
  EXPECT_THAT(calls, ElementsAre("start", "target", "stop"));
}

TEST_F(LooperThreadTest, StopsAllThreadsIfItsTargetThrows) {
  bool ended = false;
  start_looper_thread(coordinator_, {.stop_loop = [&] { ended = true; }},
                      [] { throw DataLossError("gone"); });
  EXPECT_THAT([&] { coordinator_.join(); }, ThrowsMessage<DataLossError>("gone"));
  EXPECT_TRUE(coordinator_.should_stop());
  EXPECT_FALSE(ended);
}

TEST_F(LooperThreadTest, RejectsAnEmptyTargetAndANegativeInterval) {
  const auto start = [&](double secs, std::function<void()> target) {
    start_looper_thread(coordinator_, {.timer_interval_secs = secs}, std::move(target));
  };
  EXPECT_THROW(start(-1, [] {}), InvalidArgumentError);
  EXPECT_THROW(start(NAN, [] {}), InvalidArgumentError);
  EXPECT_THROW(start(1, nullptr), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
