// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/thread.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <latch>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>

#include "crochet/base/error.h"
#include "tests/support/forked_child.h"
#include "tests/support/no_threads.h"

namespace crochet::internal {
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

// What the system knows of the calling thread.
struct Scheduling {
  int nice = ::getpriority(PRIO_PROCESS, 0);
  int policy = ::sched_getscheduler(0);

  bool operator==(const Scheduling&) const = default;
};

TEST(ThreadTest, WorkInTheBackgroundYieldsToItsStarter) {
  const Scheduling starter;
  Scheduling background;
  Thread(
      "saving", [&] { background = Scheduling(); }, Thread::Priority::kBackground)
      .join();
  EXPECT_EQ(background.nice, std::min(starter.nice + 10, 19));
  EXPECT_EQ(background.policy, starter.policy == SCHED_IDLE ? SCHED_IDLE : SCHED_BATCH);
  Scheduling normal;
  Thread("reading", [&] { normal = Scheduling(); }).join();
  EXPECT_EQ(normal, starter);
  EXPECT_EQ(Scheduling(), starter);
}

TEST(ThreadTest, HasANameForDebuggers) {
  std::array<char, 16> name{};
  Thread("making memory ahead", [&] {
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
  }).join();
  EXPECT_EQ(std::string(name.data()), "making memory a");
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
}  // namespace crochet::internal
