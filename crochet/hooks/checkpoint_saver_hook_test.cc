// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/checkpoint_saver_hook.h"

#include <algorithm>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/any_format/checkpoint_reader.h"
#include "crochet/checkpoint/any_format/internal/index_file.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

// Records its calls.
class DiaryListener final : public CheckpointSaverListener {
 public:
  DiaryListener(std::string called, std::vector<std::string>& diary)
      : called_(std::move(called)), diary_(diary) {}

  void begin() override { note("begin"); }
  void before_save(Session&, int64_t step) override { note(fmt::format("before {}", step)); }
  bool after_save(Session&, int64_t step) override {
    note(fmt::format("after {}", step));
    return stops_at == step;
  }
  void end(Session&, int64_t step) override { note(fmt::format("end {}", step)); }

  std::optional<int64_t> stops_at;
  std::string throws_at;

 private:
  void note(const std::string& what) {
    diary_.push_back(called_ + " " + what);
    if (throws_at == what) throw DataLossError(what);
  }

  const std::string called_;
  std::vector<std::string>& diary_;
};

class CheckpointSaverHookTest : public testing::Test {
 protected:
  CheckpointSaverHookOptions options() {
    return {.checkpoint_dir = "d", .saver = saver_, .clock = &clock_};
  }
  CheckpointSaverHookOptions every_steps(int64_t steps) {
    CheckpointSaverHookOptions result = options();
    result.save_steps = steps;
    return result;
  }
  CheckpointSaverHookOptions every_secs(double secs) {
    CheckpointSaverHookOptions result = options();
    result.save_secs = secs;
    return result;
  }
  // A session over the graph, restored from the directory if it holds a checkpoint.
  MonitoredSession session(CheckpointSaverHookOptions hook_options) {
    return MonitoredSession(creator(), {CheckpointSaverHook(std::move(hook_options))});
  }
  std::unique_ptr<SessionCreator> creator() {
    auto scaffold = std::make_shared<Scaffold>(Scaffold{.saver = saver_});
    return std::make_unique<ChiefSessionCreator>(
        graph_, ChiefSessionCreatorOptions{.scaffold = scaffold, .checkpoint_dir = "d"});
  }
  void train(MonitoredSession& session, int num_runs) {
    for (int i = 0; i < num_runs; ++i) session.run(graph_.train());
  }
  // One run with a hook that is driven by hand.
  void run_by_hand(CheckpointSaverHook& hook, Session& session) {
    const SessionRunArgs train{.fetches = session.graph().operation("train")};
    StopState stop;
    SessionRunContext context(train, session, std::nullopt, stop);
    EXPECT_FALSE(hook.before_run(context));
    EXPECT_EQ(context.global_step(), read_global_step(session));
    session.run(train.fetches);
    hook.after_run(context, {});
  }
  // The step in the newest checkpoint after each run by hand, without after_create_session; with
  // `end`, also after the end.
  std::vector<int64_t> newest_steps(const CheckpointSaverHookOptions& hook_options, Graph& graph,
                                    int num_runs, bool end = false) {
    CheckpointSaverHook hook(hook_options);
    hook.begin(graph);
    const auto session = graph.new_session("");
    std::vector<int64_t> newest;
    for (int i = 0; i < num_runs; ++i) {
      run_by_hand(hook, *session);
      newest.push_back(saved_steps().back());
    }
    if (end) {
      hook.end(*session);
      newest.push_back(saved_steps().back());
    } else {
      hook.on_error(nullptr);
    }
    return newest;
  }
  std::vector<int64_t> saved_steps() {
    std::vector<int64_t> steps;
    for (const std::string& prefix : list_checkpoints(disk_, "d", "model.ckpt"))
      steps.push_back(CheckpointReader(prefix, disk_).read("global_step").scalar<int64_t>());
    return steps;
  }

  LogCapture log_;
  MemoryFileSystem disk_;
  FailingFileSystem files_{disk_};
  FakeClock clock_;
  std::shared_ptr<Saver> saver_ =
      std::make_shared<Saver>(SaverOptions{.max_to_keep = 0, .files = &files_, .clock = &clock_});
  ScriptedGraph graph_;
  std::vector<std::string> diary_;
  std::shared_ptr<DiaryListener> first_ = std::make_shared<DiaryListener>("First", diary_);
  std::shared_ptr<DiaryListener> second_ = std::make_shared<DiaryListener>("Second", diary_);
};

