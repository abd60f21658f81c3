// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/testing/memory_key_value_store.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

constexpr std::chrono::hours kHour(1);

TEST(MemoryKeyValueStoreTest, KeepsValuesAndSums) {
  MemoryKeyValueStore store;
  const auto user = store.connect();
  user->set("b", "1");
  user->set("b", "2");
  EXPECT_THAT(user->get("b", kHour), Optional(std::string("2")));
  EXPECT_EQ(user->add("a", 2), 2);
  EXPECT_EQ(user->add("a", -5), -3);
  EXPECT_THAT(store.keys(), ElementsAre("a", "b"));
  user->remove("a");
  user->remove("b");
  user->remove("b");
  EXPECT_THAT(store.keys(), IsEmpty());
}

TEST(MemoryKeyValueStoreTest, TimeAdvancesToTheEndOfTheShortestWait) {
  MemoryKeyValueStore store;
  const auto user = store.connect();
  const Clock::TimePoint start = store.clock().now();
  EXPECT_EQ(user->get("x", kHour), std::nullopt);
  EXPECT_EQ(store.clock().now() - start, kHour);
  EXPECT_EQ(user->get("x", Clock::Duration::zero()), std::nullopt);
  EXPECT_TRUE(store.clock().sleep_for(kHour));
  EXPECT_EQ(store.clock().now() - start, 2 * kHour);
}

TEST(MemoryKeyValueStoreTest, TimeDoesNotAdvanceWhileAUserIsBusy) {
  MemoryKeyValueStore store;
  const auto own = store.connect();
  std::thread other([user = store.connect()]() mutable {
    user->set("x", "1");
    user.reset();
  });
  const Clock::TimePoint start = store.clock().now();
  EXPECT_THAT(own->get("x", kHour), Optional(std::string("1")));
  EXPECT_EQ(store.clock().now(), start);
  other.join();
}

TEST(MemoryKeyValueStoreTest, ReportsThatItIsDisconnected) {
  MemoryKeyValueStore store;
  const auto user = store.connect();
  store.disconnect_all();
  EXPECT_THROW(user->set("x", "1"), UnavailableError);
  EXPECT_THROW(user->get("x", kHour), UnavailableError);
}

}  // namespace
}  // namespace crochet
