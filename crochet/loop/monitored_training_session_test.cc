// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/loop/monitored_training_session.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/base/pending_signal.h"
#include "crochet/checkpoint/directory/checkpoint_files.h"
#include "crochet/checkpoint/directory/checkpoint_sidecar.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/engines/local/graph.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/testing/temp_directory.h"

namespace crochet {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using testing::Optional;
using testing::ThrowsMessage;

// A graph that counts steps; each one stands for a new process.
struct CountingGraph {
  CountingGraph() {
    graph.create_global_step();
    step = graph.increment_global_step({});
  }

  local::Graph graph;
  Operation step;
};

class TrainTest : public testing::Test {
 protected:
  ~TrainTest() override { set_pending_signal(0); }

  MonitoredTrainingSessionOptions options(CountingGraph& graph, HookList hooks = {}) {
    return {.graph = graph.graph,
            .checkpoint_dir = "run",
            .hooks = std::move(hooks),
            .save_summaries_steps = 0,
            .log_step_count_steps = 0,
            .files = &files_,
            .clock = &clock_};
  }

  // Makes `num_steps` steps.
  static RunReport make_steps(const MonitoredTrainingSessionOptions& options, Operation step,
                              int num_steps) {
    return train(options, [&](MonitoredSession& session) {
      for (int i = 0; i < num_steps; ++i) session.run(step);
    });
  }

  std::vector<std::string> checkpoints() { return list_checkpoints(files_, "run", "model.ckpt"); }

  MemoryFileSystem files_;
  FakeClock clock_;
  LogCapture log_;
};

// MS-11: saves at close; a restart resumes there.
TEST_F(TrainTest, SavesAtTheEndAndResumesThere) {
  CountingGraph first;
  const RunReport report = make_steps(options(first), first.step, 2);
  EXPECT_EQ(report.last_step, 2);
  EXPECT_EQ(report.resumed_from, std::nullopt);
  EXPECT_THAT(checkpoints(), ElementsAre("run/model.ckpt-0", "run/model.ckpt-2"));
  EXPECT_FALSE(first.graph.finalized());

  CountingGraph second;
  const RunReport resumed = train(options(second), [&](MonitoredSession& session) {
    EXPECT_EQ(session.run("global_step").scalar<int64_t>(), 2);
  });
  EXPECT_THAT(resumed.resumed_from, Optional(2));
  EXPECT_EQ(resumed.saves, 0);
}

// A saver that finds nothing to save writes nothing: no checkpoint is counted or reported.
TEST_F(TrainTest, ReportsNoCheckpointIfNothingIsSaved) {
  for (const std::optional<double> deadline_secs : {std::optional<double>(), std::optional(60.0)}) {
    CountingGraph graph;
    auto nothing = options(graph);
    nothing.scaffold = std::make_shared<Scaffold>();
    nothing.scaffold->saver =
        std::make_shared<Saver>(SaverOptions{.filter = [](std::string_view) { return false; },
                                             .allow_empty = true,
                                             .files = &files_,
                                             .clock = &clock_});
    nothing.save_checkpoint_steps = 1;
    nothing.saving.deadline_secs = deadline_secs;
    const RunReport report = make_steps(nothing, graph.step, 3);
    EXPECT_EQ(report.last_step, 3);
    EXPECT_EQ(report.saves, 0);
    EXPECT_EQ(report.failed_saves, 0);
    EXPECT_EQ(report.saving.saved, 0);
    EXPECT_EQ(to_string(report).find("checkpoint"), std::string::npos) << to_string(report);
    EXPECT_TRUE(log_.contains("nothing is saved"));
    EXPECT_THAT(checkpoints(), testing::IsEmpty());
  }
}

// MS-12: saves every n steps.
TEST_F(TrainTest, SavesEveryNSteps) {
  CountingGraph first;
  auto of_first = options(first);
  of_first.save_checkpoint_steps = 100;
  of_first.hooks = {StopAtStepHook({.last_step = 250})};
  train(of_first, [&](MonitoredSession& session) {
    while (!session.should_stop()) session.run(first.step);
  });
  EXPECT_THAT(checkpoints(), ElementsAre("run/model.ckpt-0", "run/model.ckpt-100",
                                         "run/model.ckpt-200", "run/model.ckpt-250"));

  CountingGraph second;
  EXPECT_THAT(make_steps(options(second), second.step, 1).resumed_from, Optional(250));
}

TEST_F(TrainTest, SavesEveryNStepsWhateverNumberARunMakes) {
  ScriptedGraph graph({.steps_per_run = 10});
  train({.graph = graph,
         .checkpoint_dir = "run",
         .hooks = {StopAtStepHook({.last_step = 40})},
         .save_checkpoint_steps = 10,
         .files = &files_,
         .clock = &clock_},
        [&](MonitoredSession& session) {
          while (!session.should_stop()) session.run(graph.train());
        });
  EXPECT_THAT(checkpoints(),
              ElementsAre("run/model.ckpt-0", "run/model.ckpt-10", "run/model.ckpt-20",
                          "run/model.ckpt-30", "run/model.ckpt-40"));
}

class TrainSummariesTest : public testing::Test {
 protected:
  // The tags that a run of this many steps leaves in its directory.
  std::vector<std::string> tags(
      const std::function<void(MonitoredTrainingSessionOptions&)>& change) {
    TempDirectory directory;
    CountingGraph graph;
    const Output loss =
        graph.graph.value("my_summary_tag", [] { return Tensor::scalar(0.5f); }, {graph.step});
    graph.graph.add_to_collection(kSummariesCollection, loss);
    MonitoredTrainingSessionOptions options{
        .graph = graph.graph, .checkpoint_dir = directory / "run", .clock = &clock_};
    change(options);
    train(options, [&](MonitoredSession& session) {
      for (int i = 0; i < 201; ++i) {
        clock_.advance(std::chrono::seconds(1));
        session.run(graph.step);
      }
    });
    std::vector<std::string> tags;
    for (const std::string& path : event_files(FileSystem::posix(), directory / "run"))
      for (const Event& event : read_event_file(FileSystem::posix(), path))
        for (const SummaryValue& value : event.values) tags.push_back(value.tag);
    return tags;
  }

