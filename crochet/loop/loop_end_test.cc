// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The end of a run is part of its state: a program that is started again stays ended, and only
// steps change what is tracked.
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/early_stopping_hook.h"
#include "crochet/hooks/evaluation_hook.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/final_ops_hook.h"
#include "crochet/hooks/logging_tensor_hook.h"
#include "crochet/hooks/nan_tensor_hook.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/tracking/tracker.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class LoopEndTest : public testing::Test {
 protected:
  using Body = std::function<bool(Step& step, int64_t count)>;

  ~LoopEndTest() override { set_pending_signal(0); }

  LoopOptions options(HookList hooks = {}) {
    return {.checkpoint = {.dir = "run", .every_steps = 10, .saver = {.max_to_keep = 0}},
            .hooks = std::move(hooks),
            .files = &files_,
            .clock = &clock_};
  }
  // A program that counts its steps.
  RunReport run(
      const LoopOptions& options, Body body = [](Step&, int64_t) { return true; }) {
    Loop loop(options);
    count_ = 0;
    loop.track("count", count_);
    loop.scalar("loss", [] { return 1.0; });
    return loop.run([&](Step& step) {
      clock_.advance(std::chrono::seconds(1));
      return body(step, ++count_);
    });
  }
  // Runs it twice: the second time it must do nothing, and end as the first time.
  template <typename MakeOptions>
  RunReport run_to_the_end(
      MakeOptions make, const Body& body = [](Step&, int64_t) { return true; }) {
    const RunReport first = run(make(), body);
    const auto files = files_.list("run");
    const RunReport second = run(make(), body);
    EXPECT_EQ(second.first_step, first.last_step);
    EXPECT_EQ(second.last_step, first.last_step);
    EXPECT_EQ(count_, first.last_step);
    EXPECT_EQ(second.stop.who, first.stop.who);
    EXPECT_EQ(second.stop.reason, first.stop.reason);
    EXPECT_EQ(second.exit_code(), 0);
    EXPECT_EQ(second.saves, 0);
    EXPECT_EQ(files_.list("run"), files);
    EXPECT_TRUE(log_.contains(".ending.continue_finished"));
    return second;
  }
  int64_t newest_step() {
    const auto prefixes = list_checkpoints(files_, "run", "model.ckpt");
    return CheckpointReader(prefixes.back(), files_).read("global_step").scalar<int64_t>();
  }

  LogCapture log_;
  FakeClock clock_;
  MemoryFileSystem files_{clock_};
  int64_t count_ = 0;
};

TEST_F(LoopEndTest, ARunThatItsBodyEndedStaysEnded) {
  const auto body = [](Step&, int64_t count) { return count < 25; };
  EXPECT_EQ(run_to_the_end([&] { return options(); }, body).last_step, 25);
}

TEST_F(LoopEndTest, ARunThatItsBodyEndedAtASaveStaysEnded) {
  const auto body = [](Step&, int64_t count) { return count < 20; };
  EXPECT_EQ(run_to_the_end([&] { return options(); }, body).last_step, 20);
}

// The state in which a run has ended is the library's own.
TEST_F(LoopEndTest, OptionsForAllNamesDoNotContinueARun) {
  const auto body = [](Step&, int64_t count) { return count < 25; };
  const auto with = [&](RestoreOptions restore) {
    LoopOptions all = options();
    all.restore = std::move(restore);
    return all;
  };
  EXPECT_EQ(run_to_the_end([&] { return with({.allow_surplus = {"*/*"}}); }, body).last_step, 25);
  for (const RestoreOptions& restore :
       {RestoreOptions{}, {.allow_surplus = {"hooks/Loop/end/*"}}, {.keep = {"hooks/*"}}}) {
    const RunReport report = run(with(restore), body);
    EXPECT_EQ(report.last_step, 25);
    EXPECT_THAT(report.restore->made, testing::IsEmpty());
  }
  EXPECT_FALSE(log_.contains("hooks/"));
}

TEST_F(LoopEndTest, ARunThatAStepEndedStaysEnded) {
  const auto body = [](Step& step, int64_t count) {
    if (count >= 25) step.request_stop("converged");
    return true;
  };
  EXPECT_EQ(run_to_the_end([&] { return options(); }, body).stop.reason, "converged");
}

TEST_F(LoopEndTest, ARunWithoutPatienceStaysEnded) {
  const auto make = [&] {
    return options({stop_if_no_decrease_hook("loss", 20, {.run_every_steps = 10})});
  };
  EXPECT_EQ(run_to_the_end(make).last_step, 30);
}

