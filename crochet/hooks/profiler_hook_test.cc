// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/hooks/profiler_hook.h"

#include <csignal>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "crochet/base/error.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/summary/event_file_reader.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scripted_session.h"
#include "crochet/training/monitored_session.h"

namespace crochet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class ProfilerHookTest : public testing::Test {
 protected:
  ProfilerHookTest() { graph_.value("loss", {Tensor::scalar(0.5f)}); }

  ProfilerHookOptions options() {
    return {.output_dir = "runs", .files = &files_, .clock = &clock_};
  }
  ProfilerHookOptions every_steps(int64_t steps) {
    ProfilerHookOptions result = options();
    result.save_steps = steps;
    return result;
  }
  ProfilerHookOptions every_two_seconds() {
    ProfilerHookOptions result = options();
    result.save_secs = 2.0;
    return result;
  }
  MonitoredSession session(const ProfilerHookOptions& hook_options) {
    return MonitoredSession(std::make_unique<ChiefSessionCreator>(graph_),
                            {ProfilerHook(hook_options)});
  }
  void run(MonitoredSession& session, double secs = 0) {
    clock_.advance(from_seconds(secs));
    session.run({graph_.train(), graph_.output("loss")});
  }
  std::vector<std::string> timelines() {
    std::vector<std::string> names;
    if (!disk_.exists("runs")) return names;
    for (const std::string& name : disk_.list("runs"))
      if (name.starts_with("timeline-")) names.push_back(name);
    return names;
  }
  std::vector<std::string> metadata_tags() {
    std::vector<std::string> tags;
    for (const std::string& path : event_files(disk_, "runs"))
      for (const Event& event : read_event_file(disk_, path))
        if (event.run_metadata) tags.push_back(event.run_metadata->tag);
    return tags;
  }

  LogCapture log_;
  MemoryFileSystem disk_;
  FailingFileSystem files_{disk_};
  FakeClock clock_;
  ScriptedGraph graph_;
};

// BH-63: exactly one interval.
TEST_F(ProfilerHookTest, RejectsConflictingOptions) {
  EXPECT_THROW(ProfilerHook{options()}, InvalidArgumentError);
  EXPECT_THROW(ProfilerHook({.save_steps = 1, .save_secs = 1.0}), InvalidArgumentError);
  EXPECT_THROW(ProfilerHook({.save_steps = 0}), InvalidArgumentError);
}

// BH-64: in seconds mode the first run is not profiled.
TEST_F(ProfilerHookTest, DoesNotProfileTheFirstRunWhateverTheTime) {
  MonitoredSession session = this->session(every_two_seconds());
  run(session, 100);
  EXPECT_THAT(timelines(), IsEmpty());
  session.close();
}

// BH-65: every 2 s: after +2.5 s and +4.5 s, not at +2.6 or +4.4.
TEST_F(ProfilerHookTest, ProfilesEveryNSeconds) {
  MonitoredSession session = this->session(every_two_seconds());
  run(session);
  run(session, 2.5);
  EXPECT_THAT(timelines(), ElementsAre("timeline-2.json"));
  run(session, 0.1);
  run(session, 1.8);
  EXPECT_THAT(timelines(), SizeIs(1));
  run(session, 0.1);
  EXPECT_THAT(timelines(), ElementsAre("timeline-2.json", "timeline-5.json"));
  session.close();
}

// BH-66: with an interval of one step the first run is not profiled either.
TEST_F(ProfilerHookTest, DoesNotProfileTheFirstRunWhateverTheInterval) {
  MonitoredSession session = this->session(every_steps(1));
  run(session);
  EXPECT_THAT(timelines(), IsEmpty());
  EXPECT_EQ(graph_.runs().back().options.trace_level, TraceLevel::kNone);
  session.close();
}

