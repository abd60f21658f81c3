// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/loop.h"

#include <algorithm>
#include <limits>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/bundle/internal/bundle_writer.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_state.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/hooks/nan_tensor_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/straggler_hook.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;
using testing::ThrowsMessage;

class LoopTest : public testing::Test {
 protected:
  LoopOptions options(HookList hooks, int64_t save_steps = 5) {
    return {.checkpoint = {.dir = "run", .every_steps = save_steps},
            .summaries = {.every_steps = 0, .count_every_steps = 0},
            .hooks = std::move(hooks),
            .files = &files_,
            .clock = &clock_};
  }

  // A program that counts; each call stands for a new process.
  RunReport count_to(int64_t last_step, int64_t save_steps = 5) {
    int64_t count = 0;
    Loop loop(options({StopAtStepHook({.last_step = last_step})}, save_steps));
    loop.track("count", count);
    const RunReport report = loop.run([&] { ++count; });
    EXPECT_EQ(count, report.last_step);
    return report;
  }

  int64_t stored_count(int64_t step) {
    return CheckpointReader(fmt::format("run/model.ckpt-{}", step), files_)
        .read("count")
        .scalar<int64_t>();
  }

  MemoryFileSystem files_;
  FakeClock clock_;
  LogCapture log_;
};

// A run resumes in another format than that of the checkpoint it restores.
TEST_F(LoopTest, SavesInTheGivenFormat) {
  count_to(10);
  int64_t count = 0;
  LoopOptions with = options({StopAtStepHook({.last_step = 15})});
  with.checkpoint.saver.format = CheckpointFormat::kSafetensors;
  Loop loop(with);
  loop.track("count", count);
  EXPECT_EQ(loop.run([&] { ++count; }).resumed_from, 10);
  EXPECT_EQ(stored_count(10), 10);
  EXPECT_EQ(stored_count(15), 15);
  EXPECT_TRUE(files_.exists("run/model.ckpt-10.index"));
  EXPECT_TRUE(files_.exists("run/model.ckpt-15.safetensors"));
  EXPECT_FALSE(files_.exists("run/model.ckpt-15.index"));
  EXPECT_EQ(count_to(20).resumed_from, 15);
}

TEST_F(LoopTest, RunsUntilAHookStopsIt) {
  int steps = 0;
  Loop loop({.hooks = {StopAtStepHook({.num_steps = 7})}});
  const RunReport report = loop.run([&] { ++steps; });
  EXPECT_EQ(steps, 7);
  EXPECT_EQ(report.last_step, 7);
  EXPECT_EQ(report.stop.who, "StopAtStepHook");
  EXPECT_EQ(report.stop.reason, "reached step 7");
  EXPECT_EQ(report.resumed_from, std::nullopt);
  EXPECT_EQ(to_string(report), "step 7: StopAtStepHook: reached step 7");
}

TEST_F(LoopTest, PassesTheStepToTheBodyWhichMayStop) {
  std::vector<int64_t> numbers;
  Loop loop({});
  const RunReport report = loop.run([&](Step& step) {
    numbers.push_back(step.number());
    if (step.number() == 3) step.request_stop("three are enough");
  });
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3));
  EXPECT_EQ(report.stop.who, "the program");
  EXPECT_EQ(report.stop.reason, "three are enough");
}

TEST_F(LoopTest, ComputesThenUpdates) {
  std::vector<std::string> calls;
  Loop loop({.hooks = {StopAtStepHook({.num_steps = 2})}});
  loop.run([&] { calls.emplace_back("compute"); }, [&](Step&) { calls.emplace_back("update"); });
  EXPECT_THAT(calls, ElementsAre("compute", "update", "compute", "update"));
}

