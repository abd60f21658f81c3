// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/internal/save_estimate.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/checkpoint/saver/save_ticket.h"
#include "crochet/testing/fake_clock.h"

namespace crochet {
namespace {

using namespace std::chrono_literals;

class SaveStatisticsTest : public testing::Test {
 protected:
  SaveTicket published(const std::string& location) {
    internal::SavePromise promise("d/m-5", 5, clock_);
    promise.begin_attempt();
    clock_.advance(1s);
    promise.reach(SaveStage::kWritten);
    promise.set_num_bytes(1500);
    clock_.advance(1s);
    promise.reach(SaveStage::kDurable);
    clock_.advance(1s);
    promise.publish(location);
    return promise.ticket();
  }
  FakeClock clock_;
  SaveStatistics statistics_;
};

TEST_F(SaveStatisticsTest, AddsUpSaves) {
  statistics_.add(published("d/m-5"));
  statistics_.add(published("e/m-5"));
  EXPECT_EQ(statistics_.saved, 2);
  EXPECT_EQ(statistics_.saved_in_fallback, 1);
  EXPECT_EQ(statistics_.bytes, 3000U);
  EXPECT_EQ(statistics_.written_secs, 2);
  EXPECT_EQ(statistics_.durable_secs, 4);
  EXPECT_EQ(statistics_.published_secs, 6);
  EXPECT_EQ(statistics_.retries, 0);
  EXPECT_EQ(to_string(statistics_),
            "2 checkpoints, 3 kB, published on average 3.000 s after their snapshots, training "
            "was blocked for 0.000 s; 1 in the fallback directory");
}

TEST_F(SaveStatisticsTest, DoesNotCountAnEmptySave) {
  statistics_.add(published(""));
  EXPECT_EQ(statistics_.saved, 0);
  EXPECT_EQ(statistics_.failed, 0);
  EXPECT_EQ(statistics_.bytes, 0U);
}

TEST_F(SaveStatisticsTest, CountsRetriesAndFailures) {
  internal::SavePromise promise("d/m-5", 5, clock_);
  for (int i = 0; i < 4; ++i) promise.begin_attempt();
  promise.fail(std::make_exception_ptr(UnknownError("broken")));
  statistics_.add(promise.ticket());
  EXPECT_EQ(statistics_.saved, 0);
  EXPECT_EQ(statistics_.failed, 1);
  EXPECT_EQ(statistics_.retries, 3);
  statistics_.skipped = 2;
  statistics_.blocked_secs = 0.25;
  EXPECT_EQ(to_string(statistics_),
            "0 checkpoints, training was blocked for 0.250 s; 1 failed; 2 skipped; 3 retries");
}

TEST(SaveEstimateTest, AssumesASlowDiskUntilSomethingIsMeasured) {
  const internal::SaveEstimate estimate;
  EXPECT_DOUBLE_EQ(estimate.seconds_for(0), 1);
  EXPECT_DOUBLE_EQ(estimate.seconds_for(500'000'000), 11);
}

TEST(SaveEstimateTest, UsesTheSlowestOfTheLastFew) {
  internal::SaveEstimate estimate;
  estimate.measured(1000, 40);
  for (int i = 0; i < 3; ++i) estimate.measured(1000, 2);
  EXPECT_DOUBLE_EQ(estimate.seconds_for(1000), 60);
  estimate.measured(1000, 4);  // The save of 40 s is too long ago.
  EXPECT_DOUBLE_EQ(estimate.seconds_for(1000), 6);
}

TEST(SaveEstimateTest, GrowsWithTheBytesAndDoesNotShrink) {
  internal::SaveEstimate estimate;
  estimate.measured(1000, 2);
  EXPECT_DOUBLE_EQ(estimate.seconds_for(4000), 12);
  EXPECT_DOUBLE_EQ(estimate.seconds_for(10), 3);
}

}  // namespace
}  // namespace crochet
