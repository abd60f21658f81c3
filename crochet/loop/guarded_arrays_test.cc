// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Loops of one part whose arrays are copied while the next step runs.
#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "tests/support/local_variables.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

using Numbers = std::vector<int64_t>;

constexpr int64_t kNumGuardedSteps = 200;
// Enough that an array is not copied at once.
constexpr size_t kNumElements = 1100;

// Threads that copy in the background wait until it is open; the thread of the test opens it when
// it copies.
class GatedBarrier final : public WriteBarrier {
 public:
  void open() {
    is_open_ = true;
    is_open_.notify_all();
  }
  void close() { is_open_ = false; }
  void announce(const Numbers& array) { before_write(array.data(), array.data() + array.size()); }

  int num_raised() const { return num_raised_; }
  int num_lowered() const { return num_lowered_; }
  std::atomic<bool> fails = false;

 private:
  void raise() override { ++num_raised_; }
  void lower() noexcept override { ++num_lowered_; }
  void copy(const ArrayView& array, std::byte* to, size_t begin, size_t end) override {
    if (std::this_thread::get_id() == here_)
      open();
    else
      is_open_.wait(false);
    if (fails) throw UnavailableError("the device is lost");
    WriteBarrier::copy(array, to, begin, end);
  }

  const std::thread::id here_ = std::this_thread::get_id();
  std::atomic<bool> is_open_ = false;
  int num_raised_ = 0;
  int num_lowered_ = 0;
};

// Two arrays; the optimizer's appears in step 3. All elements are the number of the step.
struct Model {
  struct Optimizer {
    void make(const StoredParts& stored) {
      for (const std::string& name : stored.names())
        moments.try_emplace(name, Numbers(kNumElements));
    }
    void track(Tracker& tracker) {
      for (auto& [name, moment] : moments) add_guarded(tracker, name, moment, barrier);
    }
    std::map<std::string, Numbers> moments;
    std::shared_ptr<GatedBarrier> barrier;
  };

  explicit Model(std::shared_ptr<GatedBarrier> barrier) : barrier(std::move(barrier)) {
    optimizer.barrier = this->barrier;
  }

  static void add_guarded(Tracker& tracker, const std::string& name, Numbers& array,
                          const std::shared_ptr<GatedBarrier>& barrier) {
    tracker.add_array(name, {.view = [&array] { return view_of(array); }, .barrier = barrier});
  }
  void track(Tracker& tracker) {
    add_guarded(tracker, "weights", weights, barrier);
    tracker("optimizer", optimizer);
  }
  bool all_are(int64_t step) const {
    const auto is_step = [=](int64_t x) { return x == step; };
    return std::ranges::all_of(weights, is_step) &&
           std::ranges::all_of(optimizer.moments, [&](const auto& moment) {
             return std::ranges::all_of(moment.second, is_step);
           });
  }
  void set(int64_t step) {
    barrier->announce(weights);
    std::ranges::fill(weights, step);
    if (step >= 3) optimizer.moments.try_emplace("weights", Numbers(kNumElements, step));
    for (auto& [name, moment] : optimizer.moments) {
      barrier->announce(moment);
      std::ranges::fill(moment, step);
    }
  }

  std::shared_ptr<GatedBarrier> barrier;
  Numbers weights = Numbers(5000);
  Optimizer optimizer;
};

// Checks each checkpoint as soon as it is published.
class CheckingListener final : public CheckpointSaverListener {
 public:
  explicit CheckingListener(FileSystem& files) : files_(files) {}

  bool after_save(Session&, int64_t step) override {
    const CheckpointReader reader(fmt::format("run/model.ckpt-{}", step), files_);
    EXPECT_EQ(reader.tensors().contains("model/optimizer/weights"), step >= 3);
    for (const auto& [name, info] : reader.tensors()) {
      const Tensor tensor = reader.read(name);
      EXPECT_TRUE(std::ranges::all_of(tensor.flat<int64_t>(), [=](int64_t x) { return x == step; }))
          << name << " in the checkpoint of " << step;
    }
    ++num_checked;
    return false;
  }