// BH-20, BH-21: exactly one interval.
TEST_F(CheckpointSaverHookTest, RejectsConflictingOptions) {
  EXPECT_THROW(CheckpointSaverHook({.checkpoint_dir = "d", .save_steps = 1, .save_secs = 1.0}),
               InvalidArgumentError);
  EXPECT_THROW(CheckpointSaverHook({.checkpoint_dir = "d"}), InvalidArgumentError);
  EXPECT_THROW(CheckpointSaverHook({.save_steps = 1}), InvalidArgumentError);
  EXPECT_THROW(
      CheckpointSaverHook({.checkpoint_dir = "d", .save_steps = 1, .listeners = {nullptr}}),
      InvalidArgumentError);
  EXPECT_THROW(CheckpointSaverHook({.checkpoint_dir = "d",
                                    .save_steps = 1,
                                    .saver = saver_,
                                    .scaffold = std::make_shared<Scaffold>()}),
               InvalidArgumentError);
}

// Points and states are saved by the name.
TEST_F(CheckpointSaverHookTest, RejectsTwoMetricsOfOneName) {
  const MetricSource loss = {.name = "loss", .newest = [] { return std::optional<MetricPoint>(); }};
  EXPECT_THAT(
      [&] {
        CheckpointSaverHook(
            {.checkpoint_dir = "d", .save_steps = 1, .saving = {.metrics = {loss, loss}}});
      },
      ThrowsMessage<InvalidArgumentError>(
          "CheckpointSaverHook: saving.metrics has two metrics \"loss\": give each its own name"));
}

// BH-34: at creation, then every two steps, and at the end.
TEST_F(CheckpointSaverHookTest, SavesEveryNStepsAndAtTheEnd) {
  MonitoredSession session = this->session(every_steps(2));
  EXPECT_THAT(saved_steps(), ElementsAre(0));
  train(session, 1);
  EXPECT_THAT(saved_steps(), ElementsAre(0));
  train(session, 4);
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2, 4));
  session.close();
  EXPECT_THAT(saved_steps(), ElementsAre(0, 2, 4, 5));
}

// Rejects the steps that a test names.
class RejectingHook final : public SessionRunHook {
 public:
  explicit RejectingHook(std::vector<int64_t> steps) : steps_(std::move(steps)) {}
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    if (std::ranges::find(steps_, read_global_step(context.session())) != steps_.end())
      context.reject_step();
  }

 private:
  std::vector<int64_t> steps_;
};

TEST_F(CheckpointSaverHookTest, DoesNotSaveRejectedSteps) {
  MonitoredSession session(creator(), {RejectingHook({2}), CheckpointSaverHook(every_steps(1))});
  train(session, 3);
  session.close();
  EXPECT_THAT(saved_steps(), ElementsAre(0, 1, 3));
}

TEST_F(CheckpointSaverHookTest, DoesNotSaveARejectedLastStep) {
  MonitoredSession session(creator(),
                           {RejectingHook({2, 3}), CheckpointSaverHook(every_steps(10))});
  train(session, 3);
  session.close();
  EXPECT_THAT(saved_steps(), ElementsAre(0));
  EXPECT_TRUE(log_.contains("step 3 is not saved"));
}

TEST_F(CheckpointSaverHookTest, SavesEveryNSeconds) {
  CheckpointSaverHookOptions every_two_seconds = options();
  every_two_seconds.save_secs = 2.0;
  MonitoredSession session = this->session(every_two_seconds);
  for (int i = 0; i < 5; ++i) {
    clock_.advance(std::chrono::milliseconds(900));
    train(session, 1);
  }
  EXPECT_THAT(saved_steps(), ElementsAre(0, 3));
  session.close();
  EXPECT_THAT(saved_steps(), ElementsAre(0, 3, 5));
}

// BH-22, BH-30: without after_create_session the first run saves.
TEST_F(CheckpointSaverHookTest, SavesAfterTheFirstRunIfNothingWasSavedBefore) {
  EXPECT_THAT(newest_steps(every_secs(2), graph_, 1), ElementsAre(1));
  ScriptedGraph another;
  CheckpointSaverHookOptions elsewhere = every_steps(2);
  elsewhere.checkpoint_basename = "other";
  newest_steps(elsewhere, another, 1);
  EXPECT_EQ(CheckpointReader("d/other-1", disk_).read("global_step").scalar<int64_t>(), 1);
}

// BH-23: two runs in one period, then the end: two saves.
TEST_F(CheckpointSaverHookTest, SavesAtTheStartAndAtTheEndOfAPeriod) {
  CheckpointSaverHookOptions with_listener = every_secs(2);
  with_listener.listeners = {first_};
  newest_steps(with_listener, graph_, 2, /*end=*/true);
  EXPECT_THAT(diary_, ElementsAre("First begin", "First before 1", "First after 1",
                                  "First before 2", "First after 2", "First end 2"));
}

