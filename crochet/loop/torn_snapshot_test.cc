// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The torn-snapshot detector: every step writes its number into every element, every step is
// saved, and every published checkpoint is read back: all of its elements must be its step.
// Meanwhile exceptions cause recoveries and end runs. Run it under ThreadSanitizer, too, which
// reports every byte that is copied while it changes.
#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/eigen.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/loop/monitored_training_session.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// The number of steps, each of which is saved; after recoveries, some are saved twice.
constexpr int64_t kNumSteps = 500;
// Steps after which a run recovers once, and steps after which it ends once.
constexpr int64_t kAbortEvery = 23;
constexpr int64_t kFailEvery = 101;

bool all_are(const Tensor& tensor, int64_t step) {
  return tensor.num_elements() > 0 &&
         std::ranges::all_of(tensor.flat<int64_t>(), [=](int64_t x) { return x == step; });
}

// Reads each checkpoint back as soon as it is published.
class ReadingListener final : public CheckpointSaverListener {
 public:
  explicit ReadingListener(FileSystem& files) : files_(files) {}

  bool after_save(Session&, int64_t step) override {
    const CheckpointReader reader(fmt::format("run/model.ckpt-{}", step), files_);
    for (const auto& [name, info] : reader.tensors())
      EXPECT_TRUE(all_are(reader.read(name), step)) << name << " in the checkpoint of " << step;
    ++num_read_;
    return false;
  }

  int64_t num_read() const { return num_read_; }

 private:
  FileSystem& files_;
  int64_t num_read_ = 0;
};

// Arrays of every kind that a loop can track; each element is the number of the step.
struct State {
  explicit State(size_t size = 700) : span_memory(size), vector(size) {}

  std::vector<int64_t> span_memory;
  std::vector<int64_t> vector;  // Resizable: copied at the boundary.
  Eigen::Matrix<int64_t, Eigen::Dynamic, Eigen::Dynamic> matrix =
      Eigen::Matrix<int64_t, Eigen::Dynamic, Eigen::Dynamic>::Zero(33, 40);
  std::array<int64_t, 300> array = {};
  std::deque<int64_t> deque = std::deque<int64_t>(50);
  int64_t number = 0;

  void track(Tracker& tracker) {
    tracker("span", std::span(span_memory))("vector", vector)("matrix", matrix)("array", array)(
        "deque", deque)("number", number);
  }
  bool all_are(int64_t step) const {
    const auto is_step = [=](int64_t x) { return x == step; };
    return std::ranges::all_of(span_memory, is_step) && std::ranges::all_of(vector, is_step) &&
           std::ranges::all_of(array, is_step) && std::ranges::all_of(deque, is_step) &&
           (matrix.array() == step).all() && number == step;
  }
  // Sets all elements; `between` may throw in the middle.
  template <typename Between>
  void set(int64_t step, Between between) {
    std::ranges::fill(span_memory, step);
    vector.assign(vector.size(), step);
    between();
    matrix.setConstant(step);
    array.fill(step);
    std::ranges::fill(deque, step);
    number = step;
  }
};

class TornSnapshotTest : public testing::Test {
 protected:
  LoopOptions options(int64_t last_step = kNumSteps) {
    return {
        .checkpoint = {.dir = "run", .every_steps = 1, .listeners = {listener_}, .copy_threads = 3},
        .summaries = {.every_steps = 0, .count_every_steps = 0},
        .hooks = {StopAtStepHook({.last_step = last_step})},
        .files = &files_,
        .clock = &clock_};
  }

  // Throws at some steps, once each: errors that are recovered from, and errors that are not.
  void fail_now_and_then(int64_t step) {
    if (step % kAbortEvery == 0 && aborted_.insert(step).second) throw AbortedError("lost");
    if (step % kFailEvery == 0 && failed_.insert(step).second) throw std::runtime_error("mine");
  }

  // Runs the program again each time an exception ends it, until it finishes.
  template <typename Program>
  void run_to_the_end(Program program) {
    for (bool again = true; std::exchange(again, false);) {
      try {
        program();
      } catch (const std::runtime_error& error) {
        ASSERT_STREQ(error.what(), "mine");
        again = true;
      }
    }
    EXPECT_EQ(aborted_.size(), static_cast<size_t>(kNumSteps / kAbortEvery));
    EXPECT_EQ(failed_.size(), static_cast<size_t>(kNumSteps / kFailEvery));
    // A save whose run ended before its listener was called is not read: at most one per program.
    EXPECT_GE(listener_->num_read(), kNumSteps - kNumSteps / kFailEvery);
  }

  MemoryFileSystem files_;
  FakeClock clock_;
  LogCapture log_;
  std::shared_ptr<ReadingListener> listener_ = std::make_shared<ReadingListener>(files_);
  std::set<int64_t> aborted_, failed_;
};

TEST_F(TornSnapshotTest, NeverHappensWithOneCallable) {
  run_to_the_end([&] {
    State state;
    Loop loop(options());
    loop.track("state", state);
    loop.run([&](Step& step) {
      ASSERT_TRUE(state.all_are(step.number() - 1)) << step.number();
      state.set(step.number(), [&] { fail_now_and_then(step.number()); });
    });
  });
}

TEST_F(TornSnapshotTest, NeverHappensWithTwoCallables) {
  run_to_the_end([&] {
    State state;
    Loop loop(options());
    loop.track("state", state);
    loop.run(
        [&](Step& step) {
          ASSERT_TRUE(state.all_are(step.number() - 1)) << step.number();
          if (step.number() % 2 == 0) fail_now_and_then(step.number());
        },
        [&](Step& step) { state.set(step.number(), [&] { fail_now_and_then(step.number()); }); });
  });
}

