// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/queue_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/testing/scripted_session.h"

namespace crochet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// The threads themselves are tested in training, which starts them.
class QueueRunnerTest : public testing::Test {
 protected:
  void expect_refused(QueueRunnerOptions options, const std::string& message) {
    EXPECT_THAT([&] { QueueRunner runner(options); },
                ThrowsMessage<InvalidArgumentError>(HasSubstr(message)));
  }

  ScriptedGraph graph_;
  const Output op_ = graph_.train();
};

// CQ-7: an empty list of operations is an invalid argument.
TEST_F(QueueRunnerTest, RejectsInvalidOptions) {
  expect_refused({.queue_name = "q", .enqueue_ops = {}}, "without enqueue_ops");
  expect_refused({.queue_name = "", .enqueue_ops = {op_}}, "without a queue_name");
  expect_refused({.queue_name = "q", .enqueue_ops = {op_}, .queue_closed_codes = {}},
                 "without queue_closed_codes");
  expect_refused({.queue_name = "q", .enqueue_ops = {op_, Output()}}, "(none) is not an operation");
  ScriptedGraph other;
  expect_refused({.queue_name = "q", .enqueue_ops = {op_}, .close_op = other.train()},
                 "train is not an operation of the graph");
  expect_refused({.queue_name = "q", .enqueue_ops = {op_}, .cancel_op = other.train()},
                 "train is not an operation of the graph");
}

TEST_F(QueueRunnerTest, TasksThatNeverRunEndWhenDestroyed) {
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {op_, op_}});
  const auto session = graph_.new_session("");
  std::vector<BackgroundTask> tasks = runner.tasks(*session, {});
  EXPECT_EQ(tasks.size(), 2);
  EXPECT_THAT(runner.tasks(*session, {}), IsEmpty());
  tasks.pop_back();
  EXPECT_THAT(runner.tasks(*session, {}), IsEmpty()) << "one is left";
  tasks.clear();
  EXPECT_EQ(runner.tasks(*session, {}).size(), 2);
}

TEST_F(QueueRunnerTest, HasNoCancelTaskIfItCannotBeStopped) {
  QueueRunner runner({.queue_name = "q", .enqueue_ops = {op_}, .cancel_op = op_});
  const auto session = graph_.new_session("");
  EXPECT_EQ(runner.tasks(*session, {}).size(), 1);
  const std::stop_source stop;
  EXPECT_EQ(runner.tasks(*session, stop.get_token()).size(), 2);
}

TEST_F(QueueRunnerTest, CannotWaitForThreadsThatWereNotCreated) {
  const QueueRunner runner({.queue_name = "q", .enqueue_ops = {op_}});
  const auto session = graph_.new_session("");
  EXPECT_THROW(runner.wait_for_first_runs(*session, {}), FailedPreconditionError);
}

}  // namespace
}  // namespace crochet
