// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/feed_fn_hook.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

class FeedFnHookTest : public testing::Test {
 protected:
  MonitoredSession session(std::function<Feeds()> feed_fn) {
    return MonitoredSession(std::make_unique<ChiefSessionCreator>(graph_),
                            {FeedFnHook(std::move(feed_fn))});
  }
  // Feeds 1, 2, 3, ...
  std::function<Feeds()> counting() {
    return [this] { return Feeds{{batch_, Tensor::scalar(++num_calls_)}}; };
  }

  ScriptedGraph graph_;
  const Output batch_ = graph_.value("batch", {Tensor::scalar(int64_t{-1})});
  int64_t num_calls_ = 0;
};

// BH-61: the function's result reaches the run.
TEST_F(FeedFnHookTest, CallsTheFunctionForEveryRun) {
  MonitoredSession open = session(counting());
  EXPECT_EQ(open.run(batch_).scalar<int64_t>(), 1);
  EXPECT_EQ(open.run(batch_).scalar<int64_t>(), 2);
  open.close();
}

TEST_F(FeedFnHookTest, CallsAgainForARepeatedRun) {
  MonitoredSession open = session(counting());
  graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
  EXPECT_EQ(open.run(batch_).scalar<int64_t>(), 2);
  open.close();
}

TEST_F(FeedFnHookTest, MayFeedNothing) {
  MonitoredSession open = session([] { return Feeds(); });
  EXPECT_EQ(open.run(batch_).scalar<int64_t>(), -1);
  open.close();
}

TEST_F(FeedFnHookTest, RejectsAnOutputThatTheCallerFeeds) {
  MonitoredSession open = session(counting());
  EXPECT_THROW(open.run(batch_, {{batch_, Tensor::scalar(int64_t{7})}}), FailedPreconditionError);
  open.close();
}

TEST_F(FeedFnHookTest, EndsTheRunWhenTheDataEnds) {
  MonitoredSession open = session([]() -> Feeds { throw OutOfRangeError("no more batches"); });
  EXPECT_NO_THROW(run_in_scope(open, [&] { open.run(graph_.train()); }));
  EXPECT_EQ(open.current_step(), 0);
}

TEST_F(FeedFnHookTest, RejectsAnEmptyFunction) {
  EXPECT_THROW(FeedFnHook(std::function<Feeds()>()), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