TEST_F(LoopTest, ResumesFromTheLastCheckpoint) {
  EXPECT_EQ(count_to(12).last_step, 12);
  const RunReport report = count_to(20);
  EXPECT_THAT(report.resumed_from, Optional(12));
  EXPECT_EQ(report.first_step, 12);
  EXPECT_EQ(report.last_step, 20);
  EXPECT_EQ(stored_count(20), 20);
  EXPECT_TRUE(log_.contains("restored run/model.ckpt-12"));
}

TEST_F(LoopTest, SavesAtTheStartPeriodicallyAndAtTheEnd) {
  const RunReport report = count_to(12);
  EXPECT_THAT(list_checkpoints(files_, "run", "model.ckpt"),
              ElementsAre("run/model.ckpt-0", "run/model.ckpt-5", "run/model.ckpt-10",
                          "run/model.ckpt-12"));
  EXPECT_EQ(report.saves, 4);
  for (const int64_t step : {0, 5, 10, 12}) EXPECT_EQ(stored_count(step), step);
}

TEST_F(LoopTest, MakesNoStepAndNoSaveIfTheTargetIsReached) {
  count_to(10);
  const std::string state = read_file(files_, "run/checkpoint");
  const RunReport report = count_to(10);
  EXPECT_EQ(report.first_step, 10);
  EXPECT_EQ(report.last_step, 10);
  EXPECT_EQ(report.saves, 0);
  EXPECT_EQ(report.stop.reason, "step 10 has already been reached");
  EXPECT_EQ(read_file(files_, "run/checkpoint"), state);
}

TEST_F(LoopTest, EvaluatesAtTheEndEvenIfNothingIsLeftToDo) {
  count_to(10);
  const auto final_count = std::make_shared<FinalOpsHook>("count_value");
  int64_t count = 0;
  Loop loop(options({StopAtStepHook({.last_step = 10}), final_count}));
  loop.track("count", count);
  loop.value("count_value", [&] { return count; });
  loop.run([&] { ADD_FAILURE() << "a step was made"; });
  EXPECT_EQ(final_count->final_ops_values().scalar<int64_t>(), 10);
}

TEST_F(LoopTest, ComputesValuesAfterTheStepOnlyIfFetched) {
  float loss = 0;
  int computed = 0, asked_for = 0;
  const auto final_loss = std::make_shared<FinalOpsHook>("loss");
  Loop loop({.hooks = {StopAtStepHook({.num_steps = 3}), NanTensorHook("watched"), final_loss}});
  loop.scalar("watched", [&] {
    ++asked_for;
    return loss;
  });
  loop.scalar("loss", [&] {
    ++computed;
    return loss;
  });
  loop.run([&] {
    loss += 1;
    EXPECT_EQ(asked_for, static_cast<int>(loss) - 1);
  });
  EXPECT_EQ(computed, 1);
  EXPECT_EQ(asked_for, 3);
  EXPECT_EQ(final_loss->final_ops_values().scalar<float>(), 3);
}

TEST_F(LoopTest, WritesCurvesHistogramsAndTexts) {
  LoopOptions with_summaries = options({StopAtStepHook({.num_steps = 1})});
  with_summaries.summaries.every_steps = 1;
  Loop loop(with_summaries);
  loop.scalar("loss", [] { return 0.5; });
  loop.histogram("weights", [] { return std::vector<float>{1, 2}; });
  loop.text("sample", [] { return "once upon a time"; });
  loop.text("later", [] { return std::optional<std::string>(); });
  loop.run([] {});
  const std::vector<std::string> events = event_files(files_, "run");
  ASSERT_EQ(events.size(), 1U);
  const auto weights = Tensor::from<float>({1, 2});
  std::vector<SummaryValue> values;
  for (const Event& event : read_event_file(files_, events[0]))
    for (const SummaryValue& value : event.values)
      if (!value.tag.starts_with("~checkpoint/")) values.push_back(value);
  EXPECT_THAT(values,
              ElementsAre(SummaryValue{.tag = "loss", .simple_value = 0.5},
                          SummaryValue{.tag = "sample",
                                       .text = Tensor::scalar(std::string("once upon a time"))},
                          SummaryValue{.tag = "weights", .histogram = make_histogram(weights)}));
}