  FakeClock clock_;
  LogCapture log_;
};

// MS-14: the program's summary and the steps per second are in the event file.
TEST_F(TrainSummariesTest, WritesSummariesEveryNSteps) {
  const auto found = tags([](auto& options) {
    options.save_summaries_steps = 100;
    options.log_step_count_steps = 10;
  });
  EXPECT_EQ(std::ranges::count(found, "my_summary_tag"), 3);  // Of steps 1, 101, 201.
  EXPECT_THAT(found, Contains("global_step/sec"));
}

// MS-15: the same every n seconds.
TEST_F(TrainSummariesTest, WritesSummariesEveryNSeconds) {
  const auto found = tags([](auto& options) {
    options.save_summaries_steps = 0;
    options.save_summaries_secs = 50;
    options.log_step_count_steps = 10;
  });
  EXPECT_EQ(std::ranges::count(found, "my_summary_tag"), 5);  // Of steps 1, 51, ..., 201.
  EXPECT_THAT(found, Contains("global_step/sec"));
}

TEST_F(TrainSummariesTest, WritesNoneIfTheyAreOff) {
  EXPECT_THAT(tags([](auto& options) { options.save_summaries_steps = 0; }),
              Not(Contains("my_summary_tag")));
}

// A saver of the user's own instead of the one that train would create, and one in addition.
TEST_F(TrainTest, CountsTheSavesOfAllSavers) {
  const auto own_saver = [this](const std::string& directory) {
    return CheckpointSaverHook({.checkpoint_dir = directory,
                                .save_steps = 1,
                                .saver = std::make_shared<Saver>(SaverOptions{.files = &files_}),
                                .clock = &clock_});
  };
  CountingGraph first;
  MonitoredTrainingSessionOptions only_own = options(first, {own_saver("own")});
  only_own.checkpoint_dir.clear();
  const RunReport report = make_steps(only_own, first.step, 3);
  EXPECT_EQ(report.saves, 4);
  EXPECT_EQ(report.saving.saved, 4);
  CountingGraph second;
  EXPECT_EQ(make_steps(options(second, {own_saver("other")}), second.step, 3).saves, 6);
}

TEST_F(TrainTest, KeepsAsManyCheckpointsAsAsked) {
  CountingGraph graph;
  MonitoredTrainingSessionOptions few = options(graph);
  few.save_checkpoint_steps = 1;
  few.saver.max_to_keep = 2;
  few.saver.keep_checkpoint_every_n_steps = 3;
  few.saver.record_command_line = false;
  make_steps(few, graph.step, 5);
  EXPECT_THAT(checkpoints(),
              ElementsAre("run/model.ckpt-3", "run/model.ckpt-4", "run/model.ckpt-5"));
  EXPECT_TRUE(read_sidecar(files_, "run/model.ckpt-5")->command_line.empty());
}

TEST_F(TrainTest, ReportsWhoStopped) {
  CountingGraph graph;
  const RunReport report =
      train(options(graph, {StopAtStepHook({.num_steps = 3})}), [&](MonitoredSession& session) {
        while (!session.should_stop()) session.run(graph.step);
      });
  EXPECT_EQ(report.stop.who, "StopAtStepHook");
  EXPECT_EQ(report.last_step, 3);
  EXPECT_TRUE(log_.contains("StopAtStepHook requested a stop: reached step 3"));
  EXPECT_TRUE(
      log_.contains("the run ended at step 3 (2 checkpoints): StopAtStepHook: reached step 3"));
  CountingGraph again;
  EXPECT_EQ(make_steps(options(again), again.step, 0).stop.reason, "nothing was left to do");
}

TEST_F(TrainTest, ReportsThatItWasRestoredAtStepZero) {
  CountingGraph first;
  EXPECT_EQ(make_steps(options(first), first.step, 0).resumed_from, std::nullopt);
  CountingGraph second;
  EXPECT_THAT(make_steps(options(second), second.step, 0).resumed_from, Optional(0));
}

// A step other than 0 may be an initial value, without a restore.
TEST_F(TrainTest, ReportsNoResumeIfNothingWasRestored) {
  ScriptedGraph graph({.global_step = 5});
  const RunReport report =
      train({.graph = graph, .files = &files_, .clock = &clock_}, [](MonitoredSession&) {});
  EXPECT_EQ(report.first_step, 5);
  EXPECT_EQ(report.resumed_from, std::nullopt);
}

TEST_F(TrainTest, EndsCleanlyWhenTheDataEnds) {
  CountingGraph graph;
  const RunReport report = train(options(graph), [&](MonitoredSession& session) {
    session.run(graph.step);
    throw OutOfRangeError("no more batches");
  });
  EXPECT_EQ(report.stop.reason, "the data ended");
  EXPECT_THAT(checkpoints(), Contains("run/model.ckpt-1"));
}

TEST_F(TrainTest, ReportsASignalThatArrivedBeforeItBegan) {
  CountingGraph graph;
  make_steps(options(graph), graph.step, 1);
  set_pending_signal(15);
  CountingGraph again;
  const RunReport report =
      train(options(again), [](MonitoredSession&) { ADD_FAILURE() << "called"; });
  EXPECT_EQ(report.signal, 15);
  EXPECT_EQ(report.stop.who, "SignalHook");
}

TEST_F(TrainTest, RethrowsTheBodysErrorAndSavesNothingMore) {
  CountingGraph graph;
  struct UsersError {};
  EXPECT_THROW(train(options(graph),
                     [&](MonitoredSession& session) {
                       session.run(graph.step);
                       throw UsersError();
                     }),
               UsersError);
  EXPECT_THAT(checkpoints(), Not(Contains("run/model.ckpt-1")));
}

TEST_F(TrainTest, RecoversFromThreeAbortsAndThrowsTheFourth) {
  CountingGraph graph;
  int num_calls = 0;
  const auto abort_until = [&](int call) {
    return [&, call](MonitoredSession& session) {
      session.run_step_fn([&](StepContext& context) {
        context.run_with_hooks(graph.step);
        if (++num_calls < call) throw AbortedError("the worker is gone");
      });
    };
  };
  const RunReport report = train(options(graph), abort_until(4));
  EXPECT_EQ(report.recoveries, 3);
  EXPECT_EQ(report.last_step, 1);
  num_calls = 0;
  EXPECT_THROW(train(options(graph), abort_until(100)), AbortedError);
  EXPECT_EQ(num_calls, 4);
}

TEST_F(TrainTest, KeepsNothingWithoutADirectory) {
  CountingGraph graph;
  const RunReport report = train({.graph = graph.graph, .files = &files_, .clock = &clock_},
                                 [&](MonitoredSession& session) { session.run(graph.step); });
  EXPECT_EQ(report.last_step, 1);
  EXPECT_EQ(report.saves, 0);
  EXPECT_FALSE(files_.exists("run"));
}

TEST_F(TrainTest, KeepsTheScaffoldsSaver) {
  CountingGraph graph;
  auto with_scaffold = options(graph);
  with_scaffold.scaffold = std::make_shared<Scaffold>();
  with_scaffold.scaffold->saver =
      std::make_shared<Saver>(SaverOptions{.max_to_keep = 1, .files = &files_, .clock = &clock_});
  make_steps(with_scaffold, graph.step, 1);
  EXPECT_THAT(checkpoints(), ElementsAre("run/model.ckpt-1"));
}

TEST_F(TrainTest, UsesTheSaverOfTheGraph) {
  CountingGraph graph;
  register_saver(graph.graph, std::make_shared<Saver>(SaverOptions{
                                  .max_to_keep = 1, .files = &files_, .clock = &clock_}));
  make_steps(options(graph), graph.step, 1);
  EXPECT_THAT(checkpoints(), ElementsAre("run/model.ckpt-1"));
}

TEST_F(TrainTest, PassesOnTargetAndSettings) {
  ScriptedGraph graph;
  std::string target;
  train({.graph = graph, .master = "there", .config = {"settings"}},
        [&](MonitoredSession& session) {
          target =
              session.run_step_fn([](StepContext& context) { return context.session().target(); });
        });
  EXPECT_EQ(target, "there");
  EXPECT_EQ(graph.last_config().serialized, "settings");
}

// Counts the calls of begin.
class BeginsHook final : public SessionRunHook {
 public:
  explicit BeginsHook(int& num_begins) : num_begins_(num_begins) {}
  void begin(Graph&) override { ++num_begins_; }