// Arrays so large that several threads copy each.
TEST_F(TornSnapshotTest, NeverHappensWithLargeArrays) {
  for (const bool in_two : {false, true}) {
    State state(300'000);
    Loop loop(options(in_two ? 16 : 8));
    loop.track("state", state);
    const auto check = [&](Step& step) { ASSERT_TRUE(state.all_are(step.number() - 1)); };
    const auto set = [&](Step& step) { state.set(step.number(), [] {}); };
    if (in_two) {
      loop.run(check, set);
    } else {
      loop.run([&](Step& step) {
        check(step);
        set(step);
      });
    }
  }
  EXPECT_EQ(listener_->num_read(), 17);
}

class TornOwnedSnapshotTest : public TornSnapshotTest, public testing::WithParamInterface<int64_t> {
 protected:
  using OwnedVariable = local::OwnedVariable;
  using Numbers = std::span<int64_t>;
  using ConstNumbers = std::span<const int64_t>;

  // A step that replaces one variable and updates two, one of them in an operation of its own.
  Output add_step(local::Graph& graph) {
    const auto zeros = [](int64_t size) { return Tensor::zeros<int64_t>({size}); };
    const OwnedVariable a = graph.variable("replaced", zeros(GetParam()));
    const OwnedVariable b = graph.variable("updated", zeros(GetParam()));
    const OwnedVariable c = graph.variable("updated_alone", zeros(300));
    const OwnedVariable step = graph.create_global_step();
    const auto change =
        graph.op("change", {step, local::replace(a), local::update(b)},
                 [](int64_t before, ConstNumbers old, Numbers next, Numbers updated) {
                   const auto is_before = [=](int64_t x) { return x == before; };
                   ASSERT_TRUE(std::ranges::all_of(old, is_before)) << before;
                   ASSERT_TRUE(std::ranges::all_of(updated, is_before)) << before;
                   std::ranges::fill(next, before + 1);
                   std::ranges::fill(updated, before + 1);
                 });
    const auto alone = graph.op("alone", {step, local::update(c)},
                                [this](int64_t before, Numbers updated) {
                                  updated[0] = before + 1;
                                  fail_now_and_then(before + 1);
                                  std::ranges::fill(updated, before + 1);
                                },
                                {.control_inputs = {change}});
    return graph.increment_global_step({alone});
  }

  void run(int64_t last_step) {
    local::Graph graph;
    graph.set_copy_threads(3);
    const Output step = add_step(graph);
    train({.graph = graph,
           .checkpoint_dir = "run",
           .hooks = {StopAtStepHook({.last_step = last_step})},
           .save_checkpoint_steps = 1,
           .saving_listeners = {listener_},
           .save_summaries_steps = 0,
           .log_step_count_steps = 0,
           .files = &files_,
           .clock = &clock_},
          [&](MonitoredSession& session) {
            while (!session.should_stop()) session.run(step);
          });
  }
};

TEST_P(TornOwnedSnapshotTest, NeverHappensThoughMemoryIsReused) {
  if (GetParam() > 10'000) {
    run(8);
    EXPECT_EQ(listener_->num_read(), 9);
  } else {
    run_to_the_end([&] { run(kNumSteps); });
  }
}

INSTANTIATE_TEST_SUITE_P(SmallAndLarge, TornOwnedSnapshotTest, testing::Values(3, 900, 300'000));

// Changes an array after the checksum at the step boundary and before the copy.
struct Tearing {
  std::vector<int64_t> first = std::vector<int64_t>(100), second = std::vector<int64_t>(100);
  bool tears = false;

  void track(Tracker& tracker) {
    tracker("first", std::span(first));
    tracker.add_array(
        "second", {.view = [this] {
          if (tears) ++first[50];
          return ArrayView{DType::kInt64, {100}, reinterpret_cast<std::byte*>(second.data())};
        }});
  }
};

// A torn save is reported, with the name of the array, and leaves no file.
TEST_F(TornSnapshotTest, FailsTheSaveIfChecked) {
  for (const bool looks : {true, false}) {
    const LogCapture log;
    MemoryFileSystem files;
    Tearing state;
    LoopOptions options = this->options(6);
    options.debug.check_torn_snapshots = looks;
    options.checkpoint.listeners.clear();
    options.checkpoint.saver.max_to_keep = 0;
    options.files = &files;
    Loop loop(options);
    loop.track("model", state);
    const auto update = [&](Step& step) {
      state.tears = step.number() == 3;
      std::ranges::fill(state.first, step.number());
    };
    if (looks) {
      loop.run([] {}, update);
    } else {
      loop.run(update);
    }
    const std::vector<std::string> saved = list_checkpoints(files, "run", "model.ckpt");
    EXPECT_EQ(log.contains("\"model/first\" was changed"), looks);
    EXPECT_THAT(saved, Contains("run/model.ckpt-2"));
    EXPECT_THAT(saved, Contains("run/model.ckpt-6"));
    // Without the checksums the torn save is published.
    if (looks) {
      EXPECT_THAT(saved, Not(Contains("run/model.ckpt-3")));
    } else {
      EXPECT_THAT(saved, Contains("run/model.ckpt-3"));
    }
    EXPECT_THAT(files.list("run"), Not(Contains(HasSubstr("temp"))));
  }
}

}  // namespace
}  // namespace crochet
