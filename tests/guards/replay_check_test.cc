// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Steps that are made again: a result that was wrong once is found, and put right.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/guards/replay_check_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/outputs/outputs.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/tracking/epochs.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

struct DrawingModel {
  std::vector<float> weights = std::vector<float>(50);
  std::vector<std::vector<double>> layers = {std::vector<double>(10), std::vector<double>(20)};
  std::mt19937 random{5};

  void step(int number) {
    for (float& weight : weights)
      weight += static_cast<float>(random() % 1000) * static_cast<float>(number);
    for (auto& layer : layers)
      for (double& each : layer) each += 1.0 / (1 + static_cast<double>(random() % 7));
  }
  void track(Tracker& tracker) { tracker("weights", weights)("layers", layers)("random", random); }
  friend bool operator==(const DrawingModel&, const DrawingModel&) = default;
};

class ReplayCheckTest : public testing::Test {
 protected:
  struct Result {
    DrawingModel model = {};
    std::string rows = {};
    double mean = 0;
    std::vector<std::string> checkpoints = {};
    int64_t checks = 0;
    int64_t corrections = 0;
    int64_t calls = 0;  // Of the body.
  };

  // Makes 20 steps. `change` is called at the end of each, with its number, and how often the body
  // has made that step.
  Result train(const std::string& directory, std::optional<ReplayCheckHookOptions> options,
               const std::function<void(Step& step, int time, DrawingModel& model)>& change) {
    Result result;
    const std::vector<int> numbers = {1, 2, 3, 4, 5, 6, 7};
    std::shared_ptr<ReplayCheckHook> hook;
    HookList hooks = {StopAtStepHook({.last_step = 20})};
    if (options) {
      hook = std::make_shared<ReplayCheckHook>(*options);
      hooks.emplace_back(hook);
    }
    Loop loop({.checkpoint = {.dir = directory, .every_steps = 5, .saver = {.max_to_keep = 0}},
               .summaries = {.every_steps = 0, .count_every_steps = 0},
               .hooks = std::move(hooks),
               .files = &files_,
               .clock = &clock_});
    Epochs epochs(numbers, {.batch_size = 2, .seed = 3});
    OutputFile rows(directory + "/rows.csv", {.files = &files_});
    loop.track("model", result.model);
    loop.track("epochs", epochs);
    loop.track("rows", rows);
    loop.average("mean", [&] { return result.model.layers[0][0]; }, {.steps = 6});
    std::vector<int> times(100);
    loop.run([&](Step& step) {
      ++result.calls;
      const int time = ++times[static_cast<size_t>(step.number())];
      int sum = 0;
      for (const int number : epochs.next()) sum += number;
      result.model.step(sum);
      rows << step.number() << ',' << result.model.weights[3] << '\n';
      change(step, time, result.model);
    });
    if (hook) {
      result.checks = hook->num_checks();
      result.corrections = hook->num_corrections();
    }
    result.rows = read_file(files_, directory + "/rows.csv");
    result.checkpoints = list_checkpoints(files_, directory, "model.ckpt");
    return result;
  }
  Result train(const std::string& directory, std::optional<ReplayCheckHookOptions> options) {
    return train(directory, options, [](Step&, int, DrawingModel&) {});
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
};

TEST_F(ReplayCheckTest, ARunThatIsCheckedIsAsOneThatIsNot) {
  const Result expected = train("a", {});
  for (const int64_t num_steps : {1, 3}) {
    const Result checked =
        train(fmt::format("b{}", num_steps), {{.every_n_steps = 4, .num_steps = num_steps}});
    EXPECT_EQ(checked.model, expected.model);
    EXPECT_EQ(checked.rows, expected.rows);
    EXPECT_EQ(checked.checks, 5);
    EXPECT_EQ(checked.corrections, 0);
    EXPECT_EQ(checked.calls, 20 + 5 * num_steps);
  }
  EXPECT_THAT(log_.lines(), Not(Contains(HasSubstr("ReplayCheckHook"))));
}

// What a step requested the first time is not requested again later.
TEST_F(ReplayCheckTest, RequestsOfStepsCountOnce) {
  const Result result = train("run", {{.every_n_steps = 7}}, [](Step& step, int, DrawingModel&) {
    if (step.number() == 7) step.request_save("now");
  });
  std::vector<std::string> expected;
  for (const int step : {0, 5, 7, 10, 15, 20})
    expected.push_back(fmt::format("run/model.ckpt-{}", step));
  EXPECT_THAT(result.checkpoints, testing::UnorderedElementsAreArray(expected));
}

TEST_F(ReplayCheckTest, AWrongResultIsPutRight) {
  const Result expected = train("a", {});
  const Result found = train("b", {{.every_n_steps = 4, .num_steps = 2}},
                             [](Step& step, int time, DrawingModel& model) {
                               if (step.number() == 7 && time == 1) model.layers[1][3] += 1e-9;
                             });
  EXPECT_EQ(found.corrections, 1);
  EXPECT_EQ(found.model, expected.model);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_THAT(log_.lines(),
              Contains(AllOf(HasSubstr("steps 7 to 8, made again from the same state, gave another "
                                       "value of \"model/layers/1\""),
                             HasSubstr("the second one, which is kept"))));
}

TEST_F(ReplayCheckTest, AWrongRepetitionChangesNothing) {
  const Result expected = train("a", {});
  const Result found =
      train("b", {{.every_n_steps = 4}}, [](Step& step, int time, DrawingModel& model) {
        if (step.number() == 8 && time == 2) model.weights[3] += 1;
      });
  EXPECT_EQ(found.corrections, 1);
  EXPECT_EQ(found.model, expected.model);
  EXPECT_EQ(found.rows, expected.rows);
  EXPECT_THAT(log_.lines(), Contains(HasSubstr("the first one, which is kept")));
}

TEST_F(ReplayCheckTest, StepsThatDependOnMoreEndTheRun) {
  int64_t not_tracked = 0;
  EXPECT_THAT(
      [&] {
        train("run", {{.every_n_steps = 4}}, [&](Step&, int, DrawingModel& model) {
          model.weights[0] = static_cast<float>(++not_tracked);
        });
      },
      ThrowsMessage<DataLossError>(HasSubstr("a third time a third one")));
}

// 100 of 100, at any place. In the last step, since what is computed from a wrong number may be
// right: a sum rounds the smallest bits away.
TEST_F(ReplayCheckTest, FindsEachBitThatFlips) {
  const Result expected = train("expected", {});
  std::mt19937 random(11);
  for (int i = 0; i < 100; ++i) {
    const int64_t at = 4 * (1 + static_cast<int64_t>(random() % 5));
    const uint32_t place = random();
    const Result found = train(fmt::format("run{}", i), {{.every_n_steps = 4, .num_steps = 2}},
                               [&](Step& step, int time, DrawingModel& model) {
                                 if (step.number() != at || time != 1) return;
                                 const std::array<std::span<std::byte>, 3> arrays = {
                                     std::as_writable_bytes(std::span(model.weights)),
                                     std::as_writable_bytes(std::span(model.layers[0])),
                                     std::as_writable_bytes(std::span(model.layers[1]))};
                                 const std::span<std::byte> bytes = arrays[place % arrays.size()];
                                 bytes[(place / 3) % bytes.size()] ^=
                                     std::byte(1 << (place / 1000) % 8);
                               });
    EXPECT_EQ(found.corrections, 1) << i;
    EXPECT_EQ(found.model, expected.model) << i;
    EXPECT_EQ(found.rows, expected.rows) << i;
  }
}

TEST_F(ReplayCheckTest, RefusesOptions) {
  EXPECT_THROW(ReplayCheckHook({.every_n_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(ReplayCheckHook({.num_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(ReplayCheckHook({.every_n_steps = 2, .num_steps = 3}), InvalidArgumentError);
}

}  // namespace
}  // namespace crochet
