// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/group/internal/limited_call.h"

#include <future>
#include <memory>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::internal {
namespace {

constexpr double kLong = 60;

template <typename Call>
auto call_for(double secs, const std::string& activity, Call call) {
  WaitLimit limit(Clock::real(), secs);
  return call_within(limit, activity, std::move(call));
}

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(LimitedCallTest, ReturnsWhatTheCallReturns) {
  EXPECT_EQ(call_for(kLong, "adding", [] { return 1 + 1; }), 2);
  EXPECT_EQ(*call_for(kLong, "making", [] { return std::make_unique<int>(3); }), 3);
}

TEST(LimitedCallTest, ThrowsWhatTheCallThrows) {
  EXPECT_THAT(([] { call_for(kLong, "failing", []() -> int { throw DataLossError("torn"); }); }),
              ThrowsMessage<DataLossError>(HasSubstr("torn")));
}

TEST(LimitedCallTest, LeavesACallThatBlocks) {
  const auto gate = std::make_shared<std::promise<void>>();
  const auto ended = std::make_shared<std::promise<void>>();
  EXPECT_THAT(
      ([&] {
        call_for(0.05, "asking the store", [gate, ended] {
          gate->get_future().wait();
          ended->set_value();
          return 0;
        });
      }),
      ThrowsMessage<DeadlineExceededError>(HasSubstr("asking the store: no answer within 0.0")));
  gate->set_value();
  ended->get_future().wait();  // It continues by itself.
}

}  // namespace
}  // namespace crochet::internal