TEST_F(LoopEndTest, ARunBeyondAThresholdStaysEnded) {
  const auto make = [&] {
    return options({stop_if_lower_hook("loss", 2, {.min_steps = 25, .run_every_steps = 10})});
  };
  EXPECT_EQ(run_to_the_end(make).last_step, 30);
}

TEST_F(LoopEndTest, ARunThatAnEvaluationEndedStaysEnded) {
  const auto make = [&] {
    EvaluationHook evaluation({.every_n_steps = 10, .evaluate = [] {
                                 return Metrics{{"a", 0.5}};
                               }});
    auto patience = stop_if_no_increase_hook(evaluation.metric("a"), 20, {.run_every_steps = 10});
    return options({std::move(evaluation), std::move(patience)});
  };
  EXPECT_EQ(run_to_the_end(make).last_step, 30);
}

TEST_F(LoopEndTest, MorePatienceContinuesTheRun) {
  const auto patience = [&](int64_t steps) {
    return options({stop_if_no_decrease_hook("loss", steps, {.run_every_steps = 10})});
  };
  EXPECT_EQ(run(patience(20)).last_step, 30);
  EXPECT_EQ(run(patience(50)).last_step, 60);
}

// As the message of a run that stays ended advises.
TEST_F(LoopEndTest, ContinuesAFinishedRunIfItIsAsked) {
  run(options(), [](Step&, int64_t count) { return count < 5; });
  LoopOptions more = options();
  more.ending.continue_finished = true;
  EXPECT_EQ(run(more, [](Step&, int64_t count) { return count < 8; }).last_step, 8);
  EXPECT_EQ(run(options(), [](Step&, int64_t) { return true; }).last_step, 8);
}

TEST_F(LoopEndTest, AHigherLastStepContinuesTheRun) {
  const auto to = [&](int64_t last) { return options({StopAtStepHook({.last_step = last})}); };
  EXPECT_EQ(run(to(5)).last_step, 5);
  EXPECT_EQ(run(to(5)).first_step, 5);
  EXPECT_TRUE(log_.contains("set a higher last step"));
  EXPECT_EQ(run(to(9)).last_step, 9);
}

TEST_F(LoopEndTest, NumStepsAreMadeAtEachStart) {
  const auto five = [&] { return options({StopAtStepHook({.num_steps = 5})}); };
  EXPECT_EQ(run(five()).last_step, 5);
  EXPECT_EQ(run(five()).last_step, 10);
}

TEST_F(LoopEndTest, AnInterruptedRunContinues) {
  const auto limited = [&] { return options({StopAfterHook({.secs = 5, .clock = &clock_})}); };
  EXPECT_EQ(run(limited()).last_step, 5);
  EXPECT_EQ(run(limited()).last_step, 10);
  const auto signalled = [&] { return options({SignalHook({SIGUSR1})}); };
  run(signalled(), [](Step&, int64_t count) { return count < 12 || ::raise(SIGUSR1) == 0; });
  set_pending_signal(0);
  const auto body = [](Step&, int64_t count) { return count < 15; };
  EXPECT_EQ(run(options(), body).last_step, 15);
}

TEST_F(LoopEndTest, AnotherRunMayStartFromAFinishedOne) {
  run(options(), [](Step&, int64_t count) { return count < 5; });
  LoopOptions other = options();
  other.checkpoint.dir = "other";
  other.restore.from = "run";
  EXPECT_EQ(run(other, [](Step&, int64_t count) { return count < 9; }).last_step, 9);
}

TEST_F(LoopEndTest, AFinishedRunIsNotEvaluatedAgain) {
  int num_evaluations = 0;
  for (int start = 0; start < 3; ++start) {
    const auto hook = std::make_shared<EvaluationHook>(
        EvaluationHookOptions{.every_n_steps = 10,
                              .evaluate =
                                  [&] {
                                    return Metrics{{"a", static_cast<double>(++num_evaluations)}};
                                  },
                              .at_start = true,
                              .output_dir = "eval",
                              .files = &files_,
                              .clock = &clock_});
    run(options({hook, StopAtStepHook({.last_step = 15})}));
    EXPECT_EQ(hook->step(), 15);
    EXPECT_EQ(hook->metrics().at("a"), 3);
    EXPECT_EQ(num_evaluations, 3);  // Of the steps 0, 10 and 15.
  }
}

TEST_F(LoopEndTest, AnEvaluationThatWasKilledIsMadeByTheNextStart) {
  const auto make = [&](const Evaluation& evaluation) {
    return options({EvaluationHook({.every_n_steps = 10,
                                    .evaluate = evaluation,
                                    .output_dir = "eval",
                                    .files = &files_,
                                    .clock = &clock_}),
                    StopAtStepHook({.last_step = 5})});
  };
  EXPECT_THROW(run(make([]() -> Metrics { throw InternalError("killed"); })), InternalError);
  run(make([] { return Metrics{{"a", 1}}; }));
  EXPECT_THAT(read_eval_metrics(files_, "eval"),
              ElementsAre(testing::Pair(5, Metrics{{"eval/a", 1}})));
}