// Also the first step and the last one, however short the run is.
TEST_F(LoopTest, WritesCurvesEveryTwoSecondsByDefault) {
  LoopOptions by_default = options({StopAtStepHook({.last_step = 8})});
  by_default.summaries = {};
  Loop loop(by_default);
  double loss = 0;
  loop.scalar("loss", [&] { return loss; });
  loop.track("loss_so_far", loss);
  loop.run([&] {
    loss += 1;
    clock_.advance(std::chrono::milliseconds(500));
  });
  std::vector<std::string> points;
  for (const std::string& path : event_files(files_, "run"))
    for (const Event& event : read_event_file(files_, path))
      for (const SummaryValue& value : event.values)
        if (!value.tag.starts_with("~"))
          points.push_back(fmt::format("{} {} {:g}", event.step, value.tag, value.simple_value));
  EXPECT_THAT(points, ElementsAre("1 loss 1", "5 global_step/sec 2", "6 loss 6", "8 loss 8"));
}

TEST_F(LoopTest, ListsTheKnownValuesIfOneIsUnknown) {
  Loop loop({.hooks = {NanTensorHook("los")}});
  loop.scalar("loss", [] { return 1.0f; });
  EXPECT_THAT([&] { loop.run([] {}); },
              ThrowsMessage<NotFoundError>(AllOf(HasSubstr("\"los\""), HasSubstr("loss"))));
}

TEST_F(LoopTest, EndsCleanlyWhenTheDataEnds) {
  int64_t count = 0;
  Loop loop(options({}));
  loop.track("count", count);
  const RunReport report = loop.run([&] {
    if (count == 8) throw OutOfRangeError("no more batches");
    ++count;
  });
  EXPECT_EQ(report.last_step, 8);
  EXPECT_EQ(stored_count(8), 8);
}

TEST_F(LoopTest, DoesNotSaveHalfAnUpdate) {
  int64_t count = 0;
  Loop loop(options({}));
  loop.track("count", count);
  EXPECT_THAT(
      [&] {
        loop.run([] {},
                 [&] {
                   ++count;
                   if (count == 8) throw OutOfRangeError("no more batches");
                 });
      },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("half a step")));
  EXPECT_EQ(list_checkpoints(files_, "run", "model.ckpt").back(), "run/model.ckpt-5");
}

TEST_F(LoopTest, RethrowsExceptionsOfTheBodyAndSavesNothing) {
  struct MyError {};
  int64_t count = 0;
  Loop loop(options({}));
  loop.track("count", count);
  EXPECT_THROW(loop.run([&] {
    if (++count == 8) throw MyError();
  }),
               MyError);
  EXPECT_EQ(list_checkpoints(files_, "run", "model.ckpt").back(), "run/model.ckpt-5");
}

TEST_F(LoopTest, RecoversFromTheLastCheckpoint) {
  int64_t count = 0;
  int failures = 0;
  Loop loop(options({StopAtStepHook({.last_step = 10})}));
  loop.track("count", count);
  const RunReport report = loop.run([&] {
    ++count;
    if (count == 8 && failures++ == 0) throw AbortedError("a node is gone");
  });
  EXPECT_EQ(report.recoveries, 1);
  EXPECT_EQ(report.last_step, 10);
  EXPECT_EQ(count, 10);
  EXPECT_TRUE(log_.contains("restored run/model.ckpt-5"));
}

TEST_F(LoopTest, ThrowsIfAStepKeepsFailing) {
  int64_t count = 0;
  Loop loop(options({}));
  loop.track("count", count);
  int failures = 0;
  EXPECT_THROW(loop.run([&] {
    if (++count == 8) {
      ++failures;
      throw UnavailableError("still gone");
    }
  }),
               UnavailableError);
  EXPECT_EQ(failures, 4);  // The first, and one after each of three recoveries.
}