// BH-29: every 2 s over 7 runs, then the end: four saves.
TEST_F(CheckpointSaverHookTest, CallsListenersEveryNSeconds) {
  CheckpointSaverHookOptions with_listener = every_secs(2);
  with_listener.listeners = {first_};
  CheckpointSaverHook hook(with_listener);
  hook.begin(graph_);
  const auto session = graph_.new_session("");
  // Saved at 0, 2.5 and 5 s.
  for (const int milliseconds : {0, 500, 500, 1500, 1500, 1000, 1000}) {
    clock_.advance(std::chrono::milliseconds(milliseconds));
    run_by_hand(hook, *session);
  }
  hook.end(*session);
  EXPECT_THAT(diary_, ElementsAre("First begin",                      //
                                  "First before 1", "First after 1",  //
                                  "First before 4", "First after 4",  //
                                  "First before 6", "First after 6",  //
                                  "First before 7", "First after 7", "First end 7"));
}

// BH-31: every 2 steps: 1, 1, 3, 3, 5.
TEST_F(CheckpointSaverHookTest, SavesEveryNStepsFromTheFirstRunOn) {
  EXPECT_THAT(newest_steps(every_steps(2), graph_, 5), ElementsAre(1, 1, 3, 3, 5));
}

// BH-32: the end saves the last step if it is not saved yet.
TEST_F(CheckpointSaverHookTest, SavesTheLastStepAtTheEnd) {
  EXPECT_THAT(newest_steps(every_steps(2), graph_, 2, /*end=*/true), ElementsAre(1, 1, 2));
}

// BH-35, BH-36: 5 steps per run, every 10 steps: the first run saves, then every second one.
TEST_F(CheckpointSaverHookTest, SavesEveryNStepsInRunsOfFewerSteps) {
  ScriptedGraph graph({.steps_per_run = 5});
  CheckpointSaverHookOptions every_ten = every_steps(10);
  every_ten.steps_per_run = 5;
  EXPECT_THAT(newest_steps(every_ten, graph, 5), ElementsAre(5, 5, 15, 15, 25));
}

// BH-37: 5 steps per run, every 10 steps: the end saves step 10.
TEST_F(CheckpointSaverHookTest, SavesTheLastStepOfRunsOfManySteps) {
  ScriptedGraph graph({.steps_per_run = 5});
  CheckpointSaverHookOptions every_ten = every_steps(10);
  every_ten.steps_per_run = 5;
  EXPECT_THAT(newest_steps(every_ten, graph, 2, /*end=*/true), ElementsAre(5, 5, 10));
}

TEST_F(CheckpointSaverHookTest, SavesInRunsOfManySteps) {
  ScriptedGraph graph({.steps_per_run = 5});
  CheckpointSaverHookOptions every_ten = every_steps(10);
  every_ten.steps_per_run = 5;
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                           {CheckpointSaverHook(every_ten)});
  for (int i = 0; i < 5; ++i) session.run(graph.train());
  EXPECT_THAT(saved_steps(), ElementsAre(0, 10, 20));
  session.close();
  EXPECT_THAT(saved_steps(), ElementsAre(0, 10, 20, 25));
}

// As many as the session makes, and those of other processes: only the step itself says.
TEST_F(CheckpointSaverHookTest, SavesEveryNStepsWhateverNumberARunMakes) {
  ScriptedGraph graph({.steps_per_run = 10});
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph),
                           {CheckpointSaverHook(every_steps(10))});
  session.run(graph.train());
  EXPECT_THAT(saved_steps(), ElementsAre(0, 10));
  session.run_step_fn([&](StepContext& context) {
    context.session().run(graph.train());
    context.run_with_hooks(graph.train());
  });
  EXPECT_THAT(saved_steps(), ElementsAre(0, 10, 30));
  session.close();
}

// The step costs the engine a run.
TEST_F(CheckpointSaverHookTest, ReadsTheStepOnlyIfItMayBeDue) {
  const auto num_runs = [&](CheckpointSaverHookOptions hook_options) {
    MonitoredSession session = this->session(std::move(hook_options));
    const int before = graph_.num_runs();
    train(session, 3);
    const int made = graph_.num_runs() - before;
    session.abort(nullptr);
    return made;
  };
  CheckpointSaverHookOptions known = every_steps(10);
  known.steps_per_run = 1;
  EXPECT_EQ(num_runs(known), 3);
  EXPECT_EQ(num_runs(every_secs(60)), 3);
  EXPECT_EQ(num_runs(every_steps(10)), 6);
}