 private:
  int& num_begins_;
};

TEST_F(TrainTest, HasHooksOnlyForTheChief) {
  CountingGraph graph;
  int num_begins = 0;
  auto of_chief = options(graph);
  of_chief.chief_only_hooks = {BeginsHook(num_begins)};
  make_steps(of_chief, graph.step, 1);
  EXPECT_EQ(num_begins, 1);
}

// A worker whose chief initialises the shared variables after the worker has polled a few times.
class TrainWorkerTest : public TrainTest {
 protected:
  MonitoredTrainingSessionOptions worker_options(int num_questions) {
    const auto scaffold = std::make_shared<Scaffold>();
    scaffold->ready_op = graph_.value("ready", [this, num_questions] {
      return Tensor::from(
          std::vector<std::string>(++num_questions_ < num_questions ? 1 : 0, "global_step"));
    });
    scaffold->init_fn = [](Session&) { ADD_FAILURE() << "called"; };
    return {.graph = graph_,
            .is_chief = false,
            .checkpoint_dir = "run",
            .scaffold = scaffold,
            .hooks = {BeginsHook(num_begins_), StopAtStepHook({.last_step = 7})},
            .chief_only_hooks = {BeginsHook(num_chief_begins_)},
            .save_checkpoint_steps = 1,
            .files = &files_,
            .clock = &clock_};
  }
  RunReport work(const MonitoredTrainingSessionOptions& options) {
    return train(options, [&](MonitoredSession& session) {
      while (!session.should_stop()) session.run(graph_.train());
    });
  }

