// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <latch>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// Records the threads on which, and the steps for which, it is called.
class ThreadListener final : public CheckpointSaverListener {
 public:
  void before_save(Session&, int64_t step) override { note("before", step); }
  bool after_save(Session&, int64_t step) override {
    note("after", step);
    return stops_at == step;
  }
  void end(Session&, int64_t step) override { note("end", step); }

  std::optional<int64_t> stops_at;
  std::vector<std::string> diary;
  bool always_on_the_training_thread = true;

 private:
  void note(const char* what, int64_t step) {
    always_on_the_training_thread &= std::this_thread::get_id() == training_thread_;
    diary.push_back(fmt::format("{} {}", what, step));
  }
  const std::thread::id training_thread_ = std::this_thread::get_id();
};

class AsyncCheckpointSaverHookTest : public testing::Test {
 protected:
  AsyncCheckpointSaverHookTest() {
    graph_.variable("w", Tensor::zeros<int64_t>({1000}));
    graph_.add_saveable({.name = "counter", .object = saveable_value(counter_)});
  }

  std::shared_ptr<AsyncCheckpointSaverHook> hook(
      int64_t save_steps, SaveOverlapPolicy overlap = SaveOverlapPolicy::kWait,
      SaveErrorPolicy on_save_error = SaveErrorPolicy::kContinue) {
    return std::make_shared<AsyncCheckpointSaverHook>(
        CheckpointSaverHookOptions{.checkpoint_dir = "d",
                                   .save_steps = save_steps,
                                   .saver = saver_,
                                   .listeners = {listener_},
                                   .saving = {.overlap = overlap, .on_error = on_save_error},
                                   .clock = &clock_});
  }
  // Makes the next file operation wait for the latch and then fail, once.
  void hold_next_save(std::latch& latch) {
    files_.fail_operation(files_.num_operations(), [&](const std::string&) {
      save_began_.count_down();
      latch.wait();
      throw ResourceExhaustedError("the disk is full");
    });
  }
  MonitoredSession session(std::shared_ptr<AsyncCheckpointSaverHook> hook) {
    auto scaffold = std::make_shared<Scaffold>(Scaffold{.saver = saver_});
    return MonitoredSession(
        std::make_unique<ChiefSessionCreator>(
            graph_, ChiefSessionCreatorOptions{.scaffold = scaffold, .checkpoint_dir = "d"}),
        {std::move(hook)}, {.clock = &clock_});
  }
  void train(MonitoredSession& session, int num_runs) {
    for (int i = 0; i < num_runs; ++i) {
      counter_ = *session.current_step() + 1;
      session.run(graph_.train());
    }
  }
  std::vector<int64_t> saved_steps() {
    std::vector<int64_t> steps;
    for (const std::string& prefix : list_checkpoints(disk_, "d", "model.ckpt")) {
      const CheckpointReader reader(prefix, disk_);
      steps.push_back(reader.read("global_step").scalar<int64_t>());
      EXPECT_EQ(reader.read("counter").scalar<int64_t>(), steps.back()) << prefix;
      EXPECT_EQ(prefix, fmt::format("d/model.ckpt-{}", steps.back()));
    }
    return steps;
  }
  // Makes runs that train nothing until n saves have ended.
  void wait_for_saves(MonitoredSession& session, const AsyncCheckpointSaverHook& hook, int64_t n) {
    while (hook.num_saved() + hook.num_failed() < n) session.run("global_step");
  }
  void fail_from_now_on() {
    files_.fail_operation(files_.num_operations(), Code::kResourceExhausted, Failing::kFromThenOn);
  }

  LogCapture log_;
  MemoryFileSystem disk_;
  FailingFileSystem files_{disk_};
  FakeClock clock_;
  std::shared_ptr<Saver> saver_ =
      std::make_shared<Saver>(SaverOptions{.max_to_keep = 0, .files = &files_, .clock = &clock_});
  ScriptedGraph graph_;
  int64_t counter_ = 0;
  std::latch save_began_{1};
  std::shared_ptr<ThreadListener> listener_ = std::make_shared<ThreadListener>();
};