// BH-24: three saves for two runs, none extra at the end; listeners in their order.
TEST_F(CheckpointSaverHookTest, CallsListenersAroundEachSave) {
  CheckpointSaverHookOptions with_listeners = every_steps(1);
  with_listeners.listeners = {first_, second_};
  MonitoredSession session = this->session(with_listeners);
  train(session, 2);
  session.close();
  EXPECT_THAT(diary_,
              ElementsAre("First begin", "Second begin",  //
                          "First before 0", "Second before 0", "First after 0", "Second after 0",
                          "First before 1", "Second before 1", "First after 1", "Second after 1",
                          "First before 2", "Second before 2", "First after 2", "Second after 2",
                          "First end 2", "Second end 2"));
}

// BH-25: a listener can stop training; all listeners are called even if the first one asks.
TEST_F(CheckpointSaverHookTest, StopsIfAListenerAsks) {
  CheckpointSaverHookOptions with_listeners = every_steps(1);
  with_listeners.listeners = {first_, second_};
  first_->stops_at = 2;
  MonitoredSession session = this->session(with_listeners);
  train(session, 1);
  EXPECT_FALSE(session.should_stop());
  train(session, 1);
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.stop_request()->who, "CheckpointSaverHook");
  EXPECT_THAT(diary_, testing::Contains("Second after 2"));
  session.close();
}

TEST_F(CheckpointSaverHookTest, StopsIfAListenerAsksAtTheFirstSave) {
  CheckpointSaverHookOptions with_listeners = every_steps(1);
  with_listeners.listeners = {first_};
  first_->stops_at = 0;
  MonitoredSession session = this->session(with_listeners);
  EXPECT_TRUE(session.should_stop());
  EXPECT_EQ(session.stop_request()->who, "CheckpointSaverHook");
  session.close();
}

// BH-26: the same with the saver that a session gets by default, over real files; a second session
// restores step 2 from the directory.
TEST_F(CheckpointSaverHookTest, UsesTheDefaultSaver) {
  const TempDirectory directory;
  const auto open = [&](ScriptedGraph& graph) {
    return MonitoredSession(
        std::make_unique<ChiefSessionCreator>(
            graph, ChiefSessionCreatorOptions{.checkpoint_dir = directory.path()}),
        {CheckpointSaverHook({.checkpoint_dir = directory.path(),
                              .save_steps = 1,
                              .listeners = {first_},
                              .clock = &clock_})});
  };
  MonitoredSession session = open(graph_);
  train(session, 2);
  session.close();
  EXPECT_THAT(diary_, ElementsAre("First begin", "First before 0", "First after 0",  //
                                  "First before 1", "First after 1",                 //
                                  "First before 2", "First after 2", "First end 2"));
  ScriptedGraph another;
  MonitoredSession resumed = open(another);
  EXPECT_EQ(resumed.first_step(), 2);
  resumed.close();
}

// Unlike in TensorFlow, the second session does not write step 2 again.
TEST_F(CheckpointSaverHookTest, DoesNotSaveTheStepItJustRestored) {
  {
    MonitoredSession session = this->session(every_steps(1));
    train(session, 2);
    session.close();
  }
  const int64_t operations = files_.num_operations();
  MonitoredSession resumed = session(every_steps(1));
  EXPECT_EQ(resumed.first_step(), 2);
  resumed.close();
  for (auto i = static_cast<size_t>(operations); i < files_.operations().size(); ++i)
    EXPECT_THAT(files_.operations()[i], testing::Not(HasSubstr("model.ckpt")));
}

TEST_F(CheckpointSaverHookTest, LocksTheDirectory) {
  MonitoredSession first = session(every_steps(1));
  EXPECT_THAT(
      [&] { session(every_steps(1)); },
      ThrowsMessage<FailedPreconditionError>(HasSubstr("this process already holds its lock")));
  first.close();
  session(every_steps(1)).close();
}

TEST_F(CheckpointSaverHookTest, ReleasesTheDirectoryAfterAnError) {
  const auto hook = std::make_shared<CheckpointSaverHook>(every_steps(1));
  { const MonitoredSession lost(creator(), {hook}); }
  session(every_steps(1)).close();
}

TEST_F(CheckpointSaverHookTest, ReleasesTheDirectoryIfItsLastSaveFails) {
  const auto hook = std::make_shared<CheckpointSaverHook>(every_steps(100));
  MonitoredSession failing(creator(), {hook});
  train(failing, 1);
  files_.fail_operation(files_.num_operations(), Code::kResourceExhausted, Failing::kFromThenOn);
  EXPECT_THROW(failing.close(), ResourceExhaustedError);
  files_.stop_failing();
  session(every_steps(1)).close();
}