// --- Only steps change what is tracked.

class GeneratorsTest : public LoopEndTest {
 protected:
  using AddHooks = std::function<void(LoopOptions& options, std::mt19937& generator)>;

  double train(const std::string& directory, int64_t last, const AddHooks& add_hooks,
               std::optional<int64_t> signalled_step = {}) {
    double sum = 0;
    std::mt19937 generator(1);
    std::vector<std::mt19937> several(2);
    LoopOptions options = this->options({StopAtStepHook({.last_step = last})});
    options.checkpoint.dir = directory;
    options.checkpoint.every_steps = 20;
    options.summaries.every_steps = 0;
    options.hooks.push_back(SignalHook({SIGUSR1}));
    add_hooks(options, generator);
    Loop loop(std::move(options));
    loop.track("sum", sum);
    loop.track("generator", generator);
    loop.track("several", crochet::fixed(several));
    loop.scalar("noise", [&] { return static_cast<double>(generator()) + several[1](); });
    loop.run([&](Step& step) {
      sum += static_cast<double>(generator() % 1000) + static_cast<double>(several[1]() % 1000);
      if (step.number() == signalled_step) ::raise(SIGUSR1);
    });
    set_pending_signal(0);
    return sum;
  }
  // To 55 and then to 100 must be the same as straight to 100.
  void expect_same(const char* name, const AddHooks& add_hooks, bool by_signal = false) {
    const std::string whole = fmt::format("{}-whole", name);
    const std::string halves = fmt::format("{}-halves", name);
    const double expected = train(whole, 100, add_hooks);
    if (by_signal)
      train(halves, 100, add_hooks, 55);
    else
      train(halves, 55, add_hooks);
    EXPECT_EQ(train(halves, 100, add_hooks), expected) << name;
  }
  static AddHooks evaluation(bool at_start, bool at_end) {
    return [=](LoopOptions& options, std::mt19937& generator) {
      options.hooks.push_back(EvaluationHook({.every_n_steps = 10,
                                              .evaluate =
                                                  [&generator] {
                                                    return Metrics{{"m", double(generator())}};
                                                  },
                                              .at_start = at_start,
                                              .at_end = at_end}));
    };
  }
  static AddHooks hook(const std::function<HookHandle()>& make) {
    return [=](LoopOptions& options, std::mt19937&) { options.hooks.push_back(make()); };
  }
};

TEST_F(GeneratorsTest, StoppedAndContinuedIsTheSameAsStraight) {
  expect_same("no hook", [](LoopOptions&, std::mt19937&) {});
  expect_same("evaluation", evaluation(false, true));
  expect_same("evaluation not at the end", evaluation(false, false));
  expect_same("evaluation at the start", evaluation(true, false));
  expect_same("evaluation and a signal", evaluation(false, true), true);
  expect_same("final ops", hook([] { return FinalOpsHook("noise"); }));
  expect_same("at_end", [](LoopOptions& options, std::mt19937& generator) {
    options.hooks.push_back(at_end("noise", [&generator](double) { generator(); }));
  });
  expect_same("every", hook([] { return every({.steps = 10}, "noise", [](int64_t, double) {}); }));
  expect_same("logged",
              hook([] { return LoggingTensorHook({.tensors = {"noise"}, .every_n_iter = 10}); }));
  expect_same("logged at the end",
              hook([] { return LoggingTensorHook({.tensors = {"noise"}, .at_end = true}); }));
  expect_same("curves",
              [](LoopOptions& options, std::mt19937&) { options.summaries.every_steps = 10; });
  expect_same("early stopping",
              hook([] { return stop_if_lower_hook("noise", -1, {.run_every_steps = 7}); }));
}

// What a hook changes at the end is not in the checkpoint, whatever it is.
TEST_F(GeneratorsTest, TheLastSnapshotComesBeforeTheEndsOfHooks) {
  int64_t count = 0;
  Loop loop(
      options({StopAtStepHook({.last_step = 5}), at_end("loss", [&](double) { count = 99; })}));
  loop.track("count", count);
  loop.scalar("loss", [] { return 1.0; });
  loop.run([&] { ++count; });
  EXPECT_EQ(count, 99);
  EXPECT_EQ(CheckpointReader("run/model.ckpt-5", files_).read("count").scalar<int64_t>(), 5);
}

