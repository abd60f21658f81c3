// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Programs whose loop keeps its shape: Loop::start(), step() and finish(); run_while();
// run_epochs().
#include <signal.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/hooks/every.h"
#include "crochet/hooks/signal_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/allocation_counter.h"
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
using testing::ThrowsMessage;

// Records the calls that hooks get.
class CallsHook final : public SessionRunHook {
 public:
  explicit CallsHook(std::vector<std::string>& calls) : calls_(calls) {}
  void begin(Graph&) override { calls_.emplace_back("begin"); }
  void after_create_session(Session&, Coordinator&) override { calls_.emplace_back("create"); }
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    calls_.emplace_back("before");
    return {};
  }
  void after_run(SessionRunContext&, const SessionRunValues&) override {
    calls_.emplace_back("after");
  }
  void end(Session&) override { calls_.emplace_back("end"); }
  void on_error(std::exception_ptr) noexcept override { calls_.emplace_back("error"); }

 private:
  std::vector<std::string>& calls_;
};

// A program with two nested loops, whose counters are its state: ten batches in each epoch.
struct TwoLoops {
  static constexpr int64_t kBatches = 10;

  explicit TwoLoops(Loop& loop) : loop(loop) {
    loop.track("epoch", epoch);
    loop.track("next_batch", next_batch);
    loop.track("model", model);
  }
  RunReport run(int64_t num_epochs, int64_t killed_in_step = 0) {
    loop.start();
    while (epoch < num_epochs) {
      while (next_batch < kBatches) {
        const bool continues = loop.step([&](Step& step) {
          model = model * 3 + static_cast<uint64_t>(epoch * kBatches + next_batch);
          ++num_steps;
          if (++next_batch == kBatches) {
            ++epoch;
            next_batch = 0;
          }
          if (step.number() == killed_in_step) ::raise(SIGKILL);
        });
        if (!continues) return loop.finish();
        if (next_batch == 0) break;
      }
    }
    return loop.finish();
  }

  Loop& loop;
  int64_t epoch = 0;
  int64_t next_batch = 0;
  int64_t num_steps = 0;
  uint64_t model = 1;
};

class OwnLoopTest : public testing::Test {
 protected:
  ~OwnLoopTest() override { set_pending_signal(0); }

  LoopOptions options(HookList hooks = {}) {
    return {.checkpoint = {.dir = "run", .every_steps = 5},
            .summaries = {.every_steps = 0, .count_every_steps = 0},
            .hooks = std::move(hooks),
            .files = &files_,
            .clock = &clock_};
  }

  MemoryFileSystem files_;
  FakeClock clock_;
  LogCapture log_;
};

TEST_F(OwnLoopTest, IsTheSameRunAsThatOfABody) {
  std::vector<std::string> of_body, of_steps;
  int64_t count = 0;
  Loop body(options({CallsHook(of_body), StopAtStepHook({.num_steps = 3})}));
  body.track("count", count);
  const RunReport expected = body.run([&] { ++count; });
  files_ = MemoryFileSystem();
  count = 0;
  Loop loop(options({CallsHook(of_steps), StopAtStepHook({.num_steps = 3})}));
  loop.track("count", count);
  EXPECT_EQ(loop.start(), 0);
  while (!loop.should_stop()) loop.step([&] { ++count; });
  const RunReport report = loop.finish();
  EXPECT_EQ(of_steps, of_body);
  EXPECT_EQ(to_string(report), to_string(expected));
  EXPECT_EQ(report.saves, expected.saves);
  EXPECT_EQ(count, 3);
  EXPECT_TRUE(loop.should_stop());
}