  int64_t num_checked = 0;

 private:
  FileSystem& files_;
};

class GuardedArraysTest : public testing::Test {
 protected:
  ~GuardedArraysTest() override { barrier_->open(); }

  LoopOptions options(int64_t last_step) {
    return {
        .checkpoint = {.dir = "run", .every_steps = 1, .listeners = {listener_}, .copy_threads = 2},
        .summaries = {.every_steps = 0, .count_every_steps = 0},
        .hooks = {StopAtStepHook({.last_step = last_step})},
        .files = &files_,
        .clock = &clock_};
  }

  MemoryFileSystem files_;
  FakeClock clock_;
  std::shared_ptr<CheckingListener> listener_ = std::make_shared<CheckingListener>(files_);
  std::shared_ptr<GatedBarrier> barrier_ = std::make_shared<GatedBarrier>();
  Model model_{barrier_};
};

TEST_F(GuardedArraysTest, AreCopiedWhileTheBodyRuns) {
  for (const int64_t last_step : {kNumGuardedSteps / 2, kNumGuardedSteps}) {
    Model model(barrier_);
    barrier_->close();
    Loop loop(options(last_step));
    loop.track("model", model);
    loop.run([&](Step& step) {
      ASSERT_TRUE(model.all_are(step.number() - 1)) << step.number();
      // The state from which a run resumes is not saved again.
      EXPECT_EQ(barrier_->has_pending(), step.number() != kNumGuardedSteps / 2 + 1);
      barrier_->open();
      model.set(step.number());
      if (step.number() < last_step) barrier_->close();
    });
    EXPECT_FALSE(barrier_->has_pending());
    EXPECT_EQ(barrier_->num_lowered(), barrier_->num_raised());
  }
  EXPECT_GE(listener_->num_checked, kNumGuardedSteps);
}

// The copies of the snapshot of step 3 are made after step 4 has written to one of the arrays.
TEST_F(GuardedArraysTest, EndACheckedRunIfOneIsChangedWithoutAnnouncement) {
  for (const bool is_weights : {true, false}) {
    const LogCapture log;
    MemoryFileSystem files;
    Model model(barrier_);
    barrier_->open();
    LoopOptions options = this->options(6);
    options.debug.check_torn_snapshots = true;
    options.checkpoint.listeners.clear();
    options.checkpoint.saver.max_to_keep = 0;
    options.files = &files;
    Loop loop(options);
    loop.track("model", model);
    const auto body = [&](Step& step) {
      if (step.number() == 4) {
        Numbers& changed = is_weights ? model.weights : model.optimizer.moments.at("weights");
        std::ranges::fill(changed, 4);
      } else {
        model.set(step.number());
      }
      if (step.number() == 3)
        barrier_->close();
      else
        barrier_->open();
    };
    EXPECT_THAT([&] { loop.run(body); },
                ThrowsMessage<UnannouncedWriteError>(
                    HasSubstr(is_weights ? "\"model/weights\" was changed"
                                         : "\"model/optimizer/weights\" was changed")));
    EXPECT_TRUE(log.contains("retrying cannot help, and the run ends"));
    const std::vector<std::string> saved = list_checkpoints(files, "run", "model.ckpt");
    EXPECT_THAT(saved, Contains("run/model.ckpt-2"));
    EXPECT_THAT(saved, Not(Contains("run/model.ckpt-3")));
  }
}

// Of a value whose structure may change, with a Saver of the program's own.
class GuardedPartsTest : public GuardedArraysTest {
 protected:
  GuardedPartsTest() {
    for (const char* const name : {"bias", "weights"})
      model_.optimizer.moments.try_emplace(name, Numbers(kNumElements, 1));
    graph_.set_copy_threads(2);
    Tracker(graph_, "model")("optimizer", model_.optimizer);
    session_ = graph_.new_session("");
  }

