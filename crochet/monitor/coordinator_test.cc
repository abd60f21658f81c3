// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/monitor/coordinator.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/log_capture.h"

namespace crochet {
namespace {

using testing::ThrowsMessage;

std::exception_ptr data_loss(const char* message) {
  return std::make_exception_ptr(DataLossError("{}", message));
}

// CO-1: should_stop and a timed wait, before and after the request.
TEST(CoordinatorTest, StopsOnceItIsAsked) {
  Coordinator coordinator;
  EXPECT_FALSE(coordinator.should_stop());
  EXPECT_FALSE(coordinator.wait_for_stop(std::chrono::nanoseconds(1)));
  EXPECT_FALSE(coordinator.stop_request());
  coordinator.request_stop({"a thread", "it is done"});
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_TRUE(coordinator.wait_for_stop(std::chrono::nanoseconds(0)));
  EXPECT_EQ(coordinator.stop_request()->who, "a thread");
  EXPECT_EQ(coordinator.stop_request()->reason, "it is done");
  EXPECT_NO_THROW(coordinator.raise_requested_exception());
}

// CO-2: a stop requested by another thread wakes a timed wait.
TEST(CoordinatorTest, WakesThoseWhoWait) {
  Coordinator coordinator;
  std::thread asker([&] { coordinator.request_stop({"a thread", "it is done"}); });
  EXPECT_TRUE(coordinator.wait_for_stop(std::chrono::hours(1)));
  asker.join();
}

TEST(CoordinatorTest, KeepsTheFirstRequest) {
  Coordinator coordinator;
  coordinator.request_stop({"first", ""});
  coordinator.request_stop({"second", ""});
  EXPECT_EQ(coordinator.stop_request()->who, "first");
}

// CO-9: the first error that is reported wins.
TEST(CoordinatorTest, KeepsTheFirstError) {
  const LogCapture log;
  Coordinator coordinator;
  coordinator.request_stop(data_loss("first"));
  coordinator.request_stop(data_loss("second"));
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_FALSE(coordinator.stop_request());
  EXPECT_THAT([&] { coordinator.raise_requested_exception(); },
              ThrowsMessage<DataLossError>("first"));
  EXPECT_TRUE(log.contains("second"));
}

TEST(CoordinatorTest, LogsAnErrorThatComesAfterACleanStop) {
  const LogCapture log;
  Coordinator coordinator;
  coordinator.request_stop({"a thread", "it is done"});
  coordinator.request_stop(data_loss("too late"));
  EXPECT_NO_THROW(coordinator.raise_requested_exception());
  EXPECT_TRUE(log.contains("too late"));
}

}  // namespace
}  // namespace crochet
