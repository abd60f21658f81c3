// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/local/run_token.h"

#include <array>
#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::local {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Access kAll[] = {Access::kNone, Access::kShared, Access::kExclusive, Access::kAlone};

TEST(RunTokenTest, IsRefusedToTheThreadThatHasIt) {
  for (const Access held : kAll)
    for (const Access asked : kAll) {
      RunToken token;
      RunToken other;
      {
        const RunToken::Holder holder(token, held, "run");
        const RunToken::Holder in_between(other, held, "run");
        EXPECT_THAT([&] { RunToken::Holder(token, asked, "snapshot"); },
                    ThrowsMessage<FailedPreconditionError>(HasSubstr("snapshot")));
      }
      RunToken::Holder(token, asked, "snapshot");
    }
}

// True if a second thread gets `asked` while this one has `held`: no deadlock, so it does at once.
void expect_beside(Access held, Access asked) {
  RunToken token;
  const RunToken::Holder holder(token, held, "first");
  std::jthread([&] { RunToken::Holder(token, asked, "second"); }).join();
}

TEST(RunTokenTest, IsSharedByThoseWhoDoNotDisturbOneAnother) {
  expect_beside(Access::kNone, Access::kNone);
  expect_beside(Access::kNone, Access::kShared);
  expect_beside(Access::kNone, Access::kExclusive);
  expect_beside(Access::kShared, Access::kNone);
  expect_beside(Access::kShared, Access::kShared);
  expect_beside(Access::kExclusive, Access::kNone);
}

// Counts who is there, and who should not be.
TEST(RunTokenTest, IsGivenToNobodyWhoWouldDisturbAnother) {
  RunToken token;
  std::array<std::atomic<int>, 4> inside = {};
  const auto number = [&](Access access) { return inside[static_cast<size_t>(access)].load(); };
  std::atomic<int> wrong = 0;
  std::vector<std::jthread> threads;
  for (const Access access : {Access::kNone, Access::kShared, Access::kShared, Access::kExclusive,
                              Access::kExclusive, Access::kAlone})
    threads.emplace_back([&, access] {
      for (int i = 0; i < 50; ++i) {
        const RunToken::Holder holder(token, access, "run");
        ++inside[static_cast<size_t>(access)];
        std::this_thread::yield();
        const int changing = number(Access::kExclusive) + number(Access::kAlone);
        const int sharing = number(Access::kShared);
        if (access == Access::kShared && changing > 0) ++wrong;
        if (access == Access::kExclusive && (changing > 1 || sharing > 0)) ++wrong;
        if (access == Access::kAlone && (changing > 1 || sharing + number(Access::kNone) > 0))
          ++wrong;
        if (access == Access::kNone && number(Access::kAlone) > 0) ++wrong;
        --inside[static_cast<size_t>(access)];
      }
    });
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

void wait_until(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::yield();
}

// Threads that share it without a pause do not keep it from one who wants it exclusively.
TEST(RunTokenTest, IsSharedNoMoreOnceSomebodyWantsItExclusively) {
  RunToken token;
  std::atomic<bool> shared = false;
  std::jthread writer;
  std::jthread reader;
  {
    const RunToken::Holder holder(token, Access::kShared, "run");
    writer = std::jthread([&] {
      const RunToken::Holder exclusive(token, Access::kExclusive, "assign");
      EXPECT_FALSE(shared);
    });
    wait_until([&] { return token.num_waiting() == 1; });
    reader = std::jthread([&] {
      const RunToken::Holder again(token, Access::kShared, "run");
      shared = true;
    });
    wait_until([&] { return token.num_waiting() == 2 || shared; });
    EXPECT_FALSE(shared);
  }
  writer.join();
  reader.join();
  EXPECT_TRUE(shared);
}

}  // namespace
}  // namespace crochet::local
