// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Epochs and schedules in a loop, killed and resumed.
#include <signal.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/every_epoch.h"
#include "crochet/loop/loop.h"
#include "crochet/loop/schedules.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"
#include "crochet/tracking/epochs.h"
#include "tests/support/forked_child.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::ThrowsMessage;

constexpr int64_t kNumExamples = 50;
constexpr int64_t kNumEpochs = 4;
constexpr int64_t kStepsPerEpoch = 7;

// docs/loop.md's program: every batch and learning rate goes into `model`, in order.
RunReport train_epochs(const std::string& directory, int64_t killed_in_step) {
  std::vector<double> examples(kNumExamples);
  for (size_t i = 0; i < examples.size(); ++i) examples[i] = static_cast<double>(i) + 0.1;
  double model = 0;
  int64_t attempts = 0;
  Loop loop({.checkpoint = {.dir = directory, .every_steps = 5, .saver = {.max_to_keep = 0}},
             .summaries = {.every_steps = 0, .count_every_steps = 0}});
  Epochs epochs(examples, {.batch_size = 8, .seed = 1, .num_epochs = kNumEpochs});
  CosineSchedule learning_rate({.initial = 1e-3, .steps = 25, .warm_up = 10});
  PlateauSchedule plateau({.initial = 0.5, .patience = 0});
  loop.track("model", model);
  loop.track("attempts", attempts);
  loop.track("epochs", epochs);
  loop.track("learning_rate", learning_rate);
  loop.track("plateau", plateau);
  loop.average("average", [&] { return model; }, {.steps = 6});
  return loop.run([&](Step& step) {
    const auto batch = epochs.next();
    if (++attempts % 11 == 0) return LoopAction::kSkip;
    for (const double example : batch)
      model = model * 0.9 + example * learning_rate.at(step.number()) * plateau.value();
    if (epochs.at_end()) {
      plateau.observe(static_cast<double>(step.number()));
      step.request_save("end of epoch");
    }
    if (step.number() == killed_in_step) ::raise(SIGKILL);
    return LoopAction::kContinue;
  });
}

double model_in(const std::string& directory) {
  const auto prefix = latest_checkpoint(FileSystem::posix(), directory);
  return prefix ? CheckpointReader(*prefix).read("model").scalar<double>() : -1;
}

TEST(LoopEpochsTest, AKilledProgramResumesBitForBit) {
  const LogCapture log;
  const TempDirectory temp;
  const std::string whole = temp.path() + "/whole";
  const std::string killed = temp.path() + "/killed";
  const RunReport report = train_epochs(whole, -1);
  EXPECT_EQ(report.epochs, kNumEpochs);
  EXPECT_EQ(report.stop.reason, "the data ended");
  const int64_t last_step = report.last_step;
  EXPECT_EQ(last_step + report.skipped_steps, kNumEpochs * kStepsPerEpoch);
  for (int64_t step = 1; step <= last_step; step += 2)
    EXPECT_EQ(
        run_in_child([&] { return static_cast<int>(train_epochs(killed, step).exit_code()); }),
        -SIGKILL)
        << step;
  EXPECT_EQ(train_epochs(killed, -1).last_step, last_step);
  EXPECT_EQ(model_in(killed), model_in(whole));
}

class EpochsInALoopTest : public testing::Test {
 protected:
  LoopOptions options(HookList hooks) {
    return {.checkpoint = {.dir = "run", .every_steps = 100},
            .summaries = {.every_steps = 1, .count_every_steps = 0},
            .hooks = std::move(hooks),
            .files = &files_,
            .clock = &clock_};
  }

  LogCapture log_;
  MemoryFileSystem files_;
  FakeClock clock_;
};

TEST_F(EpochsInALoopTest, TheEpochIsACurveAndInTheReport) {
  Epochs epochs(4, {.batch_size = 2});
  Loop loop(options({StopAtStepHook({.last_step = 5})}));
  loop.track("epochs", epochs);
  const RunReport report = loop.run([&] { epochs.next(); });
  EXPECT_EQ(report.epochs, 2.5);
  EXPECT_THAT(to_string(report), HasSubstr("step 5 (epoch 2.50, "));
  std::vector<std::pair<int64_t, double>> curve;
  for (const std::string& events : event_files(files_, "run"))
    for (const Event& event : read_event_file(files_, events))
      for (const SummaryValue& value : event.values)
        if (value.tag == "epoch") curve.emplace_back(event.step, value.simple_value);
  EXPECT_THAT(curve, ElementsAre(Pair(1, 0.5), Pair(2, 1), Pair(3, 1.5), Pair(4, 2), Pair(5, 2.5)));
}