TEST_F(LoopTest, CannotRecoverWithoutACheckpoint) {
  Loop loop({.hooks = {StopAtStepHook({.num_steps = 3})}});
  EXPECT_THROW(loop.run([] { throw AbortedError("gone"); }), AbortedError);
}

TEST_F(LoopTest, RestoresAtOnceIfAsked) {
  count_to(10);
  int64_t count = 0;
  Loop loop(options({StopAtStepHook({.last_step = 12})}));
  loop.track("count", count);
  EXPECT_EQ(loop.restore(), 10);
  EXPECT_EQ(count, 10);
  loop.run([&] { ++count; });
  EXPECT_EQ(count, 12);
}

// Counts its runs across restarts.
class CountingHook final : public SessionRunHook {
 public:
  explicit CountingHook(int64_t& runs) : runs_(runs) {}
  void after_run(SessionRunContext&, const SessionRunValues&) override { ++runs_; }
  SaveableMap saveables() override { return {{"runs", saveable_value(runs_)}}; }
  std::string name() const override { return "CountingHook"; }

 private:
  int64_t& runs_;
};

class LoopRestoreTest : public LoopTest {
 protected:
  // Makes ten steps, which change only the count.
  void make_checkpoint() {
    int64_t count = 0, runs = 0;
    std::vector<float> weights = {1, 2, 3};
    std::mt19937 generator(5);
    Loop loop(options({StopAtStepHook({.last_step = 10}), CountingHook(runs)}));
    track(loop, count, weights, generator);
    loop.run([&] { ++count; });
  }
  static void track(Loop& loop, int64_t& count, std::vector<float>& weights,
                    std::mt19937& generator) {
    loop.track("count", count);
    loop.track("weights", weights);
    loop.track("generator", generator);
  }

  int64_t count_ = 0, runs_ = 0;
  std::vector<float> weights_;
  std::mt19937 generator_{7};
};

