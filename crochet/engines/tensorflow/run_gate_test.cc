// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/engines/tensorflow/run_gate.h"

#include <latch>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"

namespace crochet::tensorflow::internal {
namespace {

using Pass = RunGate::Pass;

TEST(RunGateTest, LetsReadersAndChangesPassTogether) {
  RunGate gate;
  const Pass first(gate, Access::kChange, "run");
  const Pass second(gate, Access::kChange, "run");
  const Pass third(gate, Access::kRead, "run");
}

TEST(RunGateTest, LetsReadersPassBesideAnExclusiveOne) {
  RunGate gate;
  const Pass exclusive(gate, Access::kExclusive, "snapshot");
  const Pass reader(gate, Access::kRead, "run");
}

TEST(RunGateTest, KeepsChangesAndExclusiveOnesApart) {
  RunGate gate;
  int value = 0;  // Unguarded: a sanitizer, or the sum, tells if two were inside.
  constexpr int kRounds = 500;
  const auto add = [&](Access access) {
    for (int i = 0; i < kRounds; ++i) {
      const Pass pass(gate, access, "run");
      ++value;
    }
  };
  std::thread changing([&] { add(Access::kChange); });
  std::thread exclusive([&] { add(Access::kExclusive); });
  add(Access::kExclusive);
  changing.join();
  exclusive.join();
  EXPECT_EQ(value, 3 * kRounds);
}

TEST(RunGateTest, RefusesAllOnceClosed) {
  RunGate gate;
  EXPECT_TRUE(gate.close());
  EXPECT_FALSE(gate.close());
  for (const Access access : {Access::kRead, Access::kChange, Access::kExclusive})
    EXPECT_THAT([&] { Pass(gate, access, "assign"); },
                testing::ThrowsMessage<FailedPreconditionError>("assign on a closed session"));
  gate.wait_until_empty();
}

TEST(RunGateTest, TurnsAwayThoseWhoWaitWhenItIsClosed) {
  RunGate gate;
  std::optional<Pass> inside(std::in_place, gate, Access::kChange, "run");
  std::latch asked(1);
  std::thread waiting([&] {
    asked.count_down();
    EXPECT_THROW(Pass(gate, Access::kExclusive, "snapshot"), FailedPreconditionError);
  });
  asked.wait();
  gate.close();
  waiting.join();
  inside.reset();
  gate.wait_until_empty();
}

TEST(RunGateTest, TurnsAwayThoseWhoWaitedForTooLong) {
  RunGate gate;
  const std::chrono::milliseconds limit(1);
  {
    const Pass inside(gate, Access::kExclusive, "snapshot");
    EXPECT_THAT([&] { Pass(gate, Access::kChange, "run", limit); },
                testing::ThrowsMessage<DeadlineExceededError>(
                    testing::HasSubstr("run did not begin within 1 ms")));
    EXPECT_THROW(Pass(gate, Access::kExclusive, "assign", limit), DeadlineExceededError);
  }
  // Those who were turned away keep nobody waiting.
  const Pass changing(gate, Access::kChange, "run", limit);
  // More than a clock can count.
  const Pass patient(gate, Access::kChange, "run", std::chrono::milliseconds::max());
}

TEST(RunGateTest, WaitsForThoseInside) {
  RunGate gate;
  std::optional<Pass> inside(std::in_place, gate, Access::kRead, "run");
  bool is_empty = false;
  gate.close();
  std::thread closing([&] {
    gate.wait_until_empty();
    EXPECT_TRUE(is_empty);
  });
  is_empty = true;
  inside.reset();
  closing.join();
}

}  // namespace
}  // namespace crochet::tensorflow::internal
