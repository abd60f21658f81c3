// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Checkpoint hooks with a deadline; the curves of AsyncCheckpointSaverHook; its policies while a
// save is retried.
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/standing_clock.h"
#include "crochet/testing/watched_file_system.h"
#include "crochet/training/monitored_session.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::Not;
using testing::Pair;
using testing::ThrowsMessage;

bool is_data(const std::string& path) { return path.find(".data-") != std::string::npos; }

class SaveDeadlineHookTest : public testing::Test {
 protected:
  SaveDeadlineHookTest() { use_clock(clock_); }
  ~SaveDeadlineHookTest() override { set_pending_signal(0); }

  void use_clock(Clock& clock, const std::string& fallback_dir = "") {
    run_clock_ = &clock;
    saver_ = std::make_shared<Saver>(SaverOptions{
        .max_to_keep = 0, .fallback_dir = fallback_dir, .files = &files_, .clock = &clock});
  }
  void begin_with_fallback(const std::string& fallback_dir) {
    use_clock(clock_, fallback_dir);
    begin({.save_steps = 2});
  }
  // Begins a run with a hook of these options.
  void begin(CheckpointSaverHookOptions options) {
    options.checkpoint_dir = "d";
    options.saver = saver_;
    options.clock = run_clock_;
    hook_ = std::make_shared<AsyncCheckpointSaverHook>(options);
    begin(hook_);
    wait_for_saves(1);
  }
  // Begins a run with the synchronous hook; each save takes 10 s.
  void begin_synchronous(CheckpointSaverHookOptions options) {
    use_clock(standing_clock_);
    files_.on_create([this](const std::string& path) {
      if (is_data(path)) standing_clock_.advance(10s);
    });
    options.checkpoint_dir = "d";
    options.saver = saver_;
    options.clock = run_clock_;
    begin(std::make_shared<CheckpointSaverHook>(options));
  }
  void begin(std::shared_ptr<SessionRunHook> hook) {
    auto scaffold = std::make_shared<Scaffold>(Scaffold{.saver = saver_});
    session_ = std::make_unique<MonitoredSession>(
        std::make_unique<ChiefSessionCreator>(
            *graph_, ChiefSessionCreatorOptions{.scaffold = scaffold, .checkpoint_dir = "d"}),
        HookList{std::move(hook)}, MonitoredSessionOptions{.clock = run_clock_});
  }
  void train(int num_runs = 1) {
    for (int i = 0; i < num_runs; ++i) session_->run(graph_->train());
  }
  // Makes runs that train nothing until n saves have ended.
  void wait_for_saves(int64_t n) {
    while (hook_->num_saved() + hook_->num_failed() < n) session_->run("global_step");
  }
  void hold_data_files() {
    files_.on_create([this](const std::string& path) {
      if (is_data(path)) gate_.pass();
    });
  }
  void break_disk() {
    files_.on_create([](const std::string& path) {
      if (is_data(path)) throw UnknownError(fmt::format("{}: the disk is broken", path));
    });
  }
  void heal_disk() { files_.on_create({}); }
  // Waits until the thread that still writes after the end is done.
  void wait_for_worker() {
    gate_.open();
    wait_until("the lock of d", [this] { return files_.try_lock("d/.lock") != nullptr; });
  }
  void forget_all() {
    session_.reset();
    hook_.reset();
    saver_.reset();
    graph_.reset();
  }
  std::vector<std::string> checkpoints() { return list_checkpoints(files_, "d", "model.ckpt"); }
  // The figures of a step in metrics.jsonl, by name.
  std::map<std::string, double> figures_at(int64_t step) {
    std::map<std::string, double> figures;
    std::istringstream lines(read_file(files_, "d/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      const auto object = nlohmann::json::parse(line);
      if (object.value("step", int64_t{-1}) != step) continue;
      for (const auto& [name, value] : object.items())
        if (name.starts_with("checkpoint/")) figures[name] = value.get<double>();
    }
    return figures;
  }
  // The curves of TensorBoard that have a point at this step.
  std::set<std::string> curves_at(int64_t step) {
    std::set<std::string> tags;
    for (const std::string& path : event_files(files_, "d"))
      for (const Event& event : read_event_file(files_, path))
        for (const SummaryValue& value : event.values)
          if (event.step == step) tags.insert(value.tag);
    return tags;
  }

  LogCapture log_;
  WatchedFileSystem files_;
  FakeClock clock_;
  StandingClock standing_clock_;
  Gate gate_;
  Clock* run_clock_ = nullptr;
  std::shared_ptr<Saver> saver_;
  std::unique_ptr<ScriptedGraph> graph_ = std::make_unique<ScriptedGraph>();
  std::shared_ptr<AsyncCheckpointSaverHook> hook_;
  std::unique_ptr<MonitoredSession> session_;
};

TEST_F(SaveDeadlineHookTest, EndsInTimeAndNamesWhatIsLost) {
  begin({.save_steps = 2, .saving = {.deadline_secs = 25}});
  hold_data_files();
  train(2);
  gate_.wait_for_waiting();
  train();
  const Clock::TimePoint start = clock_.now();
  set_pending_signal(15);
  EXPECT_THAT(
      [&] { session_->close(); },
      ThrowsMessage<DeadlineExceededError>(
          AllOf(HasSubstr("the state of step 3 is not saved"), HasSubstr("d/model.ckpt-2 (step 2"),
                HasSubstr("the last checkpoint that is published: d/model.ckpt-0"))));
  EXPECT_LE(clock_.now(), start + 25s);
  EXPECT_NO_THROW(session_->close());
  wait_for_worker();
}

TEST_F(SaveDeadlineHookTest, TheWritingThreadOutlivesTheHook) {
  begin({.save_steps = 2, .saving = {.deadline_secs = 25}});
  hold_data_files();
  train(2);
  gate_.wait_for_waiting();
  EXPECT_THROW(session_->close(), DeadlineExceededError);
  forget_all();
  EXPECT_EQ(files_.try_lock("d/.lock"), nullptr);  // Another run would be refused.
  wait_for_worker();
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-2"));
}

TEST_F(SaveDeadlineHookTest, AFailedRunWaitsNoLongerThanTheDeadline) {
  begin({.save_steps = 2, .saving = {.deadline_secs = 25}});
  hold_data_files();
  train(2);
  gate_.wait_for_waiting();
  session_->abort(std::make_exception_ptr(DataLossError("gone")));
  EXPECT_TRUE(log_.contains("not saved yet: d/model.ckpt-2"));
  forget_all();
  wait_for_worker();
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-2"));
}

TEST_F(SaveDeadlineHookTest, SavesTheLastStepIfThereIsTime) {
  use_clock(standing_clock_);
  files_.on_create([this](const std::string& path) {
    if (is_data(path)) standing_clock_.advance(10s);
  });
  begin({.save_steps = 2, .saving = {.deadline_secs = 20}});
  train(2);
  wait_for_saves(2);
  train();
  session_->close();
  EXPECT_EQ(checkpoints().back(), "d/model.ckpt-3");
  EXPECT_TRUE(log_.contains("saving step 3: expected to take 15.0 s, 20.0 s left"));
}

TEST_F(SaveDeadlineHookTest, DoesNotStartASaveItCannotFinish) {
  use_clock(standing_clock_);
  files_.on_create([this](const std::string& path) {
    if (is_data(path)) standing_clock_.advance(10s);
  });
  begin({.save_steps = 2, .saving = {.deadline_secs = 14}});
  train(2);
  wait_for_saves(2);
  train();
  EXPECT_THAT([&] { session_->close(); },
              ThrowsMessage<DeadlineExceededError>(
                  AllOf(HasSubstr("the state of step 3 is not saved: expected to take 15.0 s"),
                        HasSubstr("14.0 s left"),
                        HasSubstr("the last checkpoint that is published: d/model.ckpt-2"))));
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-2"));
  EXPECT_NE(files_.try_lock("d/.lock"), nullptr);  // Nothing is still writing.
}

TEST_F(SaveDeadlineHookTest, FinishesTheRunningSaveFirst) {
  use_clock(standing_clock_);
  begin({.save_steps = 2, .saving = {.deadline_secs = 20}});
  hold_data_files();
  train(3);
  std::thread opener([this] {
    standing_clock_.wait_for_sleepers();
    gate_.open();
  });
  session_->close();
  opener.join();
  EXPECT_TRUE(
      log_.contains("20.0 s left before the deadline: waiting for d/model.ckpt-2 (step 2: "));
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-2", "d/model.ckpt-3"));
}

TEST_F(SaveDeadlineHookTest, AfterTheSignalSavesOnlyAtTheEnd) {
  begin({.save_steps = 2, .saving = {.deadline_secs = 25}});
  set_pending_signal(15);
  train(5);
  EXPECT_TRUE(log_.contains("the checkpoint of step 2 is left to the end: received SIGTERM"));
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0"));
}

TEST_F(SaveDeadlineHookTest, ASignalEndsTheWaitForTheRunningSave) {
  begin({.save_steps = 1, .saving = {.deadline_secs = 25}});
  hold_data_files();
  train();
  std::thread signaller([this] {
    gate_.wait_for_waiting();
    set_pending_signal(15);
  });
  train();  // Would wait forever for the save of step 1.
  signaller.join();
  EXPECT_TRUE(log_.contains("the checkpoint of step 2 is left to the end"));
  EXPECT_THROW(session_->close(), DeadlineExceededError);
  wait_for_worker();
}

TEST_F(SaveDeadlineHookTest, NamesEveryUnfinishedSave) {
  begin({.save_steps = 1,
         .saving = {.overlap = SaveOverlapPolicy::kNewestWins, .deadline_secs = 25}});
  hold_data_files();
  train();
  gate_.wait_for_waiting();
  train();
  EXPECT_THAT([&] { session_->close(); },
              ThrowsMessage<DeadlineExceededError>(AllOf(HasSubstr("d/model.ckpt-1 (step 1"),
                                                         HasSubstr("d/model.ckpt-2 (step 2"),
                                                         Not(HasSubstr("the state of step")))));
  forget_all();
  wait_for_worker();
  EXPECT_EQ(checkpoints().back(), "d/model.ckpt-2");
}

TEST_F(SaveDeadlineHookTest, TheSynchronousHookSavesTheLastStepIfThereIsTime) {
  begin_synchronous({.save_steps = 2, .saving = {.deadline_secs = 20}});
  train(3);
  session_->close();
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-2", "d/model.ckpt-3"));
  EXPECT_TRUE(log_.contains("saving step 3: expected to take 15.0 s, 20.0 s left"));
}

TEST_F(SaveDeadlineHookTest, TheSynchronousHookDoesNotStartASaveItCannotFinish) {
  begin_synchronous({.save_steps = 2, .saving = {.deadline_secs = 14}});
  train(3);
  EXPECT_THAT([&] { session_->close(); },
              ThrowsMessage<DeadlineExceededError>(
                  AllOf(HasSubstr("the state of step 3 is not saved: expected to take 15.0 s"),
                        HasSubstr("14.0 s left"),
                        HasSubstr("the last checkpoint that is published: d/model.ckpt-2"))));
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-2"));
  EXPECT_NE(files_.try_lock("d/.lock"), nullptr);
}

TEST_F(SaveDeadlineHookTest, AfterTheSignalTheSynchronousHookSavesOnlyAtTheEnd) {
  begin_synchronous({.save_steps = 2, .saving = {.deadline_secs = 25}});
  set_pending_signal(15);
  train(5);
  EXPECT_TRUE(log_.contains("the checkpoint of step 2 is left to the end: received SIGTERM"));
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0"));
  session_->close();
  EXPECT_EQ(checkpoints().back(), "d/model.ckpt-5");
}

TEST_F(SaveDeadlineHookTest, WithoutADeadlineTheSynchronousHookSavesAfterTheSignalToo) {
  begin_synchronous({.save_steps = 2});
  set_pending_signal(15);
  train(2);
  EXPECT_EQ(checkpoints().back(), "d/model.ckpt-2");
  session_->close();
}

TEST_F(SaveDeadlineHookTest, RejectsANegativeDeadline) {
  EXPECT_THROW(AsyncCheckpointSaverHook(
                   {.checkpoint_dir = "d", .save_steps = 1, .saving = {.deadline_secs = -1}}),
               InvalidArgumentError);
}

TEST_F(SaveDeadlineHookTest, WritesTheFiguresOfEachSave) {
  begin({.save_steps = 2});
  train(2);
  session_->close();
  const auto curves = figures_at(2);
  for (const char* const tag : {"seconds", "written_seconds", "durable_seconds", "blocked_seconds"})
    EXPECT_THAT(curves, Contains(Key(fmt::format("checkpoint/{}", tag))));
  EXPECT_GT(curves.at("checkpoint/bytes"), 0);
  EXPECT_EQ(curves.at("checkpoint/saved"), 2);
  EXPECT_EQ(curves.at("checkpoint/failed"), 0);
  EXPECT_TRUE(log_.contains("d: 2 checkpoints, "));
  // In ASCII, "~" comes after all letters.
  EXPECT_THAT(curves_at(2), ElementsAre("~checkpoint/blocked_seconds", "~checkpoint/seconds",
                                        "~checkpoint/steps_percent"));
}

TEST_F(SaveDeadlineHookTest, WritesFailuresAndRetriesToo) {
  begin({.save_steps = 2});
  break_disk();
  train(2);
  wait_for_saves(2);
  heal_disk();
  train(2);
  session_->close();
  EXPECT_THAT(figures_at(2),
              AllOf(Contains(Pair("checkpoint/failed", 1)), Contains(Pair("checkpoint/retries", 3)),
                    Not(Contains(Key("checkpoint/seconds")))));
  EXPECT_THAT(figures_at(4), Contains(Pair("checkpoint/saved", 2)));
}

TEST_F(SaveDeadlineHookTest, CountsSavesThatFinishAfterAnError) {
  begin({.save_steps = 2});
  train(2);
  session_->abort(std::make_exception_ptr(DataLossError("gone")));
  EXPECT_EQ(hook_->num_saved(), 2);
  EXPECT_THAT(figures_at(2), Contains(Pair("checkpoint/saved", 2)));
}

TEST_F(SaveDeadlineHookTest, WritesCurvesToTheGivenWriter) {
  auto writer = std::make_shared<SummaryWriter>("s", files_, clock_);
  begin({.save_steps = 2, .summary_writer = writer});
  session_->close();
  EXPECT_TRUE(files_.exists("s/metrics.jsonl"));
  EXPECT_FALSE(files_.exists("d/metrics.jsonl"));
}

TEST_F(SaveDeadlineHookTest, ANewerSaveEndsThePauseBeforeARetry) {
  use_clock(standing_clock_);
  begin({.save_steps = 1, .saving = {.overlap = SaveOverlapPolicy::kWait}});
  break_disk();
  train();
  standing_clock_.wait_for_sleepers();
  heal_disk();
  train();
  session_->close();
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-1", "d/model.ckpt-2"));
  EXPECT_EQ(hook_->num_failed(), 0);
}

TEST_F(SaveDeadlineHookTest, SkipsASaveWhileAnotherAwaitsARetry) {
  use_clock(standing_clock_);
  begin({.save_steps = 1, .saving = {.overlap = SaveOverlapPolicy::kSkip}});
  break_disk();
  train();
  standing_clock_.wait_for_sleepers();
  heal_disk();
  train();
  EXPECT_EQ(hook_->num_skipped(), 1);
  wait_until("the retry", [this] {
    standing_clock_.advance(1s);
    return checkpoint_exists(files_, "d/model.ckpt-1");
  });
  session_->close();
  EXPECT_THAT(checkpoints(), ElementsAre("d/model.ckpt-0", "d/model.ckpt-1", "d/model.ckpt-2"));
  EXPECT_THAT(figures_at(2), Contains(Pair("checkpoint/skipped", 1)));
}

TEST_F(SaveDeadlineHookTest, WritesIntoTheFallbackDirectoryIfTheFirstOneFails) {
  begin_with_fallback("e");
  EXPECT_EQ(files_.try_lock("e/.lock"), nullptr);  // Locked by this run.
  files_.on_create([](const std::string& path) {
    if (path.starts_with("d/") && is_data(path))
      throw UnknownError(fmt::format("{}: broken", path));
  });
  train(2);
  session_->close();
  EXPECT_THAT(list_checkpoints(files_, "e", "model.ckpt"), ElementsAre("e/model.ckpt-2"));
  EXPECT_EQ(hook_->statistics().saved_in_fallback, 1);
  EXPECT_NE(files_.try_lock("e/.lock"), nullptr);
  heal_disk();
  begin_with_fallback("e");
  EXPECT_EQ(session_->current_step(), 2);
  session_->close();
  EXPECT_EQ(checkpoints().back(), "d/model.ckpt-2");  // Back in the checkpoint directory.
}

TEST_F(SaveDeadlineHookTest, RemovesWhatAKilledSaveLeftInTheFallbackDirectory) {
  files_.create_directories("e");
  const char* const left = "e/model.ckpt-9.data-00000-of-00001";
  files_.create(left)->close();
  begin_with_fallback("e");
  EXPECT_FALSE(files_.exists(left));
  session_->close();
}

TEST_F(SaveDeadlineHookTest, RejectsTheCheckpointDirectoryAsFallbackDirectory) {
  EXPECT_THROW(begin_with_fallback("d"), InvalidArgumentError);
}

TEST_F(SaveDeadlineHookTest, TrainsIfTheFallbackDirectoryCannotBeLocked) {
  std::unique_ptr<WritableFile> file = files_.create("e");  // Not a directory.
  file->close();
  begin_with_fallback("e");
  train(2);
  session_->close();
  EXPECT_TRUE(log_.contains("the fallback directory for checkpoints cannot be used now"));
  EXPECT_EQ(checkpoints().back(), "d/model.ckpt-2");
}

}  // namespace
}  // namespace crochet