TEST_F(CheckpointSaverHookTest, ReleasesTheDirectoryIfItCannotBegin) {
  CheckpointSaverHookOptions with_listener = every_steps(1);
  with_listener.listeners = {first_};
  first_->throws_at = "begin";
  const auto hook = std::make_shared<CheckpointSaverHook>(with_listener);
  EXPECT_THROW(MonitoredSession(creator(), {hook}), DataLossError);
  session(every_steps(1)).close();
}

TEST_F(CheckpointSaverHookTest, RemovesWhatAKilledSaveLeft) {
  disk_.create_directories("d");
  disk_.create("d/model.ckpt-7.data-00000-of-00001.tempstate123")->append("x");
  disk_.create("d/model.ckpt-7.data-00000-of-00001")->append("x");
  session(every_steps(1)).close();
  EXPECT_FALSE(disk_.exists("d/model.ckpt-7.data-00000-of-00001.tempstate123"));
  EXPECT_FALSE(disk_.exists("d/model.ckpt-7.data-00000-of-00001"));
}

TEST_F(CheckpointSaverHookTest, EndsTheRunIfASaveFails) {
  MonitoredSession session = this->session(every_steps(1));
  files_.fail_operation(files_.num_operations(), Code::kResourceExhausted, Failing::kFromThenOn);
  EXPECT_THROW(train(session, 1), ResourceExhaustedError);
  EXPECT_THAT(saved_steps(), ElementsAre(0));
}

TEST_F(CheckpointSaverHookTest, RecordsCheckpointsAmongTheEvents) {
  MonitoredSession session = this->session(every_steps(1));
  train(session, 1);
  session.close();
  std::vector<int64_t> steps;
  for (const std::string& path : event_files(disk_, "d"))
    for (const Event& event : read_event_file(disk_, path)) {
      if (!event.session_log || event.session_log->status != SessionLog::kCheckpoint) continue;
      EXPECT_EQ(event.session_log->checkpoint_path, "d/model.ckpt");
      steps.push_back(event.step);
    }
  EXPECT_THAT(steps, ElementsAre(0, 1));
}

TEST_F(CheckpointSaverHookTest, UsesTheSaverOfTheScaffold) {
  const auto scaffold = std::make_shared<Scaffold>(Scaffold{.saver = saver_});
  MonitoredSession session(creator(), {CheckpointSaverHook({.checkpoint_dir = "d",
                                                            .save_steps = 1,
                                                            .checkpoint_basename = "other",
                                                            .scaffold = scaffold,
                                                            .clock = &clock_})});
  EXPECT_TRUE(checkpoint_exists(disk_, "d/other-0"));
  session.close();
}

// BH-18: without saver and scaffold it uses the one saver that is registered in the graph.
TEST_F(CheckpointSaverHookTest, UsesTheSaverOfTheGraph) {
  const auto saver = std::make_shared<Saver>(SaverOptions{.files = &files_, .clock = &clock_});
  register_saver(graph_, saver);
  const auto session = graph_.new_session("");
  Coordinator coordinator;
  CheckpointSaverHook hook({.checkpoint_dir = "d", .save_steps = 1, .clock = &clock_});
  hook.begin(graph_);
  EXPECT_TRUE(disk_.exists("d/.lock"));
  session->run(graph_.train());
  hook.after_create_session(*session, coordinator);
  EXPECT_THAT(saved_steps(), ElementsAre(1));
  EXPECT_THAT(saver->last_checkpoints(), ElementsAre("d/model.ckpt-1"));
  hook.end(*session);
}

TEST_F(CheckpointSaverHookTest, RejectsAGraphWithSeveralSavers) {
  register_saver(graph_, saver_);
  register_saver(graph_, std::make_shared<Saver>());
  CheckpointSaverHook hook({.checkpoint_dir = "d", .save_steps = 1, .clock = &clock_});
  EXPECT_THAT([&] { hook.begin(graph_); }, testing::ThrowsMessage<FailedPreconditionError>(
                                               testing::HasSubstr("More than one item")));
  EXPECT_THAT(files_.operations(), IsEmpty());
}

TEST_F(CheckpointSaverHookTest, NeedsAGlobalStep) {
  ScriptedGraph stepless({.counts_steps = false});
  CheckpointSaverHook hook(every_steps(1));
  EXPECT_THROW(hook.begin(stepless), FailedPreconditionError);
  EXPECT_THAT(files_.operations(), IsEmpty());
}

}  // namespace
}  // namespace crochet
