// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs, snapshots and assignments by several threads at once.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <latch>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/engines/local/graph.h"
#include "crochet/session/session.h"

namespace crochet::local {
namespace {

using Ints = std::span<const int64_t>;
using MutableInts = std::span<int64_t>;

constexpr int64_t kElements = 1000;

// Three variables; between steps, every element is the number of the step.
class SessionThreadsTest : public testing::Test {
 protected:
  SessionThreadsTest() {
    // Changes half of it and yields: a reader would now see half a step.
    const auto in_place = graph_.op("in_place", {update(a_)}, [](MutableInts x) {
      for (int64_t& y : x.first(kElements / 2)) ++y;
      std::this_thread::yield();
      for (int64_t& y : x.last(kElements / 2)) ++y;
    });
    const auto replaced = graph_.op("replaced", {replace(b_)}, [](Ints old, MutableInts next) {
      for (size_t i = 0; i < old.size(); ++i) next[i] = old[i] + 1;
    });
    train_ = graph_.group("train", {in_place, replaced, graph_.increment_global_step()});
    is_equal_ =
        graph_.op("is_equal", {a_, b_},
                  [](Ints a, Ints b) { return std::ranges::equal(a, b) && a.front() == a.back(); },
                  {.concurrent = true})[0];
    session_ = graph_.new_session("");
  }

  // The step that all elements of the snapshot hold; -1 if they differ.
  int64_t step_of(const Snapshot& snapshot) {
    const int64_t step = snapshot.tensors().back().tensor.scalar<int64_t>();
    for (const NamedTensor& entry : snapshot.tensors())
      for (const int64_t x : entry.tensor.flat<int64_t>())
        if (x != step) return -1;
    return step;
  }

  Graph graph_;
  const OwnedVariable a_ = graph_.variable("a", Tensor::zeros<int64_t>({kElements}));
  const OwnedVariable b_ = graph_.variable("b", Tensor::zeros<int64_t>({kElements}));
  Operation train_;
  Output is_equal_;
  std::unique_ptr<crochet::Session> session_;
};

TEST_F(SessionThreadsTest, EverySnapshotIsOfOneStep) {
  constexpr int64_t kSteps = 100;
  const std::vector<Variable> variables = graph_.variables();
  std::vector<std::jthread> trainers;
  for (int i = 0; i < 2; ++i)
    trainers.emplace_back([&] {
      for (int64_t step = 0; step < kSteps; ++step) session_->run(train_);
    });
  int64_t last = 0;
  while (last < 2 * kSteps) {
    const Snapshot snapshot = session_->snapshot(variables);
    std::this_thread::yield();
    const int64_t step = step_of(snapshot);
    ASSERT_GE(step, last);
    last = step;
  }
  EXPECT_EQ(read_global_step(*session_), 2 * kSteps);
}

TEST_F(SessionThreadsTest, EveryRunThatReadsSeesOneStep) {
  std::atomic<bool> done = false;
  std::vector<std::jthread> readers;
  std::atomic<int> torn = 0;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!done)
        if (!session_->run(is_equal_).scalar<bool>()) ++torn;
    });
  for (int step = 0; step < 100; ++step) session_->run(train_);
  done = true;
  readers.clear();
  EXPECT_EQ(torn, 0);
}

