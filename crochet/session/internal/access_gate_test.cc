// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/session/internal/access_gate.h"

#include <array>
#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "tests/support/wait_until.h"

namespace crochet::internal {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;
using Pass = AccessGate::Pass;

constexpr Access kAll[] = {Access::kNone, Access::kShared, Access::kExclusive};

TEST(AccessGateTest, RefusesAThreadThatIsInside) {
  for (const Access held : kAll)
    for (const Access asked : kAll) {
      AccessGate gate;
      AccessGate other;
      {
        const Pass pass(gate, held, "run");
        const Pass in_between(other, held, "run");
        EXPECT_THAT([&] { Pass(gate, asked, "snapshot"); },
                    ThrowsMessage<FailedPreconditionError>(HasSubstr("snapshot")));
        EXPECT_THAT([&] { gate.close(); },
                    ThrowsMessage<FailedPreconditionError>(HasSubstr("close")));
      }
      Pass(gate, asked, "snapshot");
    }
}

// A second thread is admitted while this one is inside: otherwise this test hangs.
void expect_beside(Access held, Access asked) {
  AccessGate gate;
  const Pass pass(gate, held, "first");
  std::jthread([&] { Pass(gate, asked, "second"); }).join();
}

TEST(AccessGateTest, AdmitsCallsThatDoNotDisturbEachOther) {
  for (const Access access : kAll) {
    expect_beside(Access::kNone, access);
    expect_beside(access, Access::kNone);
  }
  expect_beside(Access::kShared, Access::kShared);
}

TEST(AccessGateTest, KeepsCallsApartThatWouldDisturbEachOther) {
  AccessGate gate;
  std::array<std::atomic<int>, 3> inside = {};
  std::atomic<int> wrong = 0;
  int changes = 0;  // Of those inside exclusively.
  std::vector<std::jthread> threads;
  for (const Access access :
       {Access::kNone, Access::kShared, Access::kShared, Access::kExclusive, Access::kExclusive})
    threads.emplace_back([&, access] {
      for (int i = 0; i < 200; ++i) {
        const Pass pass(gate, access, "run");
        ++inside[static_cast<size_t>(access)];
        const int before = access == Access::kNone ? 0 : changes;
        if (access == Access::kExclusive) ++changes;
        if (i % 4 == 0) std::this_thread::yield();
        if (access == Access::kShared && changes != before) ++wrong;
        const int exclusive = inside[static_cast<size_t>(Access::kExclusive)];
        const int sharing = inside[static_cast<size_t>(Access::kShared)];
        if (access == Access::kShared && exclusive > 0) ++wrong;
        if (access == Access::kExclusive && (exclusive > 1 || sharing > 0)) ++wrong;
        --inside[static_cast<size_t>(access)];
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(changes, 2 * 200);
}

TEST(AccessGateTest, AdmitsAWaitingExclusiveCallBeforeLaterShares) {
  AccessGate gate;
  std::atomic<bool> shared = false;
  std::jthread writer;
  std::jthread reader;
  {
    const Pass pass(gate, Access::kShared, "run");
    writer = std::jthread([&] {
      const Pass exclusive(gate, Access::kExclusive, "assign");
      EXPECT_FALSE(shared);
    });
    wait_until("a waiting call", [&] { return gate.num_waiting() == 1; });
    reader = std::jthread([&] {
      const Pass again(gate, Access::kShared, "run");
      shared = true;
    });
    wait_until("a second waiting call", [&] { return gate.num_waiting() == 2 || shared; });
    EXPECT_FALSE(shared);
  }
  writer.join();
  reader.join();
  EXPECT_TRUE(shared);
}

TEST(AccessGateTest, RefusesEveryCallOnceItIsClosed) {
  AccessGate gate;
  EXPECT_TRUE(gate.close());
  EXPECT_FALSE(gate.close());
  for (const Access access : kAll)
    EXPECT_THAT([&] { Pass(gate, access, "assign"); },
                ThrowsMessage<FailedPreconditionError>("assign on a closed session"));
  gate.wait_until_empty();
}

TEST(AccessGateTest, RefusesWaitingCallsWhenItIsClosed) {
  AccessGate gate;
  std::latch inside(1);
  std::latch may_leave(1);
  std::jthread running([&] {
    const Pass pass(gate, Access::kShared, "run");
    inside.count_down();
    may_leave.wait();
  });
  inside.wait();
  std::jthread waiting(
      [&] { EXPECT_THROW(Pass(gate, Access::kExclusive, "snapshot"), FailedPreconditionError); });
  wait_until("a waiting call", [&] { return gate.num_waiting() == 1; });
  gate.close();
  waiting.join();
  may_leave.count_down();
  gate.wait_until_empty();
}

TEST(AccessGateTest, RefusesCallsThatWaitedTooLong) {
  AccessGate gate;
  const std::chrono::milliseconds limit(1);
  {
    const Pass inside(gate, Access::kExclusive, "snapshot");
    std::jthread([&] {
      EXPECT_THAT([&] { Pass(gate, Access::kShared, "run", limit); },
                  ThrowsMessage<DeadlineExceededError>(HasSubstr("run did not begin within 1 ms")));
      EXPECT_THROW(Pass(gate, Access::kExclusive, "assign", limit), DeadlineExceededError);
    }).join();
  }
  // Calls that were refused keep no other call waiting.
  { const Pass changing(gate, Access::kShared, "run", limit); }
  // More than a clock can count.
  const Pass patient(gate, Access::kShared, "run", std::chrono::milliseconds::max());
}

TEST(AccessGateTest, WaitsForTheCallsInside) {
  for (const Access access : kAll) {
    AccessGate gate;
    std::latch inside(1);
    std::latch may_leave(1);
    std::atomic<bool> has_left = false;
    std::jthread running([&] {
      const Pass pass(gate, access, "run");
      inside.count_down();
      may_leave.wait();
      has_left = true;
    });
    inside.wait();
    gate.close();
    std::jthread closing([&] {
      gate.wait_until_empty();
      EXPECT_TRUE(has_left);
    });
    may_leave.count_down();
  }
}

TEST(AccessGateTest, MayBeDeletedOnceItIsEmpty) {
  for (int i = 0; i < 300; ++i) {
    auto gate = std::make_unique<AccessGate>();
    std::latch inside(1);
    const std::jthread running([&] {
      const Pass pass(*gate, kAll[i % 3], "run");
      inside.count_down();
    });
    inside.wait();
    gate->close();
    gate->wait_until_empty();
    gate.reset();
  }
}

TEST(AccessGateTest, TriesWithoutWaiting) {
  for (const Access held : kAll)
    for (const Access asked : kAll) {
      AccessGate gate;
      const bool is_free = held == Access::kNone || asked == Access::kNone ||
                           (held == Access::kShared && asked == Access::kShared);
      const Pass pass(gate, held, "first");
      std::jthread([&] {
        for (int i = 0; i < 2; ++i)  // The first one has left.
          EXPECT_EQ(Pass(gate, asked, Pass::IfFree()).is_inside(), is_free);
      }).join();
    }
}

TEST(AccessGateTest, ATriedCallThatIsAdmittedIsInside) {
  AccessGate gate;
  std::jthread other;
  {
    const Pass pass(gate, Access::kExclusive, Pass::IfFree());
    EXPECT_TRUE(pass.is_inside());
    EXPECT_THROW(gate.check_outside("run"), FailedPreconditionError);
    other = std::jthread([&] { Pass(gate, Access::kShared, "run"); });
    wait_until("a waiting call", [&] { return gate.num_waiting() == 1; });
  }
  other.join();
  gate.check_outside("run");
}

TEST(AccessGateTest, ATriedCallDoesNotPassThoseThatWait) {
  AccessGate gate;
  std::optional<Pass> shared(std::in_place, gate, Access::kShared, "run");
  std::jthread writer([&] { Pass(gate, Access::kExclusive, "assign"); });
  wait_until("a waiting call", [&] { return gate.num_waiting() == 1; });
  std::jthread([&] {
    EXPECT_FALSE(Pass(gate, Access::kShared, Pass::IfFree()).is_inside());
  }).join();
  shared.reset();
  writer.join();
  EXPECT_TRUE(Pass(gate, Access::kShared, Pass::IfFree()).is_inside());
}

TEST(AccessGateTest, ATriedCallIsNotInsideAClosedGate) {
  AccessGate gate;
  gate.close();
  for (const Access access : kAll) EXPECT_FALSE(Pass(gate, access, Pass::IfFree()).is_inside());
  gate.wait_until_empty();
}

}  // namespace
}  // namespace crochet::internal
