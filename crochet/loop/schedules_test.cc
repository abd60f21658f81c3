// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The expected numbers are those of PyTorch's documentation of torch.optim.lr_scheduler, or its
// formulas computed in Python.
#include "crochet/loop/schedules.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/testing/log_capture.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pointwise;
using testing::ThrowsMessage;

MATCHER(IsNearly, "") {
  const auto& [found, expected] = arg;
  return std::abs(found - expected) <= 1e-15 * std::max(1e-3, std::abs(expected)) * 10;
}

// The values after `steps` steps (PyTorch's last_epoch).
std::vector<double> after(const Schedule& schedule, const std::vector<int64_t>& steps) {
  std::vector<double> values;
  for (const int64_t step : steps) values.push_back(schedule.at(step + 1));
  return values;
}

TEST(SchedulesTest, StepIsStepLR) {
  const StepSchedule schedule({.initial = 0.05, .step_size = 30, .gamma = 0.1});
  EXPECT_THAT(after(schedule, {0, 29, 30, 59, 60, 89, 90}),
              Pointwise(IsNearly(), {0.05, 0.05, 0.005, 0.005, 0.0005, 0.0005, 0.00005}));
}

TEST(SchedulesTest, MultiStepIsMultiStepLR) {
  const MultiStepSchedule schedule({.initial = 0.05, .milestones = {30, 80}, .gamma = 0.1});
  EXPECT_THAT(after(schedule, {0, 29, 30, 79, 80, 1000}),
              Pointwise(IsNearly(), {0.05, 0.05, 0.005, 0.005, 0.0005, 0.0005}));
}

TEST(SchedulesTest, ExponentialIsExponentialLR) {
  const ExponentialSchedule schedule({.initial = 0.1, .gamma = 0.95});
  EXPECT_THAT(after(schedule, {0, 1, 10, 100}),
              Pointwise(IsNearly(), {0.1, 0.095, 0.05987369392383787, 0.0005920529220333997}));
}

TEST(SchedulesTest, CosineIsCosineAnnealingLR) {
  const CosineSchedule schedule({.initial = 0.1, .steps = 100, .minimum = 0.001});
  EXPECT_THAT(
      after(schedule, {0, 25, 50, 99, 100}),
      Pointwise(IsNearly(), {0.1, 0.0855017856687341, 0.0505, 0.0010244252618962857, 0.001}));
  // PyTorch's rises again; see docs/loop.md.
  EXPECT_THAT(after(schedule, {101, 150, 1'000'000}), ElementsAre(0.001, 0.001, 0.001));
}

// SequentialLR([LinearLR(start_factor=1/2, total_iters=4), ...], milestones=[4]).
TEST(SchedulesTest, TheWarmUpIsLinearLR) {
  const MultiStepSchedule schedule({.initial = 0.05, .warm_up = 4, .warm_up_from = 0.5});
  EXPECT_THAT(after(schedule, {0, 1, 2, 3, 4, 5}),
              Pointwise(IsNearly(), {0.025, 0.03125, 0.0375, 0.04375, 0.05, 0.05}));
}

// As the transformers library's get_cosine_schedule_with_warmup(100, 2000).
TEST(SchedulesTest, ComposesAWarmUpWithTheRest) {
  const CosineSchedule cosine({.initial = 1e-3, .steps = 2000, .warm_up = 100});
  EXPECT_THAT(after(cosine, {0, 1, 50, 99, 100, 101, 575, 1050, 1999, 2000}),
              Pointwise(IsNearly(), {0.0, 1e-5, 0.0005, 0.00099, 0.001, 0.0009999993165095463,
                                     0.0008535533905932737, 0.0005, 6.834904537900144e-10, 0.0}));
  const StepSchedule steps({.initial = 1, .step_size = 10, .gamma = 0.5, .warm_up = 2});
  EXPECT_THAT(after(steps, {0, 1, 2, 11, 12, 22}),
              Pointwise(IsNearly(), {0.0, 0.5, 1.0, 1.0, 0.5, 0.25}));
}

TEST(SchedulesTest, StepsBelow1AreTheFirst) {
  const ExponentialSchedule schedule({.initial = 0.1, .gamma = 0.5});
  for (const int64_t step : {int64_t{0}, int64_t{-5}, std::numeric_limits<int64_t>::min() + 1})
    EXPECT_EQ(schedule.at(step), 0.1);
}

TEST(SchedulesTest, RejectsImpossibleOptions) {
  EXPECT_THROW(StepSchedule({.initial = 1}), InvalidArgumentError);
  EXPECT_THROW(StepSchedule({.initial = NAN, .step_size = 1}), InvalidArgumentError);
  EXPECT_THROW(MultiStepSchedule({.initial = 1, .milestones = {2, 1}}), InvalidArgumentError);
  EXPECT_THROW(MultiStepSchedule({.initial = 1, .warm_up = -1}), InvalidArgumentError);
  EXPECT_THROW(ExponentialSchedule({.initial = 1}), InvalidArgumentError);
  EXPECT_THROW(PlateauSchedule({.initial = 1, .factor = 1}), InvalidArgumentError);
  EXPECT_THROW(PlateauSchedule({.initial = 1, .patience = -1}), InvalidArgumentError);
  EXPECT_THAT([] { CosineSchedule({.initial = 1, .steps = 100, .warm_up = 100}); },
              ThrowsMessage<InvalidArgumentError>(
                  HasSubstr("steps is 100, expected more than warm_up, which is 100")));
}

