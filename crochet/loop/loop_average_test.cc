// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

class LoopAverageTest : public testing::Test {
 protected:
  // The averages after each step until `last_step`, in a program that counts.
  std::vector<double> averages(int64_t last_step, int64_t steps = 3) {
    std::vector<double> seen;
    int64_t count = 0;
    Loop loop(
        {.checkpoint = {.dir = "run", .every_steps = 2},
         .summaries = {.every_steps = 0, .count_every_steps = 0},
         .hooks = {every({.steps = 1}, "mean", [&](int64_t, double mean) { seen.push_back(mean); }),
                   StopAtStepHook({.last_step = last_step})},
         .files = &files_,
         .clock = &clock_});
    loop.track("count", count);
    loop.average("mean", [&] { return 1 / static_cast<double>(count); }, {.steps = steps});
    loop.run([&] { ++count; });
    return seen;
  }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_;
};

TEST_F(LoopAverageTest, IsTheMeanOfTheLastSteps) {
  EXPECT_THAT(averages(5),
              ElementsAre(1, (1 + 1. / 2) / 2, (1 + 1. / 2 + 1. / 3) / 3,
                          (1. / 2 + 1. / 3 + 1. / 4) / 3, (1. / 3 + 1. / 4 + 1. / 5) / 3));
}

TEST_F(LoopAverageTest, AResumedRunHasTheSameMeans) {
  const std::vector<double> whole = averages(20);
  files_ = MemoryFileSystem();
  std::vector<double> in_parts;
  for (const int64_t last_step : {1, 2, 5, 9, 20})
    for (const double mean : averages(last_step)) in_parts.push_back(mean);
  EXPECT_EQ(in_parts, whole);
}

TEST_F(LoopAverageTest, ARunMayAverageOverFewerStepsThanItsCheckpoint) {
  averages(10, 5);
  EXPECT_THAT(averages(11, 2), ElementsAre((1. / 10 + 1. / 11) / 2));
}

TEST_F(LoopAverageTest, LeavesOutStepsWithoutAValue) {
  std::vector<std::optional<double>> seen;
  Loop loop({.hooks = {every({.steps = 1}, "mean",
                             [&](int64_t, std::optional<double> mean) { seen.push_back(mean); }),
                       StopAtStepHook({.last_step = 4})}});
  int64_t step = 0;
  loop.average("mean", [&] {
    return step % 2 == 0 ? std::optional(static_cast<double>(step)) : std::nullopt;
  });
  loop.run([&] { ++step; });
  EXPECT_THAT(seen, ElementsAre(std::nullopt, 2, 2, 3));
}

TEST_F(LoopAverageTest, RejectsImpossibleOnes) {
  Loop loop({});
  EXPECT_THAT([&] { loop.average("mean", [] { return 1.0; }, {.steps = 0}); },
              ThrowsMessage<InvalidArgumentError>(HasSubstr("Loop::average: steps is 0")));
}

TEST_F(LoopAverageTest, ANameIsThatOfOneValueOrAverage) {
  const auto one = [] { return 1.0; };
  Loop loop({.hooks = {StopAtStepHook({.last_step = 1})}});
  loop.average("mean", one);
  loop.scalar("loss", one);
  const auto refused = [](const std::string& name) {
    return ThrowsMessage<AlreadyExistsError>(fmt::format(
        "Loop: \"{}\" is the name of two scalars, averages, histograms, texts or values", name));
  };
  EXPECT_THAT([&] { loop.average("mean", one); }, refused("mean"));
  EXPECT_THAT([&] { loop.scalar("mean", one); }, refused("mean"));
  EXPECT_THAT([&] { loop.average("loss", one); }, refused("loss"));
  EXPECT_THAT([&] { loop.average("", one); },
              ThrowsMessage<InvalidArgumentError>(
                  "Loop: a scalar, average, histogram, text or value has no name"));
  EXPECT_EQ(loop.run([] {}).last_step, 1) << "the refused ones have no effect";
}

}  // namespace
}  // namespace crochet