TEST_F(AsyncCheckpointSaverHookTest, SavesAsTheSynchronousHookDoes) {
  const auto hook = this->hook(2);
  MonitoredSession session = this->session(hook);
  train(session, 5);
  session.close();
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2, 4, 5));
  EXPECT_EQ(hook->num_saved(), 4);
  EXPECT_EQ(hook->num_failed(), 0);
}

TEST_F(AsyncCheckpointSaverHookTest, EachCheckpointHoldsOneStepThoughTrainingContinues) {
  MonitoredSession session = this->session(hook(1));
  train(session, 100);
  session.close();
  EXPECT_EQ(saved_steps().size(), 101);
}

TEST_F(AsyncCheckpointSaverHookTest, TrainsWhileItSaves) {
  std::latch trained(1);
  const auto hook = this->hook(2);
  MonitoredSession session = this->session(hook);
  wait_for_saves(session, *hook, 1);
  train(session, 1);
  // The save of step 2 cannot begin before step 3 is made.
  files_.fail_operation(files_.num_operations(), [&](const std::string&) {
    trained.wait();
    throw ResourceExhaustedError("the disk is full");
  });
  train(session, 2);
  trained.count_down();
  wait_for_saves(session, *hook, 2);
  session.close();
  EXPECT_EQ(files_.num_failures(), 1);
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2, 3));
}

TEST_F(AsyncCheckpointSaverHookTest, SkipsOverlappingSavesIfAsked) {
  std::latch trained(1);
  const auto hook = this->hook(2, SaveOverlapPolicy::kSkip);
  MonitoredSession session = this->session(hook);
  wait_for_saves(session, *hook, 1);
  train(session, 1);
  hold_next_save(trained);
  train(session, 1);
  save_began_.wait();
  train(session, 5);  // Those of steps 4 and 6 are due while that of step 2 is being written.
  EXPECT_EQ(hook->num_skipped(), 2);
  trained.count_down();
  session.close();  // The last one is never skipped.
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2, 7));
  EXPECT_THAT(listener_->diary, Not(Contains("before 4")));
  EXPECT_TRUE(log_.contains("the checkpoint of step 4 is skipped"));
}

TEST_F(AsyncCheckpointSaverHookTest, TheNewestSaveWinsIfAsked) {
  std::latch trained(1);
  const auto hook = this->hook(2, SaveOverlapPolicy::kNewestWins);
  MonitoredSession session = this->session(hook);
  wait_for_saves(session, *hook, 1);
  train(session, 1);
  hold_next_save(trained);
  train(session, 1);
  save_began_.wait();
  train(session, 4);  // The save of step 6 replaces that of step 4.
  EXPECT_EQ(hook->num_skipped(), 1);
  trained.count_down();
  session.close();
  // That of step 2, which had begun, made its last attempt at once.
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2, 6));
  EXPECT_EQ(hook->num_failed(), 0);
}

TEST_F(AsyncCheckpointSaverHookTest, ThrowsTheErrorOnceIfAskedToStop) {
  const auto hook = this->hook(2, SaveOverlapPolicy::kWait, SaveErrorPolicy::kStop);
  MonitoredSession session = this->session(hook);
  wait_for_saves(session, *hook, 1);
  train(session, 1);
  fail_from_now_on();
  train(session, 1);
  EXPECT_THROW(wait_for_saves(session, *hook, 3), ResourceExhaustedError);
  EXPECT_EQ(hook->num_failed(), 1);
  files_.stop_failing();
  EXPECT_NO_THROW(session.run("global_step"));
  session.close();
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2));  // Saved at the end after all.
}

TEST_F(AsyncCheckpointSaverHookTest, CallsListenersOnTheTrainingThread) {
  MonitoredSession session = this->session(hook(1));
  train(session, 3);
  session.close();
  EXPECT_TRUE(listener_->always_on_the_training_thread);
  for (const char* const call : {"after 0", "after 1", "after 2", "after 3"})
    EXPECT_THAT(listener_->diary, Contains(call).Times(1));
  EXPECT_EQ(listener_->diary.back(), "end 3");
}

