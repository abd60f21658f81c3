// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/checkpoint/saver/save_ticket.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/internal/save_promise.h"
#include "crochet/testing/fake_clock.h"

namespace crochet {
namespace {

using testing::ThrowsMessage;

class SaveTicketTest : public testing::Test {
 protected:
  FakeClock clock_;
  internal::SavePromise promise_{"d/model.ckpt-5", 5, clock_};
  const SaveTicket& ticket_ = promise_.ticket();
};

TEST_F(SaveTicketTest, StartsWithTheSnapshot) {
  EXPECT_EQ(ticket_.prefix(), "d/model.ckpt-5");
  EXPECT_EQ(ticket_.step(), 5);
  EXPECT_EQ(ticket_.stage(), SaveStage::kSnapshotted);
  EXPECT_FALSE(ticket_.finished());
  EXPECT_EQ(ticket_.error(), nullptr);
  EXPECT_EQ(ticket_.seconds(SaveStage::kSnapshotted), 0);
  EXPECT_EQ(ticket_.seconds(SaveStage::kWritten), std::nullopt);
}

TEST_F(SaveTicketTest, ReportsWhenAStageWasReached) {
  const SaveTicket copy = ticket_;
  clock_.advance(std::chrono::seconds(2));
  promise_.reach(SaveStage::kWritten);
  clock_.advance(std::chrono::seconds(3));
  promise_.reach(SaveStage::kPublished);
  EXPECT_EQ(copy.seconds(SaveStage::kWritten), 2);
  EXPECT_EQ(copy.seconds(SaveStage::kPublished), 5);
  EXPECT_TRUE(copy.finished());
  copy.wait();
  copy.wait_finished();
}

TEST_F(SaveTicketTest, MeasuresPublicationWithoutTheRemovalOfOlderOnes) {
  for (int attempt = 1; attempt <= 2; ++attempt) {  // The first one fails after it.
    clock_.advance(std::chrono::seconds(2));
    promise_.record_named();
    EXPECT_FALSE(ticket_.finished());
  }
  clock_.advance(std::chrono::seconds(3));
  promise_.publish("d/model.ckpt-5");
  EXPECT_EQ(ticket_.seconds(SaveStage::kPublished), 4);
}

TEST_F(SaveTicketTest, AReachedStageStaysReached) {
  promise_.begin_attempt();
  promise_.reach(SaveStage::kDurable);
  promise_.begin_attempt();
  promise_.reach(SaveStage::kWritten);
  EXPECT_EQ(ticket_.stage(), SaveStage::kDurable);
  EXPECT_EQ(ticket_.num_attempts(), 2);
}

TEST_F(SaveTicketTest, ReportsTheLocationOfTheCheckpoint) {
  EXPECT_EQ(ticket_.location(), "");
  EXPECT_EQ(ticket_.num_bytes(), 0U);
  promise_.set_num_bytes(7);
  promise_.publish("e/model.ckpt-5");
  EXPECT_EQ(ticket_.location(), "e/model.ckpt-5");
  EXPECT_EQ(ticket_.prefix(), "d/model.ckpt-5");
  EXPECT_EQ(ticket_.num_bytes(), 7U);
  EXPECT_TRUE(ticket_.finished());
}

TEST_F(SaveTicketTest, WakesWaitingThreads) {
  std::thread saver([this] {
    promise_.reach(SaveStage::kWritten);
    promise_.reach(SaveStage::kDurable);
    promise_.reach(SaveStage::kPublished);
  });
  ticket_.wait(SaveStage::kDurable);
  EXPECT_GE(ticket_.stage(), SaveStage::kDurable);
  ticket_.wait_finished();
  EXPECT_TRUE(ticket_.finished());
  saver.join();
}

TEST_F(SaveTicketTest, ThrowsFromAWaitForAStageAfterTheFailure) {
  promise_.reach(SaveStage::kWritten);
  std::thread saver([this] { promise_.fail(std::make_exception_ptr(DataLossError("gone"))); });
  EXPECT_THAT([this] { ticket_.wait(SaveStage::kDurable); }, ThrowsMessage<DataLossError>("gone"));
  ticket_.wait(SaveStage::kWritten);
  ticket_.wait_finished();
  EXPECT_TRUE(ticket_.finished());
  EXPECT_NE(ticket_.error(), nullptr);
  saver.join();
}

TEST_F(SaveTicketTest, NamesItsStages) {
  EXPECT_STREQ(save_stage_name(SaveStage::kSnapshotted), "snapshotted");
  EXPECT_STREQ(save_stage_name(SaveStage::kWritten), "written");
  EXPECT_STREQ(save_stage_name(SaveStage::kDurable), "durable");
  EXPECT_STREQ(save_stage_name(SaveStage::kPublished), "published");
}

}  // namespace
}  // namespace crochet