// The program's options count; the log has both.
TEST(SchedulesTest, NotesThatTheOptionsHaveChanged) {
  const LogCapture log;
  CosineSchedule now({.initial = 1e-3, .steps = 4000});
  now.restore(now.save());
  EXPECT_THAT(log.lines(), IsEmpty());
  now.restore(CosineSchedule({.initial = 1e-3, .steps = 2000}).save());
  EXPECT_TRUE(
      log.contains("CosineSchedule: the checkpoint was saved with other options: found [0.001, "
                   "2000, 0, 0, 0], uses [0.001, 4000, 0, 0, 0]"));
  EXPECT_EQ(now.at(4001), 0);
  EXPECT_GT(now.at(2001), 0);
}

TEST(SchedulesTest, RejectsStatesThatTheyCannotHaveSaved) {
  CosineSchedule cosine({.initial = 1, .steps = 2});
  PlateauSchedule plateau({.initial = 1});
  for (Schedule* const schedule :
       {static_cast<Schedule*>(&cosine), static_cast<Schedule*>(&plateau)}) {
    EXPECT_THROW(schedule->restore({}), InvalidArgumentError);
    EXPECT_THROW(schedule->restore({{"", Tensor::scalar(1.0)}}), InvalidArgumentError);
    EXPECT_THROW(schedule->restore({{"", Tensor::from<float>({1})}}), InvalidArgumentError);
  }
  TensorMap wrong = plateau.save();
  auto numbers = wrong.at("").mutable_flat<double>();
  numbers.back() = -1;
  EXPECT_THROW(plateau.restore(wrong), InvalidArgumentError);
  EXPECT_EQ(plateau.value(), 1);
}

// ReduceLROnPlateau's rule: more than `patience` metrics in a row that are not better.
TEST(PlateauScheduleTest, FallsAfterMetricsThatAreNotBetter) {
  PlateauSchedule rate({.initial = 1, .factor = 0.5, .patience = 1});
  const auto observe = [&](double metric) {
    rate.observe(metric);
    return rate.value();
  };
  EXPECT_EQ(observe(1.0), 1);
  EXPECT_EQ(observe(1.0), 1);      // 1 bad one.
  EXPECT_EQ(observe(0.5), 1);      // Better: the count starts again.
  EXPECT_EQ(observe(0.49999), 1);  // Not by the threshold: 1e-4 of 0.5.
  EXPECT_EQ(observe(NAN), 0.5);
  EXPECT_EQ(observe(0.6), 0.5);
  EXPECT_EQ(observe(0.6), 0.25);
}

TEST(PlateauScheduleTest, HasACooldownAMinimumAndAnEps) {
  PlateauSchedule rate(
      {.initial = 1, .factor = 0.1, .patience = 0, .cooldown = 2, .minimum = 0.05});
  std::vector<double> values;
  for (int i = 0; i < 9; ++i) {
    rate.observe(1);
    values.push_back(rate.value());
  }
  EXPECT_THAT(values, ElementsAre(1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05));
  PlateauSchedule fine({.initial = 1e-8, .patience = 0});
  for (int i = 0; i < 5; ++i) fine.observe(1);
  EXPECT_EQ(fine.value(), 1e-8);  // The reduction would be smaller than eps.
}

TEST(PlateauScheduleTest, MayWantAHigherMetric) {
  PlateauSchedule rate(
      {.initial = 1, .mode = PlateauScheduleOptions::Mode::kMax, .factor = 0.5, .patience = 0});
  rate.observe(0.5);
  rate.observe(0.6);
  EXPECT_EQ(rate.value(), 1);
  rate.observe(0.6);
  EXPECT_EQ(rate.value(), 0.5);
}

TEST(PlateauScheduleTest, ContinuesExactlyFromItsState) {
  const PlateauScheduleOptions options{
      .initial = 0.3, .factor = 0.7, .patience = 2, .cooldown = 1, .warm_up = 3};
  const auto metric = [](int i) { return std::sin(i * 1.7) + 1.0 / (i + 1); };
  for (int saved_after = 0; saved_after < 20; ++saved_after) {
    PlateauSchedule one(options), other(options);
    for (int i = 0; i < saved_after; ++i) one.observe(metric(i));
    other.observe(-100);
    other.restore(one.save());
    for (int i = saved_after; i < 40; ++i) {
      ASSERT_EQ(other.at(i), one.at(i));
      one.observe(metric(i));
      other.observe(metric(i));
    }
    EXPECT_EQ(other.save(), one.save());
  }
}

TEST(PlateauScheduleTest, StartsAfreshAfterAnotherSchedule) {
  const LogCapture log;
  PlateauSchedule rate({.initial = 0.3});
  rate.restore(CosineSchedule({.initial = 1, .steps = 10}).save());
  EXPECT_EQ(rate.value(), 0.3);
  EXPECT_TRUE(log.contains("other options"));
}

}  // namespace
}  // namespace crochet