  const Saveable& object() { return *graph_.saveables().at(0).object; }
  Numbers& moment() { return model_.optimizer.moments.at("weights"); }

  local::Graph graph_;
  std::unique_ptr<Session> session_;
  Saver saver_{{.files = &files_, .clock = &clock_}};
};

TEST_F(GuardedPartsTest, AreCopiedAtOnceIfTheStateIsAskedFor) {
  const TensorMap state = object().save();
  std::ranges::fill(moment(), 2);
  ASSERT_EQ(state.size(), 2U);
  EXPECT_EQ(state.at("weights").flat<int64_t>()[kNumElements - 1], 1);
  EXPECT_EQ(barrier_->num_raised(), 0);
}

TEST_F(GuardedPartsTest, AreCopiedInTheBackgroundIfASnapshotIsTaken) {
  const Snapshot before = saver_.snapshot(*session_);
  EXPECT_TRUE(barrier_->has_pending());
  barrier_->open();
  barrier_->announce(moment());
  std::ranges::fill(moment(), 2);
  for (const auto& [name, tensor] : before.tensors())
    EXPECT_EQ(tensor.flat<int64_t>()[kNumElements - 1], 1) << name;
}

// The thread that restores helps to copy, which opens the barrier.
TEST_F(GuardedPartsTest, AreCopiedBeforeTheyAreRestored) {
  barrier_->open();
  const std::string prefix = saver_.save(*session_, "run/model.ckpt", 1);
  std::ranges::fill(moment(), 2);
  barrier_->close();
  const Snapshot before = saver_.snapshot(*session_);
  saver_.restore(*session_, prefix);
  EXPECT_FALSE(barrier_->has_pending());
  barrier_->open();
  EXPECT_EQ(moment()[kNumElements - 1], 1);
  EXPECT_EQ(before.tensors().at(1).tensor.flat<int64_t>()[kNumElements - 1], 2);
}

// As a save that fails in its own directory and is then written to the fallback directory.
TEST_F(GuardedPartsTest, CanBeSavedBeforeAndAfterTheyAreWrittenTo) {
  barrier_->open();
  const Snapshot held = saver_.snapshot(*session_);
  internal::BackgroundSaver background(saver_);
  background.enqueue(held, "run/before", 1);
  background.wait();
  EXPECT_TRUE(barrier_->has_pending()) << "nothing was copied";
  barrier_->announce(moment());
  std::ranges::fill(moment(), 2);
  background.enqueue(held, "run/after", 1);
  background.wait();
  for (const char* const prefix : {"run/before-1", "run/after-1"}) {
    const CheckpointReader reader(prefix, files_);
    for (const char* const name : {"model/optimizer/bias", "model/optimizer/weights"}) {
      const Tensor tensor = reader.read(name);
      EXPECT_EQ(tensor.flat<int64_t>()[kNumElements - 1], 1) << name << " of " << prefix;
    }
  }
}

TEST_F(GuardedPartsTest, AreSavedAsSafetensorsWhileTheyAreNotWrittenTo) {
  barrier_->open();
  Saver saver({.format = CheckpointFormat::kSafetensors, .files = &files_, .clock = &clock_});
  const std::string prefix = saver.save(*session_, "run/model", 1);
  const CheckpointReader reader(prefix, files_);
  const Tensor tensor = reader.read("model/optimizer/weights");
  EXPECT_EQ(tensor.flat<int64_t>()[kNumElements - 1], 1);
}

TEST_F(GuardedPartsTest, FailTheSaveIfACopyFails) {
  barrier_->open();
  barrier_->fails = true;
  EXPECT_THAT([&] { saver_.save(*session_, "run/model.ckpt", 1); },
              ThrowsMessage<UnavailableError>("the device is lost"));
  EXPECT_THAT(list_checkpoints(files_, "run", "model.ckpt"), ElementsAre());
  barrier_->fails = false;
  EXPECT_EQ(saver_.save(*session_, "run/model.ckpt", 2), "run/model.ckpt-2");
}

}  // namespace
}  // namespace crochet