TEST_F(SessionThreadsTest, FeedsOfSeveralThreadsDoNotMix) {
  const Output x = graph_.placeholder<int64_t>("x", {-1});
  const auto sum = graph_.op("sum", {x},
                             [](Ints values) {
                               int64_t sum = 0;
                               for (const int64_t value : values) sum += value;
                               return sum;
                             },
                             {.concurrent = true});
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int64_t number = 1; number <= 4; ++number)
    threads.emplace_back([&, number] {
      const Tensor value = Tensor::from<int64_t>(std::vector<int64_t>(100, number));
      for (int run = 0; run < 200; ++run)
        if (session_->run(sum[0], {{x, value}}).scalar<int64_t>() != 100 * number) ++wrong;
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

// An operation that waits, like one that feeds a queue, until training has advanced.
TEST_F(SessionThreadsTest, AConcurrentOperationThatWaitsBlocksNobody) {
  std::latch waiting(2);
  std::latch may_end(1);
  const auto enqueue = graph_.op("enqueue",
                                 [&] {
                                   waiting.count_down();
                                   may_end.wait();
                                   return std::optional<int>();
                                 },
                                 {.concurrent = true});
  std::jthread first([&] { session_->run(enqueue); });
  std::jthread second([&] { session_->run(enqueue[0]); });
  waiting.wait();
  session_->run(train_);
  EXPECT_EQ(step_of(session_->snapshot(graph_.variables())), 1);
  may_end.count_down();
}

TEST_F(SessionThreadsTest, OtherOperationsAreCalledByOneThreadAtATime) {
  int inside = 0;  // Not atomic: ThreadSanitizer would report a race.
  int most = 0;
  const auto op = graph_.op("op", [&] {
    most = std::max(most, ++inside);
    std::this_thread::yield();
    --inside;
  });
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int run = 0; run < 20; ++run) session_->run(op);
    });
  threads.clear();
  EXPECT_EQ(most, 1);
}

TEST_F(SessionThreadsTest, RejectsCallsFromWithinAConcurrentOperation) {
  const Fetches is_equal = is_equal_;
  const auto nested = graph_.op("nested",
                                [&] {
                                  EXPECT_THROW(session_->run(is_equal), FailedPreconditionError);
                                  EXPECT_THROW(session_->snapshot({}), FailedPreconditionError);
                                  EXPECT_THROW(session_->assign({}), FailedPreconditionError);
                                  EXPECT_THROW(session_->close(), FailedPreconditionError);
                                },
                                {.concurrent = true});
  session_->run(nested);
  EXPECT_TRUE(session_->run(is_equal_).scalar<bool>());
}

TEST_F(SessionThreadsTest, ClosingWaitsForConcurrentRuns) {
  std::latch running(1);
  std::latch may_end(1);
  std::atomic<bool> ended = false;
  const auto slow = graph_.op("slow",
                              [&] {
                                running.count_down();
                                may_end.wait();
                                ended = true;
                              },
                              {.concurrent = true});
  std::jthread runner([&] { session_->run(slow); });
  running.wait();
  std::jthread closer([&] {
    session_->close();
    EXPECT_TRUE(ended);
  });
  may_end.count_down();
  closer.join();
  EXPECT_THROW(session_->run(slow), FailedPreconditionError);
}

TEST_F(SessionThreadsTest, AssignmentsHappenBetweenSteps) {
  const std::vector<Variable> variables = graph_.variables();
  std::vector<Assignment> zeros;
  for (const Variable& variable : variables)
    zeros.push_back({variable, variable.shape(), [](std::span<std::byte> bytes) {
                       std::memset(bytes.data(), 0, bytes.size());
                     }});
  std::jthread trainer([&] {
    for (int step = 0; step < 100; ++step) session_->run(train_);
  });
  for (int i = 0; i < 100; ++i) {
    session_->assign(zeros);
    EXPECT_GE(step_of(session_->snapshot(variables)), 0);
  }
}

// Both begin with the same fetch, so each looks like a repetition of the other.
TEST_F(SessionThreadsTest, ThreadsThatRepeatDifferentRunsGetTheirOwnValues) {
  const Output step = graph_.global_step();
  std::atomic<int> wrong = 0;
  {
    std::jthread one([&] {
      for (int i = 0; i < 200; ++i)
        if (session_->run({train_, step})[1].scalar<int64_t>() < i) ++wrong;
    });
    std::jthread other([&] {
      for (int i = 0; i < 200; ++i) {
        const FetchValues values = session_->run({train_, is_equal_, step});
        if (!values[1].scalar<bool>() || values[2].scalar<int64_t>() < i) ++wrong;
      }
    });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(read_global_step(*session_), 400);
}

}  // namespace
}  // namespace crochet::local
