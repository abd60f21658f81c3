// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/pending_signal.h"

#include <signal.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/internal/signal_request.h"

namespace crochet {
namespace {

using ::testing::ThrowsMessage;

class PendingSignalTest : public ::testing::Test {
 protected:
  ~PendingSignalTest() override { set_pending_signal(0); }
};

TEST_F(PendingSignalTest, IsInitiallyZero) {
  EXPECT_EQ(pending_signal(), 0);
  EXPECT_NO_THROW(throw_if_signalled("restoring"));
}

TEST_F(PendingSignalTest, IsSetFromAHandler) {
  const auto previous = ::signal(SIGUSR1, [](int signal) { set_pending_signal(signal); });
  ::raise(SIGUSR1);
  ::signal(SIGUSR1, previous);
  EXPECT_EQ(pending_signal(), SIGUSR1);
}

TEST_F(PendingSignalTest, CutsLongWorkShort) {
  set_pending_signal(SIGTERM);
  EXPECT_THAT([] { throw_if_signalled("restoring"); },
              ThrowsMessage<CancelledError>("restoring cut short by SIGTERM"));
  set_pending_signal(0);
  EXPECT_NO_THROW(throw_if_signalled("restoring"));
}

constexpr int64_t kSecond = 1'000'000'000;

TEST_F(PendingSignalTest, SeveralSignalsWithinASecondAreOneRequest) {
  EXPECT_FALSE(internal::record_signal_at(SIGUSR1, 0));
  for (const int signal : {SIGTERM, SIGINT, SIGINT, SIGTERM, SIGTERM})
    EXPECT_FALSE(internal::record_signal_at(signal, kSecond));
  EXPECT_EQ(pending_signal(), SIGUSR1);
}

TEST_F(PendingSignalTest, APersonEndsTheProcessByAskingAgain) {
  EXPECT_FALSE(internal::record_signal_at(SIGINT, 0));
  EXPECT_FALSE(internal::record_signal_at(SIGINT, kSecond));
  EXPECT_TRUE(internal::record_signal_at(SIGINT, kSecond + 1));
}

TEST_F(PendingSignalTest, AProgramEndsTheProcessByTheThirdRequest) {
  EXPECT_FALSE(internal::record_signal_at(SIGUSR1, 0));
  EXPECT_FALSE(internal::record_signal_at(SIGTERM, 2 * kSecond));
  EXPECT_FALSE(internal::record_signal_at(SIGTERM, 3 * kSecond));  // Part of the second.
  EXPECT_TRUE(internal::record_signal_at(SIGTERM, 4 * kSecond));
  set_pending_signal(0);  // A new request begins to count again.
  EXPECT_FALSE(internal::record_signal_at(SIGTERM, 9 * kSecond));
  EXPECT_FALSE(internal::record_signal_at(SIGTERM, 19 * kSecond));
}

TEST_F(PendingSignalTest, HasAName) {
  EXPECT_EQ(signal_name(SIGTERM), "SIGTERM");
  EXPECT_EQ(signal_name(SIGINT), "SIGINT");
  EXPECT_EQ(signal_name(99), "signal 99");
  EXPECT_EQ(signal_name(-1), "signal -1");
}

TEST(PendingSignalAgeTest, CountsFromTheFirstSignal) {
  set_pending_signal(0);
  EXPECT_EQ(pending_signal_age(), Clock::Duration::zero());
  set_pending_signal(15);
  const Clock::Duration age = pending_signal_age();
  EXPECT_GE(age, Clock::Duration::zero());
  set_pending_signal(2);
  EXPECT_GE(pending_signal_age(), age);
  set_pending_signal(0);
  EXPECT_EQ(pending_signal_age(), Clock::Duration::zero());
}

}  // namespace
}  // namespace crochet