struct TrainingData {
  Epochs<int64_t> epochs{4, {.batch_size = 2}};
  void track(Tracker& tracker) { tracker("epochs", epochs); }
};
struct Trainer {
  int64_t seen = 0;
  TrainingData data;
  void track(Tracker& tracker) { tracker("seen", seen)("data", data); }
};

TEST_F(EpochsInALoopTest, APartOfATrackedValueIsTheCurveToo) {
  std::vector<double> curve;
  const auto run = [&](auto& tracked, Trainer& trainer) {
    curve.clear();
    files_ = MemoryFileSystem();
    Loop loop(options(
        {StopAtStepHook({.last_step = 3}),
         every({.steps = 1}, "epoch", [&](int64_t, double epoch) { curve.push_back(epoch); })}));
    loop.track("trainer", tracked);
    return loop.run([&] { trainer.data.epochs.next(); }).epochs;
  };
  Trainer trainer;
  EXPECT_EQ(run(trainer, trainer), 1.5);
  EXPECT_THAT(curve, ElementsAre(0.5, 1, 1.5));
  auto pointer = std::make_unique<Trainer>();
  EXPECT_EQ(run(pointer, *pointer), 1.5);
  EXPECT_THAT(curve, ElementsAre(0.5, 1, 1.5));
  std::map<std::string, Trainer> trainers;
  EXPECT_EQ(run(trainers, trainers["only"]), 1.5);
  EXPECT_THAT(curve, ElementsAre(0.5, 1, 1.5));
}

TEST_F(EpochsInALoopTest, TheFirstOfSeveralIsTheCurve) {
  for (const bool nested_first : {true, false}) {
    Trainer nested;
    Epochs direct(8, {.batch_size = 2});
    Loop loop({.hooks = {StopAtStepHook({.num_steps = 1})}});
    if (nested_first) loop.track("nested", nested);
    loop.track("direct", direct);
    if (!nested_first) loop.track("nested", nested);
    const RunReport report = loop.run([&] {
      nested.data.epochs.next();
      direct.next();
    });
    EXPECT_EQ(report.epochs, nested_first ? 0.5 : 0.25);
  }
}

TEST_F(EpochsInALoopTest, EpochsThatAreGoneHaveNoProgress) {
  std::optional<Trainer> trainer(std::in_place);
  std::vector<std::optional<double>> seen;
  Loop loop(options({StopAtStepHook({.last_step = 3}),
                     every({.steps = 1}, "epoch",
                           [&](int64_t, std::optional<double> epoch) { seen.push_back(epoch); })}));
  loop.track("trainer", trainer);
  EXPECT_EQ(loop.run([&](Step& step) {
                  trainer->data.epochs.next();
                  if (step.number() == 3) trainer.reset();
                })
                .epochs,
            std::nullopt);
  EXPECT_THAT(seen, ElementsAre(0.5, 1, std::nullopt));
}

TEST_F(EpochsInALoopTest, TheProgramMayHaveItsOwnValueOfThatName) {
  Epochs epochs(4, {.batch_size = 2});
  Loop loop(options({StopAtStepHook({.last_step = 1})}));
  loop.track("epochs", epochs);
  loop.scalar("epoch", [] { return 7.0; });
  EXPECT_EQ(loop.run([&] { epochs.next(); }).epochs, 0.5);
}

TEST_F(EpochsInALoopTest, RunsWithoutEpochsReportNone) {
  Loop loop({.hooks = {StopAtStepHook({.last_step = 1})}});
  EXPECT_EQ(loop.run([] {}).epochs, std::nullopt);
}

