// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <latch>
#include <memory>
#include <stop_token>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/training/coordinator.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

// CC-7: false while it runs, true afterwards.
TEST(CoordinatedThreadTest, KnowsWhetherItHasEnded) {
  std::latch release(1);
  CoordinatedThread thread("reader", [&] { release.wait(); });
  EXPECT_EQ(thread.name(), "reader");
  EXPECT_FALSE(thread.has_ended());
  EXPECT_FALSE(thread.end_token().stop_requested());
  release.count_down();
  EXPECT_TRUE(thread.wait());
  EXPECT_TRUE(thread.has_ended());
  // Stop callbacks run after the threads that wait for this one are woken.
  std::latch told(1);
  const std::stop_callback tell(thread.end_token(), [&] { told.count_down(); });
  told.wait();
}

TEST(CoordinatedThreadTest, EndsAWaitWhenAStopIsRequested) {
  std::latch release(1);
  std::stop_source stop;
  CoordinatedThread thread("reader", [&] { release.wait(); });
  stop.request_stop();
  EXPECT_FALSE(thread.wait(stop.get_token()));
  release.count_down();
}

TEST(CoordinatedThreadTest, WaitsForItsBodyWhenItIsDestroyed) {
  bool has_run = false;
  {
    const CoordinatedThread thread("writer", [&] { has_run = true; });
  }
  EXPECT_TRUE(has_run);
}

TEST(CoordinatedThreadTest, DestroysTheCapturesOfItsBodyBeforeItCountsAsEnded) {
  auto captured = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = captured;
  const CoordinatedThread thread("reader", [captured = std::move(captured)] {});
  thread.wait();
  EXPECT_TRUE(seen.expired());
}

// The callbacks may call any function of the thread: its mutex is not held.
TEST(CoordinatedThreadTest, CallsStopCallbacksWithoutHoldingAMutex) {
  std::latch may_end(1);
  CoordinatedThread thread("a", [&] { may_end.wait(); });
  std::atomic<bool> had_ended = false;
  const std::stop_callback at_end(thread.end_token(), [&] { had_ended = thread.wait(); });
  may_end.count_down();
  wait_until("the end token", [&] { return thread.end_token().stop_requested(); });
  thread.wait();
  wait_until("the callback", [&] { return had_ended.load(); });
}

}  // namespace
}  // namespace crochet