// Arrays, numbers and objects: changes that the program made before its run are kept.
TEST_F(LoopRestoreTest, KeepsChangesMadeBeforeTheRun) {
  make_checkpoint();
  Loop loop(options({StopAtStepHook({.last_step = 12}), CountingHook(runs_)}));
  track(loop, count_, weights_, generator_);
  EXPECT_EQ(loop.restore(), 10);
  EXPECT_EQ(count_, 10);
  EXPECT_EQ(weights_, (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(generator_, std::mt19937(5));
  count_ = 100;
  weights_ = {7};
  generator_.seed(9);
  const RunReport report = loop.run([&](Step& step) {
    EXPECT_EQ(step.number(), count_ - 89);
    EXPECT_EQ(weights_, std::vector<float>{7});
    EXPECT_EQ(generator_, std::mt19937(9));
    ++count_;
  });
  EXPECT_EQ(report.first_step, 10);
  EXPECT_THAT(report.resumed_from, Optional(10));
  EXPECT_EQ(report.last_step, 12);
  EXPECT_EQ(count_, 102);
  EXPECT_EQ(runs_, 12) << "the state of hooks is the checkpoint's";
  EXPECT_EQ(stored_count(12), 102);
}

TEST_F(LoopRestoreTest, StillGoesBackToTheCheckpointInARecovery) {
  make_checkpoint();
  Loop loop(options({StopAtStepHook({.last_step = 12}), CountingHook(runs_)}));
  track(loop, count_, weights_, generator_);
  loop.restore();
  count_ = 100;
  bool failed = false;
  const RunReport report = loop.run([&] {
    if (!std::exchange(failed, true)) throw AbortedError("lost");
    ++count_;
  });
  EXPECT_EQ(report.recoveries, 1);
  EXPECT_EQ(count_, 12);
  EXPECT_EQ(runs_, 12);
}

TEST_F(LoopRestoreTest, MayBeRepeated) {
  make_checkpoint();
  Loop loop(options({StopAtStepHook({.last_step = 11}), CountingHook(runs_)}));
  track(loop, count_, weights_, generator_);
  EXPECT_EQ(loop.restore(), 10);
  count_ = 100;
  EXPECT_EQ(loop.restore(), 10);
  EXPECT_EQ(count_, 10);
  loop.run([&] { ++count_; });
  EXPECT_EQ(count_, 11);
}

TEST_F(LoopRestoreTest, DoesNotAffectAFreshStart) {
  Loop loop(options({StopAtStepHook({.last_step = 2})}));
  loop.track("count", count_);
  count_ = 5;
  EXPECT_EQ(loop.restore(), 0);
  const RunReport report = loop.run([&] { ++count_; });
  EXPECT_EQ(report.resumed_from, std::nullopt);
  EXPECT_EQ(count_, 7);
}

// A damaged or foreign checkpoint may hold such a step.
TEST_F(LoopRestoreTest, RejectsAStepOutOfRange) {
  for (const int64_t step : {std::numeric_limits<int64_t>::max(), kMaxGlobalStep + 1,
                             std::numeric_limits<int64_t>::min()}) {
    MemoryFileSystem files;
    {
      internal::BundleWriter writer(files, "run/model.ckpt-1");
      writer.add("global_step", Tensor::scalar(step));
      writer.add("count", Tensor::scalar<int64_t>(3));
      writer.finish();
    }
    for (const bool restores_first : {false, true}) {
      LoopOptions with = options({});
      with.files = &files;
      Loop loop(with);
      loop.track("count", count_);
      const auto run = [&] {
        if (restores_first) loop.restore();
        loop.run([](Step& made) {
          ADD_FAILURE() << "made step " << made.number();
          made.request_stop("enough");
        });
      };
      EXPECT_THAT(run, ThrowsMessage<FailedPreconditionError>(HasSubstr("the global step: found")))
          << step;
    }
  }
}

TEST_F(LoopTest, RejectsACheckpointOfAnotherProgram) {
  count_to(10);
  float count = 0, extra = 0;
  Loop loop(options({StopAtStepHook({.last_step = 12})}));
  loop.track("count", count);
  loop.track("extra", extra);
  EXPECT_THAT([&] { loop.run([] {}); },
              ThrowsMessage<InvalidArgumentError>(
                  AllOf(HasSubstr("run: model.ckpt-10 lacks \"extra\" (float32 [])"),
                        HasSubstr("has \"count\" as int64 [], where this program has float32;"))));
  EXPECT_EQ(stored_count(10), 10);
}

TEST_F(LoopTest, RejectsADirectoryThatAnotherRunHolds) {
  Loop outer(options({StopAtStepHook({.num_steps = 1})}));
  outer.run([&] {
    Loop inner(options({StopAtStepHook({.num_steps = 1})}));
    EXPECT_THAT([&] { inner.run([] {}); }, ThrowsMessage<FailedPreconditionError>(HasSubstr(
                                               "run: this process already holds its lock")));
  });
}

TEST_F(LoopTest, TrainsThoughTheDiskIsFullAndThrowsAtTheEnd) {
  int64_t count = 0;
  Loop loop(options({StopAtStepHook({.last_step = 20})}));
  loop.track("count", count);
  EXPECT_THROW(loop.run([&] {
    if (++count != 6) return;
    wait_until("checkpoint 5", [this] { return files_.exists("run/model.ckpt-5.index"); });
    files_.set_capacity(0);
  }),
               ResourceExhaustedError);
  EXPECT_EQ(count, 20);
  EXPECT_EQ(list_checkpoints(files_, "run", "model.ckpt").back(), "run/model.ckpt-5");
  EXPECT_TRUE(log_.contains("saving run/model.ckpt-10 failed"));
  EXPECT_EQ(stored_count(5), 5);
}

TEST_F(LoopTest, FinishesTheStepAndSavesOnASignal) {
  int64_t count = 0;
  Loop loop(options({StopAtStepHook({.last_step = 20}), SignalHook({SIGTERM})}));
  loop.track("count", count);
  const RunReport report = loop.run([&] {
    if (count == 7) ::raise(SIGTERM);
    ++count;
  });
  set_pending_signal(0);
  EXPECT_EQ(report.signal, SIGTERM);
  EXPECT_EQ(report.stop.who, "SignalHook");
  EXPECT_EQ(report.last_step, 8);
  EXPECT_EQ(stored_count(8), 8);
}

TEST_F(LoopTest, WritesItsFilesToTheGivenDirectories) {
  const auto with_names = [this](int64_t last_step) {
    LoopOptions names = options({StopAtStepHook({.last_step = last_step})});
    names.checkpoint.basename = "digits";
    names.summaries.dir = "logs";
    names.summaries.every_steps = 1;
    return names;
  };
  int64_t count = 0;
  Loop first(with_names(4));
  first.track("count", count);
  first.scalar("half", [&] { return 0.5 * static_cast<double>(count); });
  first.run([&] { ++count; });
  EXPECT_THAT(list_checkpoints(files_, "run", "digits"),
              ElementsAre("run/digits-0", "run/digits-4"));
  EXPECT_FALSE(event_files(files_, "logs").empty());

  int64_t again = 0;
  Loop second(with_names(6));
  second.track("count", again);
  EXPECT_EQ(second.restore(), 4);
  int num_failures = 1;
  const RunReport report = second.run([&] {
    if (num_failures-- > 0) throw AbortedError("the worker is gone");
    ++again;
  });
  EXPECT_EQ(report.recoveries, 1);
  EXPECT_EQ(again, 6);
}

TEST_F(LoopTest, WaitsForThreadsForTheGivenGracePeriod) {
  LoopOptions impatient =
      options({StopAtStepHook({.last_step = 1}), StragglerHook(log_, "threads still running")});
  impatient.ending.stop_grace_period_secs = 7;
  Loop loop(impatient);
  const Clock::TimePoint start = clock_.now();
  loop.run([] {});
  EXPECT_EQ(to_seconds(clock_.now() - start), 7);
  EXPECT_TRUE(log_.contains("threads still running after the stop: straggler"));
}

TEST_F(LoopTest, MakesNoStepIfASignalCameWhileRestoring) {
  count_to(10);
  set_pending_signal(SIGTERM);
  int64_t count = 0;
  Loop loop(options({StopAtStepHook({.last_step = 20}), SignalHook({SIGTERM})}));
  loop.track("count", count);
  const RunReport report = loop.run([&] { ++count; });
  set_pending_signal(0);
  EXPECT_EQ(report.signal, SIGTERM);
  EXPECT_EQ(report.saves, 0);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(list_checkpoints(files_, "run", "model.ckpt").back(), "run/model.ckpt-10");
}

// Every element of the state holds the number of its step: a checkpoint with two numbers is torn.
TEST_F(LoopTest, CallsListenersForItsSaves) {
  class Listener final : public CheckpointSaverListener {
   public:
    bool after_save(Session&, int64_t step) override {
      steps.push_back(step);
      return step >= 5;
    }
    std::vector<int64_t> steps;
  };
  const auto listener = std::make_shared<Listener>();
  LoopOptions with_listener = options({StopAtStepHook({.last_step = 100})}, 5);
  with_listener.checkpoint.listeners = {listener};
  Loop loop(std::move(with_listener));
  const RunReport report = loop.run([] {});
  EXPECT_EQ(report.stop.who, "AsyncCheckpointSaverHook");
  ASSERT_GE(listener->steps.size(), 2u);  // The start, the stop, and the end if that is later.
  EXPECT_EQ(listener->steps[1], 5);
  EXPECT_EQ(listener->steps.back(), report.last_step);
}

TEST_F(LoopTest, SavesOneStepWhileTheNextOnesAreMade) {
  std::vector<float> fixed(10'000), grows(10'000);
  Loop loop(options({StopAtStepHook({.last_step = 60})}, 1));
  loop.track("fixed", std::span(fixed));
  loop.track("grows", grows);
  std::vector<std::unique_ptr<MemoryFileSystem>> disks;  // With synced data only.
  loop.run([] {},
           [&](Step& step) {
             std::ranges::fill(fixed, static_cast<float>(step.number()));
             std::ranges::fill(grows, static_cast<float>(step.number()));
             if (step.number() % 10 == 0) disks.push_back(files_.after_power_cut());
           });
  for (const auto& disk : disks)
    for (const std::string& prefix : list_checkpoints(*disk, "run", "model.ckpt")) {
      const CheckpointReader reader(prefix, *disk);
      const auto step = static_cast<float>(reader.read("global_step").scalar<int64_t>());
      for (const char* const name : {"fixed", "grows"}) {
        const Tensor saved = reader.read(name);
        EXPECT_THAT(saved.flat<float>(), testing::Each(step)) << prefix;
      }
    }
}

TEST_F(LoopTest, WarnsOnceOfFastMath) {
  for (int i = 0; i < 2; ++i) internal::warn_of_fast_math();
  const std::vector<std::string> warnings = log_.lines(Severity::kWarning);
  EXPECT_EQ(std::ranges::count_if(warnings,
                                  [](const std::string& line) {
                                    return line.find("-ffast-math") != std::string::npos;
                                  }),
            1);
}

TEST_F(LoopTest, RejectsMistakesBeforeItRuns) {
  EXPECT_THROW(Loop({.checkpoint = {.dir = "x", .every_steps = 1, .every_secs = 1}}),
               InvalidArgumentError);
  EXPECT_THROW(Loop({.summaries = {.every_steps = -1}}), InvalidArgumentError);
  EXPECT_THROW(Loop({.ending = {.stop_grace_period_secs = -1}}), InvalidArgumentError);
  EXPECT_THROW(Loop({.checkpoint = {.saver = {.max_to_keep = -1}}}), InvalidArgumentError);
  EXPECT_THROW(Loop({.max_recoveries = -1}), InvalidArgumentError);
  Loop loop({.hooks = {StopAtStepHook({.num_steps = 1})}});
  float number = 0;
  loop.run([] {});
  EXPECT_THROW(loop.run([] {}), FailedPreconditionError);
  EXPECT_THROW(loop.track("number", number), FailedPreconditionError);
  EXPECT_THROW(loop.add_hook(StopAtStepHook({.num_steps = 1})), FailedPreconditionError);
}

TEST_F(LoopTest, StopsOnceASaveFailsIfAsked) {
  LoopOptions stopping = options({StopAtStepHook({.last_step = 1'000'000})});
  stopping.checkpoint.saving.on_error = SaveErrorPolicy::kStop;
  int64_t count = 0;
  Loop loop(stopping);
  loop.track("count", count);
  EXPECT_THROW(loop.run([&] {
    if (++count == 7) files_.set_capacity(0);
  }),
               ResourceExhaustedError);
  EXPECT_LT(count, 1000);  // The save of step 10 fails at the latest, and that of 15 waits for it.
  files_.set_capacity(std::nullopt);
  EXPECT_EQ(stored_count(0), 0);
}

TEST_F(LoopTest, KeepsOneCheckpointEveryNStepsForever) {
  for (const int64_t last_step : {25, 50}) {
    LoopOptions keeping = options({StopAtStepHook({.last_step = last_step})});
    keeping.checkpoint.saver.max_to_keep = 1;
    keeping.checkpoint.saver.keep_checkpoint_every_n_steps = 20;
    Loop(keeping).run([] {});
  }
  EXPECT_THAT(list_checkpoints(files_, "run", "model.ckpt"),
              ElementsAre("run/model.ckpt-20", "run/model.ckpt-40", "run/model.ckpt-50"));
}

}  // namespace
}  // namespace crochet