TEST_F(OwnLoopTest, ResumesInTheMiddleOfNestedLoops) {
  Loop whole_loop(options());
  TwoLoops whole(whole_loop);
  whole.run(4);
  files_ = MemoryFileSystem();
  for (const int64_t last_step : {7, 10, 23}) {
    Loop loop(options({StopAtStepHook({.last_step = last_step})}));
    TwoLoops part(loop);
    EXPECT_EQ(part.run(4).last_step, last_step);
  }
  Loop loop(options());
  TwoLoops last(loop);
  const RunReport report = last.run(4);
  EXPECT_EQ(report.resumed_from, 23);
  EXPECT_EQ(last.num_steps, 17);
  EXPECT_EQ(last.model, whole.model);
  EXPECT_EQ(report.stop.who, "the program");
  EXPECT_EQ(report.stop.reason, "its loop ended");
}

TEST(OwnLoopInAProcessTest, ResumesAfterAKill) {
  LogCapture log;
  uint64_t whole_model = 0;
  {
    Loop loop({});
    TwoLoops whole(loop);
    whole.run(3);
    whole_model = whole.model;
  }
  TempDirectory directory;
  const LoopOptions options = {.checkpoint = {.dir = directory.path(), .every_steps = 4},
                               .summaries = {.every_steps = 0, .count_every_steps = 0}};
  for (const int64_t killed_in_step : {6, 13, 25}) {
    const int code = run_in_child([&] {
      Loop loop(options);
      TwoLoops(loop).run(3, killed_in_step);
      return 0;
    });
    EXPECT_EQ(code, -SIGKILL);
  }
  Loop loop(options);
  TwoLoops last(loop);
  const RunReport report = last.run(3);
  EXPECT_GE(report.resumed_from, 20);  // The save of step 24 may not have ended.
  EXPECT_EQ(last.model, whole_model);
}

// The program's loop decides when it has ended, also with another limit than before.
TEST_F(OwnLoopTest, MakesNoStepOnceItsProgramHasEndedAndMoreWithAHigherLimit) {
  for (const int64_t num_steps : {20, 0}) {
    Loop loop(options());
    TwoLoops program(loop);
    EXPECT_EQ(program.run(2).last_step, 20);
    EXPECT_EQ(program.num_steps, num_steps);
  }
  Loop loop(options());
  TwoLoops program(loop);
  EXPECT_EQ(program.run(3).last_step, 30);
  EXPECT_EQ(program.num_steps, 10);
}

// The last checkpoint is that of the last step, though the program's loops count until they end.
TEST_F(OwnLoopTest, SavesTheLastStepBeforeTheProgramsLoopsEnd) {
  const auto train = [&](HookList hooks) {
    int64_t epoch = 0;
    int64_t count = 0;
    Loop loop(options(std::move(hooks)));
    loop.track("epoch", epoch);
    loop.track("count", count);
    loop.start();
    for (; epoch < 3; ++epoch)
      for (int batch = 0; batch < 10; ++batch) loop.step([&] { ++count; });
    EXPECT_EQ(epoch, 3);
    const RunReport report = loop.finish();
    EXPECT_TRUE(loop.should_stop());
    return report.last_step;
  };
  EXPECT_EQ(train({StopAtStepHook({.last_step = 12})}), 12);
  EXPECT_EQ(CheckpointReader("run/model.ckpt-12", files_).read("epoch").scalar<int64_t>(), 1);
  EXPECT_EQ(train({}), 32);  // The second epoch begins again.
  EXPECT_EQ(CheckpointReader("run/model.ckpt-32", files_).read("epoch").scalar<int64_t>(), 3);
}

TEST_F(OwnLoopTest, DoesNothingAfterAStopAndSaysSo) {
  int64_t count = 0;
  Loop loop(options());
  loop.track("count", count);
  loop.start();
  EXPECT_TRUE(loop.step([&] { ++count; }));
  EXPECT_FALSE(loop.step([&](Step& step) {
    ++count;
    step.request_stop("enough");
  }));
  for (int i = 0; i < 2000; ++i) EXPECT_FALSE(loop.step([&] { ++count; }));
  EXPECT_EQ(std::ranges::count_if(log_.lines(),
                                  [](const std::string& line) {
                                    return line.find("was called 1000 times") != line.npos;
                                  }),
            1);
  EXPECT_EQ(loop.finish().stop.reason, "enough");
  EXPECT_EQ(count, 2);
}