// --- Errors while a stop is pending, and declared errors.

class FailingHook final : public SessionRunHook {
 public:
  enum class Where { kBefore, kAfter };
  FailingHook(Where where, std::function<void()> fail) : where_(where), fail_(std::move(fail)) {}
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    if (where_ == Where::kBefore) fail_();
    return {};
  }
  void after_run(SessionRunContext&, const SessionRunValues&) override {
    if (where_ == Where::kAfter) fail_();
  }

 private:
  Where where_;
  std::function<void()> fail_;
};

using LoopErrorTest = LoopEndTest;

TEST_F(LoopErrorTest, SavesTheLastStepIfTheBodyDeclaresThatItChangesNothing) {
  LoopOptions declared = options();
  declared.ending.save_on_error = true;
  const auto body = [](Step& step, int64_t) -> bool {
    if (step.number() == 16) throw std::runtime_error("a broken sample");
    return true;
  };
  int64_t count = 0;
  Loop loop(declared);
  loop.track("count", count);
  EXPECT_THROW(loop.run([&](Step& step) {
    body(step, 0);
    ++count;
  }),
               std::runtime_error);
  EXPECT_EQ(newest_step(), 15);
  EXPECT_EQ(run(options(), [](Step&, int64_t) { return false; }).first_step, 15);
}

TEST_F(LoopErrorTest, SavesNoStepThatMayBeHalfDone) {
  const auto body = [](Step& step, int64_t) -> bool {
    if (step.number() == 16) throw std::runtime_error("a broken sample");
    return true;
  };
  EXPECT_THROW(run(options(), body), std::runtime_error);
  EXPECT_EQ(newest_step(), 10);
  EXPECT_TRUE(log_.contains("the run ends after step 15 with an error: a broken sample"));
  EXPECT_TRUE(
      log_.contains("the last step is not saved: what failed may have changed the state "
                    "(EndOptions::save_on_error says that it has not)"));
  EXPECT_TRUE(log_.contains("the newest checkpoint is run/model.ckpt-10, "));
}

TEST_F(LoopErrorTest, SavesTheLastStepIfComputeFails) {
  int64_t count = 0;
  Loop loop(options());
  loop.track("count", count);
  const auto compute = [](Step& step) {
    if (step.number() == 16) throw std::runtime_error("a broken sample");
  };
  EXPECT_THROW(loop.run(compute, [&] { ++count; }), std::runtime_error);
  EXPECT_EQ(newest_step(), 15);
}

// The step is complete, but no hook has seen it.
TEST_F(LoopErrorTest, SavesNoStepWhoseValuesFail) {
  int64_t count = 0;
  Loop loop(options({NanTensorHook("loss")}));
  loop.track("count", count);
  loop.scalar("loss", [&]() -> double {
    if (count == 16) throw std::runtime_error("a broken value");
    return 1;
  });
  EXPECT_THROW(loop.run([&] { ++count; }), std::runtime_error);
  EXPECT_EQ(newest_step(), 10);
}

TEST_F(LoopErrorTest, SavesTheLastStepAfterASignalIfAHookFails) {
  for (const auto where : {FailingHook::Where::kBefore, FailingHook::Where::kAfter}) {
    for (const bool is_lost : {false, true}) {
      int64_t calls = 0;
      const auto fail = [&] {
        if (++calls < 16) return;
        set_pending_signal(SIGTERM);
        if (is_lost) throw AbortedError("the worker is gone");
        throw std::runtime_error("the helper is gone");
      };
      EXPECT_ANY_THROW(run(options({FailingHook(where, fail)})));
      EXPECT_EQ(newest_step(), where == FailingHook::Where::kBefore ? 15 : 16);
      set_pending_signal(0);
      for (const std::string& name : files_.list("run")) files_.remove("run/" + name);
    }
  }
}

TEST_F(LoopErrorTest, SavesNoStepThatAHookRejects) {
  LoopOptions nan = options({NanTensorHook("loss")});
  int64_t count = 0;
  Loop loop(nan);
  loop.track("count", count);
  loop.scalar("loss", [&] { return count < 16 ? 1.0 : std::nan(""); });
  EXPECT_THROW(loop.run([&](Step& step) {
    ++count;
    if (step.number() == 16) set_pending_signal(SIGTERM);
  }),
               NanLossDuringTrainingError);
  EXPECT_EQ(newest_step(), 10);
  EXPECT_TRUE(
      log_.contains("the run ends after step 16 with an error: NaN loss during training: "
                    "loss:0 is NaN at step 16"));
  EXPECT_TRUE(log_.contains("the last step is not saved: a hook rejected it"));
}

}  // namespace
}  // namespace crochet