  ScriptedGraph graph_{{.global_step = 5}};
  int num_questions_ = 0;
  int num_begins_ = 0;
  int num_chief_begins_ = 0;
};

TEST_F(TrainWorkerTest, WaitsForTheChiefAndSavesNothingItself) {
  const RunReport report = work(worker_options(3));
  EXPECT_EQ(num_questions_, 3);
  EXPECT_EQ(num_begins_, 1);
  EXPECT_EQ(num_chief_begins_, 0);
  EXPECT_EQ(report.first_step, 5);
  EXPECT_EQ(report.resumed_from, std::nullopt);
  EXPECT_EQ(report.last_step, 7);
  EXPECT_EQ(report.saves, 0);
  EXPECT_FALSE(files_.exists("run"));
}

TEST_F(TrainWorkerTest, WaitsAtMostTwoHours) {
  EXPECT_THROW(work(worker_options(1'000'000)), DeadlineExceededError);
  EXPECT_EQ(to_seconds(clock_.now() - FakeClock().now()), 7200);
}

TEST_F(TrainWorkerTest, WaitsAtMostMaxWaitSecs) {
  auto impatient = worker_options(1'000'000);
  impatient.max_wait_secs = 60;
  EXPECT_THROW(work(impatient), DeadlineExceededError);
  EXPECT_EQ(to_seconds(clock_.now() - FakeClock().now()), 60);
}

TEST_F(TrainWorkerTest, PollsEveryRecoveryWaitSecs) {
  auto options = worker_options(3);
  options.recovery_wait_secs = 0.5;
  work(options);
  EXPECT_EQ(to_seconds(clock_.now() - FakeClock().now()), 1);
}

TEST_F(TrainWorkerTest, EndsItsWaitOnASignal) {
  set_pending_signal(15);
  const RunReport report = work(worker_options(3));
  EXPECT_EQ(report.signal, 15);
  EXPECT_EQ(report.stop.reason, "waiting until the model is ready cut short by SIGTERM");
  EXPECT_EQ(num_questions_, 1);
}

TEST_F(TrainTest, NamesTheIntervalsThatExcludeEachOther) {
  CountingGraph graph;
  auto bad = options(graph);
  bad.save_checkpoint_steps = 10;
  bad.save_checkpoint_secs = 2.5;
  EXPECT_THAT([&] { check_options(bad); },
              ThrowsMessage<InvalidArgumentError>(
                  "save_checkpoint_steps is 10 and save_checkpoint_secs is 2.5: at most one of "
                  "them may be given"));
}

TEST_F(TrainTest, RejectsBadOptionsBeforeAnythingBegins) {
  CountingGraph graph;
  const auto expect_refused = [&](const auto& change) {
    auto bad = options(graph);
    change(bad);
    EXPECT_THROW(train(bad, [](MonitoredSession&) { FAIL() << "called"; }), InvalidArgumentError);
  };
  expect_refused([](auto& bad) { bad.max_recoveries = -1; });
  expect_refused([](auto& bad) { bad.max_wait_secs = -1; });
  expect_refused([](auto& bad) { bad.recovery_wait_secs = 0; });
  expect_refused([](auto& bad) { bad.stop_grace_period_secs = -1; });
  expect_refused([](auto& bad) { bad.save_checkpoint_secs = -1; });
  expect_refused([](auto& bad) { bad.save_summaries_steps = bad.save_summaries_secs.emplace(1); });
  expect_refused([](auto& bad) { bad.log_step_count_steps = -1; });
  expect_refused([](auto& bad) { bad.ranks.timeout_secs = 0; });
  expect_refused([](auto& bad) { bad.saving.deadline_secs = -1; });
  EXPECT_FALSE(files_.exists("run"));
}

}  // namespace
}  // namespace crochet