TEST_F(OwnLoopTest, MayHaveAnotherBodyOfAnyKindInEachStep) {
  std::vector<int64_t> numbers;
  Loop loop(options());
  loop.track("numbers", numbers);
  loop.start();
  bool has_skipped = false;
  EXPECT_TRUE(loop.step([&] { numbers.push_back(1); }));
  EXPECT_TRUE(loop.step([&](Step& step) { numbers.push_back(step.number()); }));
  EXPECT_TRUE(loop.step([&] {
    if (!std::exchange(has_skipped, true)) return LoopAction::kSkip;
    numbers.push_back(3);
    return LoopAction::kContinue;
  }));
  EXPECT_FALSE(loop.step([&] {
    numbers.push_back(4);
    return false;
  }));
  const RunReport report = loop.finish();
  EXPECT_THAT(numbers, ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(report.skipped_steps, 1);
  EXPECT_EQ(report.stop.reason, "the body returned false");
}

TEST_F(OwnLoopTest, EndsWithTheDataOfAStep) {
  int64_t count = 0;
  Loop loop(options());
  loop.track("count", count);
  loop.start();
  while (loop.step([&] {
    if (count == 3) throw OutOfRangeError("no data");
    ++count;
  })) {
  }
  const RunReport report = loop.finish();
  EXPECT_EQ(report.last_step, 3);
  EXPECT_EQ(report.stop.reason, "the data ended");
}

TEST_F(OwnLoopTest, EndsAtASignal) {
  int64_t count = 0;
  Loop loop(options({SignalHook({SIGTERM})}));
  loop.track("count", count);
  loop.start();
  while (loop.step([&] {
    if (++count == 2) ::raise(SIGTERM);
  })) {
  }
  const RunReport report = loop.finish();
  EXPECT_EQ(report.signal, SIGTERM);
  EXPECT_EQ(report.last_step, 2);
}

TEST_F(OwnLoopTest, RecoversWithinAStep) {
  int64_t count = 0;
  int num_failures = 0;
  Loop loop(options());
  loop.track("count", count);
  loop.start();
  for (int i = 0; i < 8; ++i)
    loop.step([&] {
      if (count == 7 && num_failures++ == 0) throw UnavailableError("lost");
      ++count;
    });
  const RunReport report = loop.finish();
  EXPECT_EQ(report.recoveries, 1);
  EXPECT_EQ(report.last_step, 6);  // The eighth call repeated step 6.
  EXPECT_EQ(count, 6);
}

TEST_F(OwnLoopTest, EndsAtAnErrorOfAStepWhichIsThrown) {
  std::vector<std::string> calls;
  int64_t count = 0;
  Loop loop(options({CallsHook(calls)}));
  loop.track("count", count);
  loop.start();
  loop.step([&] { ++count; });
  EXPECT_THROW(loop.step([] { throw std::runtime_error("bad"); }), std::runtime_error);
  EXPECT_EQ(calls.back(), "error");
  EXPECT_TRUE(loop.should_stop());
  EXPECT_THAT([&] { loop.step([] {}); },
              ThrowsMessage<FailedPreconditionError>(
                  "Loop::step was called after the run had ended or failed"));
  EXPECT_THAT([&] { loop.finish(); },
              ThrowsMessage<FailedPreconditionError>(
                  "Loop::finish was called after the run had ended or failed"));
}

// As with an exception of the program's own code between two steps.
TEST_F(OwnLoopTest, CountsAsFailedIfTheLoopIsDestroyedBefore) {
  std::vector<std::string> calls;
  int64_t count = 0;
  {
    Loop loop(options({CallsHook(calls)}));
    loop.track("count", count);
    loop.start();
    for (int i = 0; i < 7; ++i) loop.step([&] { ++count; });
  }
  EXPECT_EQ(calls.back(), "error");
  EXPECT_TRUE(
      log_.contains("the loop was destroyed before Loop::finish: its run counts as failed"));
  Loop loop(options());
  loop.track("count", count);
  const int64_t first_step = loop.start();
  EXPECT_EQ(first_step, count);
  EXPECT_GE(first_step, 5);
  loop.finish();
}

// What the program has half changed since the last step is in no checkpoint.
TEST_F(OwnLoopTest, SavesNothingIfTheProgramFailsBetweenTwoSteps) {
  std::pair<int64_t, int64_t> both;
  const auto fail_at_seven = [&](LoopOptions given) {
    both = {};
    Loop loop(std::move(given));
    loop.track("both", both);
    loop.start();
    for (;;) {
      ++both.first;
      if (both.first == 7) throw std::runtime_error("the data is bad");
      ++both.second;
      loop.step([] {});
    }
  };
  EXPECT_THROW(fail_at_seven(options()), std::runtime_error);
  EXPECT_TRUE(log_.contains("the last step is not saved: the program failed after it"));
  {
    Loop loop(options());
    loop.track("both", both);
    EXPECT_EQ(loop.start(), 5);
    EXPECT_EQ(both.first, both.second);
    loop.finish();
  }
  LoopOptions intact = options();
  intact.checkpoint.dir = "intact";
  intact.ending.save_on_error = true;
  EXPECT_THROW(fail_at_seven(intact), std::runtime_error);
  Loop loop(intact);
  loop.track("both", both);
  EXPECT_EQ(loop.start(), 6);
  loop.finish();
}

TEST_F(OwnLoopTest, RefusesCallsInAnotherOrder) {
  int64_t count = 0;
  Loop loop(options());
  loop.track("count", count);
  const auto refused = [](auto call, const std::string& why) {
    EXPECT_THAT(call, ThrowsMessage<FailedPreconditionError>(HasSubstr(why)));
  };
  refused([&] { loop.step([] {}); }, "Loop::step was called before Loop::start");
  refused([&] { loop.should_stop(); }, "Loop::should_stop was called before Loop::start");
  refused([&] { loop.finish(); }, "Loop::finish was called before Loop::start");
  loop.start();
  refused([&] { loop.start(); }, "Loop::start may be called only once");
  refused([&] { loop.run([] {}); }, "Loop::run may be called only once");
  refused([&] { loop.track("count", count); }, "must be called before run()");
  refused([&] { loop.save(); }, "Step::request_save()");
  loop.step([&] {
    ++count;
    refused([&] { loop.step([] {}); }, "Loop::step was called from within Loop::step");
    refused([&] { loop.finish(); }, "Loop::finish was called from within Loop::step");
  });
  loop.finish();
  EXPECT_EQ(loop.save(), "run/model.ckpt-1");
  refused([&] { loop.finish(); }, "Loop::finish was called after the run had ended or failed");
}

TEST_F(OwnLoopTest, CostsNoAllocationInAStep) {
  Loop loop({});
  int64_t count = 0;
  int64_t a = 0, b = 0, c = 0;
  loop.start();
  const auto make_steps = [&](int n) {
    for (int i = 0; i < n; ++i)
      loop.step([&] {
        a += ++count;
        b += a;
        c += b;
      });
  };
  make_steps(10);
  const AllocationCounter allocations;
  make_steps(100);
  EXPECT_EQ(allocations.count(), 0);
  loop.finish();
}

TEST_F(OwnLoopTest, RunsWhileAConditionHolds) {
  const auto run = [&](int64_t limit) {
    int64_t count = 0;
    Loop loop(options());
    loop.track("count", count);
    const RunReport report = loop.run_while([&] { return count < limit; }, [&] { ++count; });
    EXPECT_EQ(count, std::max<int64_t>(limit, 7));
    return report;
  };
  EXPECT_EQ(run(7).last_step, 7);
  const RunReport again = run(3);
  EXPECT_EQ(again.first_step, 7);
  EXPECT_EQ(again.last_step, 7);
  EXPECT_EQ(again.saves, 0);
  EXPECT_EQ(run(9).first_step, 7);
}

// Each value of the curve is the mean of an epoch, however often the run was interrupted in one.
TEST_F(OwnLoopTest, RunsEpochsWithMeansThatBeginAgain) {
  const auto run = [&](std::optional<int64_t> last_step) {
    std::vector<std::string> seen;
    double loss = 0;
    int64_t count = 0;
    Epochs epochs(10, {.batch_size = 4, .shuffle = false, .num_epochs = 3});
    HookList hooks = {every({.steps = 1}, "loss", [&](int64_t step, double mean) {
      seen.push_back(fmt::format("{}: {:.3f}", step, mean));
    })};
    if (last_step) hooks.push_back(StopAtStepHook({.last_step = *last_step}));
    Loop loop(options(hooks));
    loop.track("epochs", epochs);
    loop.track("count", count);
    loop.average("loss", [&] { return loss; }, {.each_epoch = true});
    loop.run_epochs(epochs, [&](const auto& batch, Step& step) {
      EXPECT_EQ(step.number(), count + 1);
      loss = static_cast<double>(++count * batch.size());
    });
    return seen;
  };
  const std::vector<std::string> whole = run({});
  EXPECT_THAT(whole, ElementsAre("1: 4.000", "2: 6.000", "3: 6.000", "4: 16.000", "5: 18.000",
                                 "6: 16.000", "7: 28.000", "8: 30.000", "9: 26.000"));
  files_ = MemoryFileSystem();
  std::vector<std::string> in_parts;
  for (const std::optional<int64_t> last_step : {std::optional<int64_t>(2), {3}, {4}, {8}, {}})
    for (const std::string& each : run(last_step)) in_parts.push_back(each);
  EXPECT_EQ(in_parts, whole);
}

TEST_F(OwnLoopTest, NeedsTrackedEpochsForThat) {
  Epochs epochs(10, {.num_epochs = 1});
  Loop loop(options());
  EXPECT_THAT([&] { loop.average("loss", [] { return 1.0; }, {.each_epoch = true}); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("no Epochs is tracked")));
  EXPECT_THAT([&] { loop.run_epochs(epochs, [](const auto&) {}); },
              ThrowsMessage<FailedPreconditionError>(HasSubstr("no Epochs is tracked")));
  loop.track("epochs", epochs);
  loop.average("loss", [] { return 1.0; }, {.each_epoch = true});
  EXPECT_EQ(loop.run_epochs(epochs, [](const auto&) {}).last_step, 10);
}

// A checkpoint with the other kind of mean lacks this one, which begins with the next step.
TEST_F(OwnLoopTest, KeepsTheTwoKindsOfMeansApart) {
  const auto last_mean = [&](bool each_epoch, int64_t last_step) {
    double last = 0;
    double value = 0;
    Epochs epochs(10);
    Loop loop(options({every({.steps = 1}, "loss", [&](int64_t, double mean) { last = mean; }),
                       StopAtStepHook({.last_step = last_step})}));
    loop.track("epochs", epochs);
    loop.average("loss", [&] { return value; }, {.each_epoch = each_epoch});
    loop.run_epochs(epochs,
                    [&](const auto&, Step& step) { value = static_cast<double>(step.number()); });
    return last;
  };
  EXPECT_EQ(last_mean(false, 4), 2.5);
  EXPECT_EQ(last_mean(true, 6), 5.5);
  EXPECT_EQ(last_mean(false, 8), 7.5);
}

}  // namespace
}  // namespace crochet