// BH-67: every 2 steps: 0, 1, 1, 2, 2 files over five runs.
TEST_F(ProfilerHookTest, ProfilesEveryNSteps) {
  MonitoredSession session = this->session(every_steps(2));
  std::vector<size_t> counts;
  for (int i = 0; i < 5; ++i) {
    run(session);
    counts.push_back(timelines().size());
  }
  EXPECT_THAT(counts, ElementsAre(0, 1, 1, 2, 2));
  EXPECT_THAT(timelines(), ElementsAre("timeline-2.json", "timeline-4.json"));
  session.close();
}

// BH-68: one step, two runs: run metadata once, of step 2.
TEST_F(ProfilerHookTest, StoresRunMetadataAmongTheEvents) {
  MonitoredSession session = this->session(every_steps(1));
  run(session);
  run(session);
  session.close();
  EXPECT_THAT(metadata_tags(), ElementsAre("step_2"));
}

TEST_F(ProfilerHookTest, TracesTheWholeRunOnlyWhenItIsDue) {
  MonitoredSession session = this->session(every_steps(2));
  for (int i = 0; i < 3; ++i) run(session);
  session.close();
  std::vector<TraceLevel> levels;
  for (const ScriptedRun& made : graph_.runs())
    if (made.fetches.front() == "train") levels.push_back(made.options.trace_level);
  EXPECT_THAT(levels, ElementsAre(TraceLevel::kNone, TraceLevel::kFull, TraceLevel::kNone));
  const std::string timeline = read_file(disk_, "runs/timeline-2.json");
  EXPECT_THAT(timeline, HasSubstr(R"("name":"train")"));
  EXPECT_THAT(timeline, HasSubstr(R"("name":"loss")"));
  EXPECT_THAT(timeline, Not(HasSubstr(R"("ph":"C")")));
}

TEST_F(ProfilerHookTest, ShowsMemoryIfAsked) {
  ProfilerHookOptions with_memory = every_steps(1);
  with_memory.show_memory = true;
  MonitoredSession session = this->session(with_memory);
  for (int i = 0; i < 2; ++i) run(session);
  session.close();
  EXPECT_THAT(read_file(disk_, "runs/timeline-2.json"), HasSubstr(R"("ph":"C")"));
}

// Unlike TensorFlow, where the second profile of a step ends the run.
TEST_F(ProfilerHookTest, ProfilesARepeatedStepAgain) {
  MonitoredSession session = this->session(every_steps(1));
  for (int i = 0; i < 2; ++i) run(session);
  disk_.remove("runs/timeline-2.json");
  graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
  for (int i = 0; i < 2; ++i) run(session);  // Steps 1 and 2 of the second session.
  session.close();
  EXPECT_THAT(timelines(), ElementsAre("timeline-2.json"));
  EXPECT_THAT(metadata_tags(), ElementsAre("step_2"));
  EXPECT_TRUE(log_.contains("run metadata with the tag step_2 already exists"));
}

TEST_F(ProfilerHookTest, AFullDiskDoesNotEndTheRun) {
  MonitoredSession session = this->session(every_steps(1));
  run(session);
  files_.fail_operation(files_.num_operations(), Code::kResourceExhausted, Failing::kFromThenOn);
  EXPECT_NO_THROW(run(session));
  session.close();
  EXPECT_TRUE(log_.contains("the profile of step 2 cannot be written"));
  EXPECT_THAT(timelines(), IsEmpty());
}

TEST_F(ProfilerHookTest, WritesIntoTheCurrentDirectoryByDefault) {
  ProfilerHookOptions here = every_steps(1);
  here.output_dir = "";
  MonitoredSession session = this->session(here);
  for (int i = 0; i < 2; ++i) run(session);
  session.close();
  EXPECT_TRUE(disk_.exists("timeline-2.json"));
  EXPECT_THAT(event_files(disk_, ""), SizeIs(1));
}