TEST_F(AsyncCheckpointSaverHookTest, StopsIfAListenerAsks) {
  listener_->stops_at = 2;
  MonitoredSession session = this->session(hook(2));
  // The save of step 4 waits until that of step 2 is written.
  for (int i = 0; i < 4 && !session.should_stop(); ++i) train(session, 1);
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.stop_request()->who, "AsyncCheckpointSaverHook");
  session.close();
}

TEST_F(AsyncCheckpointSaverHookTest, RetriesWhileTrainingContinues) {
  const auto hook = this->hook(2);
  MonitoredSession session = this->session(hook);
  wait_for_saves(session, *hook, 1);
  train(session, 1);
  files_.fail_operation(files_.num_operations() + 2, Code::kResourceExhausted);
  train(session, 1);
  wait_for_saves(session, *hook, 2);
  train(session, 1);
  session.close();
  EXPECT_EQ(files_.num_failures(), 1);
  EXPECT_TRUE(log_.contains("next attempt in 1 s"));
  EXPECT_EQ(hook->num_failed(), 0);
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2, 3));
}

TEST_F(AsyncCheckpointSaverHookTest, TrainingContinuesAfterAFailedSave) {
  const auto hook = this->hook(1);
  MonitoredSession session = this->session(hook);
  fail_from_now_on();
  train(session, 2);
  files_.stop_failing();
  train(session, 3);
  EXPECT_NO_THROW(session.close());
  EXPECT_GT(hook->num_failed(), 0);
  EXPECT_EQ(hook->num_failed() + hook->num_saved(), 6);
  EXPECT_EQ(saved_steps().back(), 5);
  EXPECT_THAT(listener_->diary, Contains("end 5"));
}

TEST_F(AsyncCheckpointSaverHookTest, ThrowsAtTheEndIfTheLastSaveFailed) {
  const auto hook = this->hook(2);
  MonitoredSession session = this->session(hook);
  wait_for_saves(session, *hook, 1);
  train(session, 1);
  fail_from_now_on();
  EXPECT_THROW(session.close(), ResourceExhaustedError);
  EXPECT_NO_THROW(session.close());
  EXPECT_EQ(hook->num_failed(), 1);
  EXPECT_THAT(listener_->diary, Not(Contains("after 1")));
  files_.stop_failing();
  this->session(this->hook(2)).close();  // The directory is released.
}

TEST_F(AsyncCheckpointSaverHookTest, WritesHeldSnapshotsThoughTheRunFails) {
  const auto hook = this->hook(2);
  {
    MonitoredSession session = this->session(hook);
    train(session, 2);
    session.abort(std::make_exception_ptr(DataLossError("gone")));
  }
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2));
  this->session(this->hook(2)).close();  // The directory is released.
}

// XX-3: 100 steps, a save every 5: the last checkpoint is of step 100, at most 10 exist, and
// listeners are called; unlike TensorFlow's, no save is skipped.
TEST_F(AsyncCheckpointSaverHookTest, SavesThroughALongRun) {
  saver_ = std::make_shared<Saver>(SaverOptions{.files = &files_, .clock = &clock_});
  MonitoredSession session = this->session(hook(5));
  train(session, 100);
  session.close();
  EXPECT_EQ(saved_steps().back(), 100);
  EXPECT_LE(saved_steps().size(), 10U);
  for (int step = 0; step <= 100; step += 5)
    for (const char* const call : {"before", "after"})
      EXPECT_THAT(listener_->diary, Contains(fmt::format("{} {}", call, step)).Times(1));
}

TEST_F(AsyncCheckpointSaverHookTest, RestoresTheStepWhoseSaveWasRunning) {
  MonitoredSession session = this->session(hook(1));
  for (int64_t step = 1; step <= 20; ++step) {
    train(session, 1);
    graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
    counter_ = step + 1;
    session.run("global_step");
    ASSERT_EQ(session.current_step(), step);
    EXPECT_EQ(counter_, step);  // Restored too.
  }
  session.close();
}

}  // namespace
}  // namespace crochet
