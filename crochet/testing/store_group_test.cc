// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/store_group.h"

#include <stdexcept>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/store_ranks.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;
using testing::ThrowsMessage;

GroupOptions rank_of(MemoryKeyValueStore& store, int rank, int size) {
  return {.rank = rank, .size = size, .name = "job", .generation = 7, .clock = &store.clock()};
}

TEST(StoreGroupTest, RemovesTheKeysOfOldCalls) {
  StoreRanks ranks(4);
  ranks.run([&](const std::shared_ptr<Group>& group) {
    for (int call = 0; call < 500; ++call) {
      group->all_gather(std::string(100, 'x'));
      // One for each rank's start; of this call and the next, one for each rank and the answer.
      EXPECT_THAT(ranks.store().keys(), SizeIs(testing::Le(4 + 2 * 5)));
    }
    ranks.meet();
    if (group->is_chief()) {
      EXPECT_THAT(ranks.store().keys(), SizeIs(5));
    }
  });
}

TEST(StoreGroupTest, NamesKeysByJobAndGeneration) {
  MemoryKeyValueStore store;
  StoreGroup group(store.connect(), rank_of(store, 0, 1));
  group.barrier();
  EXPECT_THAT(store.keys(), Each(StartsWith("crochet/job/7/")));
}

TEST(StoreGroupTest, RefusesARankThatHasAlreadyJoined) {
  MemoryKeyValueStore store;
  const StoreGroup first(store.connect(), rank_of(store, 1, 2));
  EXPECT_THAT([&] { StoreGroup(store.connect(), rank_of(store, 1, 2)); },
              ThrowsMessage<AlreadyExistsError>(
                  AllOf(HasSubstr("rank 1 of 2 (job)"), HasSubstr("generation 7"))));
  GroupOptions next = rank_of(store, 1, 2);
  next.generation = 8;
  const StoreGroup second(store.connect(), next);
}

TEST(StoreGroupTest, RefusesARankThatIsNotInTheGroup) {
  MemoryKeyValueStore store;
  EXPECT_THAT([&] { StoreGroup(store.connect(), rank_of(store, 2, 2)); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("rank is 2, expected 0 to 1")));
  EXPECT_THROW(StoreGroup(store.connect(), rank_of(store, -1, 2)), InvalidArgumentError);
  EXPECT_THROW(StoreGroup(store.connect(), rank_of(store, 0, 0)), InvalidArgumentError);
}

TEST(StoreGroupTest, NamesAllMissingRanks) {
  StoreRanks ranks(4, /*timeout_secs=*/600);
  ranks.run([](const std::shared_ptr<Group>& group) {
    if (group->rank() == 1 || group->rank() == 3) return;
    EXPECT_THAT([&] { group->barrier(); },
                ThrowsMessage<DeadlineExceededError>(
                    AllOf(HasSubstr("600 s"), HasSubstr("for ranks 1, 3 of 4 in call 1"))));
  });
}

TEST(StoreGroupTest, ReportsASizeThatDiffers) {
  MemoryKeyValueStore store;
  auto first = store.connect();
  auto second = store.connect();
  std::thread chief([&, user = std::move(first)] {
    StoreGroup group(user, rank_of(store, 0, 2));
    EXPECT_THAT([&] { group.barrier(); }, ThrowsMessage<FailedPreconditionError>(HasSubstr(
                                              "rank 1 has a group of 3 ranks, rank 0 one of 2")));
  });
  StoreGroup group(std::move(second), rank_of(store, 1, 3));
  EXPECT_THROW(group.barrier(), FailedPreconditionError);
  chief.join();
}

// The chief does not read the message of a rank that its group does not have.
TEST(StoreGroupTest, ReportsAGroupThatIsTooSmallForThisRank) {
  MemoryKeyValueStore store;
  auto first = store.connect();
  auto second = store.connect();
  std::thread chief([&, user = std::move(first)] {
    StoreGroup group(user, rank_of(store, 0, 1));
    group.barrier();
  });
  StoreGroup group(std::move(second), rank_of(store, 1, 2));
  EXPECT_THAT([&] { group.barrier(); },
              ThrowsMessage<FailedPreconditionError>(
                  HasSubstr("rank 1 of 2 (job): rank 0 has a group of 1 ranks, expected 2")));
  chief.join();
}

TEST(StoreGroupTest, IsLostWithItsStore) {
  MemoryKeyValueStore store;
  StoreGroup group(store.connect(), rank_of(store, 0, 1));
  group.barrier();
  store.disconnect_all();
  EXPECT_THROW(group.barrier(), UnavailableError);
  EXPECT_TRUE(group.is_lost());
}

// A rank waits for the chief, which is busy, when another rank leaves.
TEST(StoreGroupTest, NoticesWithinASecondThatARankLeft) {
  StoreRanks ranks(3, /*timeout_secs=*/600);
  ranks.run([&](const std::shared_ptr<Group>& group) {
    if (group->rank() == 2) group->leave("out of memory");
    if (group->rank() == 1) {
      const Clock::TimePoint start = ranks.store().clock().now();
      EXPECT_THAT([&] { group->barrier(); },
                  ThrowsMessage<RankFailedError>(HasSubstr("out of memory")));
      EXPECT_LE(ranks.store().clock().now() - start, std::chrono::seconds(1));
    }
    ranks.meet();
  });
}

// The chief comes after the deadline of the other rank.
TEST(StoreGroupTest, ReportsToALateChiefWhichRankHasLeft) {
  StoreRanks ranks(2);
  ranks.run([&](const std::shared_ptr<Group>& group) {
    if (!group->is_chief()) {
      EXPECT_THROW(group->barrier(5), DeadlineExceededError);
    }
    ranks.meet();
    if (!group->is_chief()) return;
    group->barrier();  // The message of the other rank has arrived.
    EXPECT_THAT([&] { group->barrier(); },
                ThrowsMessage<DeadlineExceededError>(HasSubstr("rank 1 waited 5 s for rank 0")));
  });
}

TEST(StoreGroupTest, IsLeftByAnException) {
  MemoryKeyValueStore store;
  auto first = store.connect();
  auto second = store.connect();
  std::thread chief([&, user = std::move(first)] {
    StoreGroup group(user, rank_of(store, 0, 2));
    EXPECT_THROW(group.barrier(), RankFailedError);
  });
  try {
    const StoreGroup group(std::move(second), rank_of(store, 1, 2));
    throw std::runtime_error("no memory for the model");
  } catch (const std::runtime_error&) {
  }
  chief.join();
}

TEST(StoreGroupTest, RefusesACallDuringAnother) {
  MemoryKeyValueStore store;
  auto own = store.connect();
  const auto other = store.connect();  // Does not wait, so the time does not advance.
  StoreGroup group(std::move(own), rank_of(store, 0, 2));
  std::thread first([&] { EXPECT_THROW(group.barrier(), UnavailableError); });
  wait_until("the first call", [&] { return store.num_waiting() == 1; });
  EXPECT_THAT([&] { group.barrier(); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("two calls at the same time")));
  store.disconnect_all();
  first.join();
}

}  // namespace
}  // namespace crochet