// With other hooks, the engine, and a save.
TEST_F(ProfilerHookTest, ProfilesAWindowOfSteps) {
  ProfilerHookOptions window = every_steps(4);
  window.num_steps = 3;
  graph_.variable("w", Tensor::scalar(1.0f));
  {
    MonitoredSession session(std::make_unique<ChiefSessionCreator>(graph_),
                             {StopAtStepHook({.last_step = 100}),
                              AsyncCheckpointSaverHook({.checkpoint_dir = "run",
                                                        .save_steps = 5,
                                                        .saver = std::make_shared<Saver>(
                                                            SaverOptions{.files = &disk_})}),
                              ProfilerHook(window)});
    for (int i = 0; i < 8; ++i) run(session);
    session.close();
  }
  ASSERT_THAT(timelines(), ElementsAre("timeline-6.json"));
  EXPECT_THAT(metadata_tags(), ElementsAre("step_4", "step_5", "step_6"));
  EXPECT_TRUE(log_.contains("runs/timeline-6.json: the profile of steps 4 to 6"));
  const auto trace = nlohmann::json::parse(read_file(disk_, "runs/timeline-6.json"));
  std::map<std::string, int> spans;
  std::set<std::string> tracks;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M") tracks.insert(event.at("args").at("name").get<std::string>());
    if (event.at("ph") != "X") continue;
    EXPECT_GE(event.at("ts").get<double>(), 0) << event;
    ++spans[event.at("name").get<std::string>()];
  }
  EXPECT_EQ(spans["train"], 3);  // The operation.
  EXPECT_EQ(spans["run"], 3);
  EXPECT_EQ(spans["StopAtStepHook"], 6);
  EXPECT_EQ(spans["AsyncCheckpointSaverHook"], 6);
  EXPECT_EQ(spans["save"], 1);
  EXPECT_EQ(spans["write model.ckpt-5"], 1);
  EXPECT_TRUE(tracks.contains("saves in run")) << trace;
}

TEST_F(ProfilerHookTest, ProfilesWhenASignalAsksForIt) {
  ProfilerHookOptions signalled = options();
  signalled.signals = {SIGUSR2};
  signalled.num_steps = 2;
  MonitoredSession session = this->session(signalled);
  for (int i = 0; i < 3; ++i) run(session);
  EXPECT_THAT(timelines(), IsEmpty());
  std::raise(SIGUSR2);
  for (int i = 0; i < 5; ++i) run(session);
  EXPECT_THAT(timelines(), ElementsAre("timeline-6.json"));
  std::raise(SIGUSR2);
  std::raise(SIGUSR2);
  for (int i = 0; i < 5; ++i) run(session);
  EXPECT_THAT(timelines(), ElementsAre("timeline-11.json", "timeline-6.json"));
  session.close();
}

// What a window has begun is of a session that is gone.
TEST_F(ProfilerHookTest, ARecoveryEndsAWindow) {
  ProfilerHookOptions window = every_steps(2);
  window.num_steps = 2;
  MonitoredSession session = this->session(window);
  for (int i = 0; i < 2; ++i) run(session);
  graph_.fail_run(graph_.num_runs(), AbortedError("the worker is gone"));
  for (int i = 0; i < 3; ++i) run(session);
  session.close();
  EXPECT_THAT(timelines(), ElementsAre("timeline-3.json"));
}

TEST_F(ProfilerHookTest, RefusesSignalsAndStepsThatMakeNoSense) {
  EXPECT_THROW(ProfilerHook({.signals = {SIGKILL}}), InvalidArgumentError);
  EXPECT_THROW(ProfilerHook({.save_steps = 1, .num_steps = 0}), InvalidArgumentError);
  EXPECT_THROW(ProfilerHook({.save_steps = 1, .save_secs = 1.0, .signals = {SIGUSR2}}),
               InvalidArgumentError);
}

TEST_F(ProfilerHookTest, NeedsAGlobalStep) {
  ScriptedGraph stepless({.counts_steps = false});
  ProfilerHook hook(every_steps(1));
  EXPECT_THROW(hook.begin(stepless), FailedPreconditionError);
}

}  // namespace
}  // namespace crochet