TEST_F(EpochsInALoopTest, CallsAFunctionEveryEpoch) {
  std::vector<std::pair<int64_t, int64_t>> calls;
  for (const int64_t last_step : {3, 4, 10}) {
    Epochs epochs(6, {.batch_size = 2});
    int64_t count = 0;
    Loop loop(
        options({every_epoch(epochs, "seen",
                             [&](int64_t epoch, int64_t seen) { calls.emplace_back(epoch, seen); }),
                 StopAtStepHook({.last_step = last_step})}));
    loop.track("epochs", epochs);
    loop.track("count", count);
    loop.value("seen", [&] { return count; });
    loop.run([&] {
      epochs.next();
      ++count;
    });
  }
  EXPECT_THAT(calls, ElementsAre(Pair(1, 3), Pair(2, 6), Pair(3, 9)));
}

TEST_F(EpochsInALoopTest, CallsAFunctionAtOneEpoch) {
  std::vector<std::pair<int64_t, int64_t>> calls;
  for (const int64_t last_step : {5, 6, 7, 12}) {
    Epochs epochs(6, {.batch_size = 2});
    Loop loop(options(
        {at_epoch(epochs, 2, {}, [&](int64_t epoch) { calls.emplace_back(epoch, last_step); }),
         StopAtStepHook({.last_step = last_step})}));
    loop.track("epochs", epochs);
    loop.run([&] { epochs.next(); });
  }
  EXPECT_THAT(calls, ElementsAre(Pair(2, 6)));
}

TEST_F(EpochsInALoopTest, CallsItAlsoIfAStepCompletesSeveralEpochs) {
  std::vector<int64_t> calls;
  Epochs epochs(2, {.batch_size = 2});
  Loop loop(options({at_epoch(epochs, 2, {}, [&](int64_t epoch) { calls.push_back(epoch); }),
                     StopAtStepHook({.last_step = 3})}));
  loop.track("epochs", epochs);
  loop.run([&] {
    for (int i = 0; i < 3; ++i) epochs.next();
  });
  EXPECT_THAT(calls, ElementsAre(3));
  EXPECT_THAT([&] { at_epoch(epochs, 0, {}, [](int64_t) {}); },
              ThrowsMessage<InvalidArgumentError>("at_epoch: epoch is 0, expected 1 or more"));
}

// The attempt that took the last batch of the epoch was skipped.
TEST_F(EpochsInALoopTest, CallsItAfterASkippedLastBatchToo) {
  std::vector<int64_t> calls;
  Epochs epochs(6, {.batch_size = 2, .num_epochs = 3});
  Loop loop(options({every_epoch(epochs, {}, [&](int64_t epoch) { calls.push_back(epoch); })}));
  loop.track("epochs", epochs);
  loop.run([&] {
    epochs.next();
    return epochs.at_end() && epochs.number() < 3 ? LoopAction::kSkip : LoopAction::kContinue;
  });
  EXPECT_THAT(calls, ElementsAre(1, 2, 3));
}

TEST_F(EpochsInALoopTest, AnEpochOverDataThatShrankBeginsAgainWithTheOptionThatTheErrorNames) {
  std::vector<int64_t> visited;
  const auto run = [&](int64_t size, int64_t last_step, const NamePatterns& keep = false) {
    Epochs epochs(size, {.batch_size = 2});
    LoopOptions with = options({StopAtStepHook({.last_step = last_step})});
    with.restore.keep = keep;
    Loop loop(std::move(with));
    loop.track("epochs", epochs);
    visited.clear();
    loop.run([&] {
      for (const int64_t index : epochs.next()) visited.push_back(index);
    });
    return epochs.number();
  };
  run(6, 3);
  EXPECT_EQ(run(8, 5), 2) << "after a whole epoch";
  EXPECT_EQ(run(10, 7), 2) << "it has grown: the epoch is completed";
  EXPECT_EQ(run(10, 8), 3);
  EXPECT_THAT([&] { run(6, 11); },
              ThrowsMessage<InvalidArgumentError>(
                  testing::AllOf(HasSubstr("the data has 6 elements, expected at least 10"),
                                 HasSubstr("{.keep = {\"<name of the Epochs>/position\"}}"))));
  EXPECT_EQ(run(6, 11, {"epochs/position"}), 3);
  EXPECT_THAT(visited, testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5)) << "of epoch 3";
}

}  // namespace
}  // namespace crochet
