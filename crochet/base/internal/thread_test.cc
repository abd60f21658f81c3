// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/thread.h"

#include <latch>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/forked_child.h"
#include "crochet/testing/no_threads.h"

namespace crochet {
namespace {

using ::testing::StartsWith;
using ::testing::ThrowsMessage;

TEST(ThreadTest, RunsItsBodyAndIsJoinedByItsDestructor) {
  bool ran = false;
  {
    const Thread thread("the test", [&] { ran = true; });
    EXPECT_TRUE(thread.joinable());
  }
  EXPECT_TRUE(ran);
  EXPECT_FALSE(Thread().joinable());
}

TEST(ThreadTest, AssignmentWaitsForThePreviousThread) {
  bool first_ran = false;
  Thread thread("the test", [&] { first_ran = true; });
  thread = Thread();
  EXPECT_TRUE(first_ran);
  EXPECT_FALSE(thread.joinable());
}

TEST(ThreadTest, DoesNotWaitForADetachedThread) {
  std::latch may_end(1);
  std::latch has_ended(1);
  {
    Thread thread("the test", [&] {
      may_end.wait();
      has_ended.count_down();
    });
    thread.detach();
    EXPECT_FALSE(thread.joinable());
  }
  may_end.count_down();
  has_ended.wait();
}

TEST(ThreadTest, ThrowsATypedErrorIfAThreadCannotBeStarted) {
  const NoThreads none;
  EXPECT_THAT([] { Thread("saving", [] {}); },
              ThrowsMessage<ResourceExhaustedError>(
                  StartsWith("saving: cannot start a thread: Resource temporarily unavailable")));
}

TEST(ThreadTest, AForkedChildDoesNotWaitForItsParentsThread) {
  std::latch may_end(1);
  Thread thread("the test", [&] { may_end.wait(); });
  EXPECT_EQ(run_in_child([&] {
              if (thread.joinable()) return 1;
              thread.join();
              const Thread moved = std::move(thread);
              return 0;
            }),
            0);
  EXPECT_TRUE(thread.joinable());
  may_end.count_down();
}

}  // namespace
}  // namespace crochet
