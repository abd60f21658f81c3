// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Every option of train() and of CheckpointSaverHook has an effect. Those that they share with a
// Loop (SavingOptions, RankOptions, SaverOptions) are tested there: here it is enough that one of
// them arrives.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/checkpoint/saver/saver.h"
#include "crochet/hooks/checkpoint_saver_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/monitored_training_session.h"
#include "crochet/summary/summary_writer.h"
#include "crochet/testing/scripted_session.h"
#include "tests/support/seen_world.h"
#include "tests/support/straggler_hook.h"

namespace crochet {
namespace {

using testing::UnorderedElementsAreArray;

// A process that trains a graph, and what an option needs to have an effect.
struct TrainProgram {
  explicit TrainProgram(World& in) : world(in) {
    graph->value("loss", {Tensor::scalar(0.5F)});
    graph->add_to_collection(kSummariesCollection, graph->output("loss"));
    other_graph->value("loss", {Tensor::scalar(0.25F)});
    other_graph->add_to_collection(kSummariesCollection, other_graph->output("loss"));
  }

  World& world;
  // The graphs outlive the options.
  std::shared_ptr<ScriptedGraph> graph = std::make_shared<ScriptedGraph>();
  std::shared_ptr<ScriptedGraph> other_graph =
      std::make_shared<ScriptedGraph>(ScriptedGraphOptions{.global_step = 3});
  // A reference, and thus not assignable: built from these by the program.
  ScriptedGraph* trained = graph.get();
  std::vector<std::function<void(MonitoredTrainingSessionOptions&)>> changes;
  // A hook to be tested; none unless it has a directory.
  CheckpointSaverHookOptions hook = {};
  double seconds_per_step = 0;
  bool times_are_seen = true;

  void change(std::function<void(MonitoredTrainingSessionOptions&)> change) {
    changes.push_back(std::move(change));
  }
};

void run(TrainProgram& program) {
  World& world = program.world;
  ScriptedGraph& graph = *program.trained;
  MonitoredTrainingSessionOptions options{.graph = graph,
                                          .checkpoint_dir = "run",
                                          .hooks = {StopAtStepHook({.last_step = 6})},
                                          .save_checkpoint_steps = 2,
                                          .save_summaries_steps = 0,
                                          .log_step_count_steps = 0,
                                          .files = &world.files,
                                          .clock = &world.clock};
  try {
    for (const auto& change : program.changes) change(options);
    if (!program.hook.checkpoint_dir.empty())
      options.hooks.emplace_back(CheckpointSaverHook(program.hook));
    const RunReport report = train(options, [&](MonitoredSession& session) {
      while (!session.should_stop()) {
        world.clock.advance(from_seconds(program.seconds_per_step));
        session.run(graph.train());
      }
    });
    world.events.insert("report: " + to_string(report));
  } catch (const std::exception& error) {
    world.events.insert(fmt::format("error: {}", error.what()));
  }
  for (const ScriptedRun& run : graph.runs())
    world.events.insert(fmt::format("session {}: {}", run.session, fmt::join(run.fetches, " ")));
  world.events.insert(
      fmt::format("{} runs, settings \"{}\"", graph.num_runs(), graph.last_config().serialized));
}

class BeginsHook final : public SessionRunHook {
 public:
  explicit BeginsHook(std::set<std::string>& events) : events_(events) {}
  void begin(Graph&) override { events_.insert("the hook begins"); }

 private:
  std::set<std::string>& events_;
};

using Options = MonitoredTrainingSessionOptions;
using TrainEffect = Effect<TrainProgram>;

// Sets one member of the options of train().
template <typename Member, typename Value>
std::function<void(TrainProgram&)> setting(Member Options::*member, Value value) {
  return [member, value](TrainProgram& p) { p.change([=](Options& o) { o.*member = value; }); };
}

template <typename Member, typename Value>
std::function<void(TrainProgram&)> hook_setting(Member CheckpointSaverHookOptions::*member,
                                                Value value) {
  return [member, value](TrainProgram& p) { p.hook.*member = value; };
}

void without_saves(TrainProgram& p) {
  p.seconds_per_step = 1;
  p.change([](Options& o) { o.save_checkpoint_steps = 0; });
}

void save_by_time(TrainProgram& p) {
  p.seconds_per_step = 1;
  p.times_are_seen = false;
  p.change([](Options& o) { o.save_checkpoint_steps.reset(); });
}

// The chief, which is another process, never initialises the variables.
void wait_for_chief(TrainProgram& p) {
  p.graph->value("ready", [] { return Tensor::from(std::vector<std::string>{"global_step"}); });
  p.change([&p](Options& o) {
    o.is_chief = false;
    o.scaffold = std::make_shared<Scaffold>();
    o.scaffold->ready_op = p.graph->output("ready");
  });
}

void lose_each_session(TrainProgram& p) {
  for (int64_t n = 0; n < 100; ++n) p.graph->fail_run(n, UnavailableError("it is gone"));
}

// The hook alone saves.
void save_by_hook(TrainProgram& p) {
  without_saves(p);
  p.hook = {.checkpoint_dir = "elsewhere",
            .save_steps = 2,
            .saver = std::make_shared<Saver>(
                SaverOptions{.files = &p.world.files, .clock = &p.world.clock}),
            .clock = &p.world.clock};
}

std::shared_ptr<Saver> saver_of(World& world, int max_to_keep) {
  return std::make_shared<Saver>(
      SaverOptions{.max_to_keep = max_to_keep, .files = &world.files, .clock = &world.clock});
}

const std::vector<TrainEffect>& train_effects() {
  static const std::vector<TrainEffect> all = {
      {"graph", [](TrainProgram& p) { p.trained = p.other_graph.get(); }},
      {"master", setting(&Options::master, "there")},
      {"is_chief", setting(&Options::is_chief, false)},
      {"ranks", setting(&Options::ranks, RankOptions{.agree_every_n_steps = -1})},
      {"checkpoint_dir", setting(&Options::checkpoint_dir, "elsewhere")},
      {"checkpoint_basename", setting(&Options::checkpoint_basename, "m")},
      {"scaffold",
       [](TrainProgram& p) {
         p.change([&p](Options& o) {
           o.scaffold = std::make_shared<Scaffold>(Scaffold{.saver = saver_of(p.world, 1)});
         });
       }},
      {"hooks", setting(&Options::hooks, HookList{StopAtStepHook({.last_step = 3})})},
      {"chief_only_hooks",
       [](TrainProgram& p) {
         p.change([&p](Options& o) { o.chief_only_hooks = {BeginsHook(p.world.events)}; });
       }},
      {"save_checkpoint_steps", setting(&Options::save_checkpoint_steps, 3)},
      {"save_checkpoint_secs", setting(&Options::save_checkpoint_secs, 2), save_by_time},
      {"saving_listeners",
       [](TrainProgram& p) {
         p.change([&p](Options& o) {
           o.saving_listeners = {std::make_shared<BeginsListener>(p.world.events)};
         });
       }},
      {"saving", setting(&Options::saving, SavingOptions{.lock_directory = false})},
      {"saver", setting(&Options::saver, SaverOptions{.max_to_keep = 1})},
      {"save_summaries_steps", setting(&Options::save_summaries_steps, 2), without_saves},
      {"save_summaries_secs", setting(&Options::save_summaries_secs, 3), without_saves},
      {"log_step_count_steps", setting(&Options::log_step_count_steps, 2), without_saves},
      {"summary_dir", setting(&Options::summary_dir, "curves"),
       [](TrainProgram& p) {
         without_saves(p);
         p.change([](Options& o) { o.save_summaries_steps = 1; });
       }},
      {"config", setting(&Options::config, SessionConfig{"settings"})},
      {"stop_grace_period_secs", setting(&Options::stop_grace_period_secs, 7),
       [](TrainProgram& p) {
         without_saves(p);
         p.change([&p](Options& o) {
           o.hooks.push_back(StragglerHook(p.world.log, "waiting for thread"));
         });
       }},
      {"max_wait_secs", setting(&Options::max_wait_secs, 60), wait_for_chief},
      {"recovery_wait_secs", setting(&Options::recovery_wait_secs, 1000), wait_for_chief},
      {"max_recoveries", setting(&Options::max_recoveries, 1), lose_each_session},
      {"can_recover", setting(&Options::can_recover, [] { return false; }), lose_each_session},
      TrainEffect{
          "files",
          [](TrainProgram& p) { p.change([&p](Options& o) { o.files = &p.world.other_disk; }); }},
      TrainEffect{
          "clock",
          [](TrainProgram& p) { p.change([&p](Options& o) { o.clock = &p.world.other_clock; }); }},
  };
  return all;
}

using HookOptions = CheckpointSaverHookOptions;

void save_by_cost(TrainProgram& program) {
  save_by_hook(program);
  program.hook.save_steps.reset();
}

const std::vector<TrainEffect>& hook_effects() {
  static const std::vector<TrainEffect> all = {
      {"checkpoint_dir", hook_setting(&HookOptions::checkpoint_dir, "second"), save_by_hook},
      {"save_steps", hook_setting(&HookOptions::save_steps, 3), save_by_hook},
      {"save_secs", hook_setting(&HookOptions::save_secs, 3),
       [](TrainProgram& p) {
         save_by_hook(p);
         p.hook.save_steps.reset();
       }},
      {"budget_percent", hook_setting(&HookOptions::budget_percent, 1), save_by_cost},
      {"mean_secs_between_failures", hook_setting(&HookOptions::mean_secs_between_failures, 100),
       save_by_cost},
      {"saver", [](TrainProgram& p) { p.hook.saver = saver_of(p.world, 1); }, save_by_hook},
      {"checkpoint_basename", hook_setting(&HookOptions::checkpoint_basename, "m"), save_by_hook},
      {"scaffold",
       [](TrainProgram& p) {
         p.hook.scaffold = std::make_shared<Scaffold>(Scaffold{.saver = saver_of(p.world, 1)});
       },
       [](TrainProgram& p) {
         save_by_hook(p);
         p.hook.saver = nullptr;
         register_saver(*p.graph, saver_of(p.world, 3));
       }},
      {"listeners",
       [](TrainProgram& p) {
         p.hook.listeners = {std::make_shared<BeginsListener>(p.world.events)};
       },
       save_by_hook},
      {"saving", hook_setting(&HookOptions::saving, SavingOptions{.lock_directory = false}),
       save_by_hook},
      {"steps_per_run", hook_setting(&HookOptions::steps_per_run, 1), save_by_hook},
      {"summary_writer",
       [](TrainProgram& p) {
         p.hook.summary_writer =
             SummaryWriter::for_directory("curves", p.world.files, p.world.clock);
       },
       save_by_hook},
      {"clock", [](TrainProgram& p) { p.hook.clock = &p.world.other_clock; },
       [](TrainProgram& p) {
         save_by_hook(p);
         p.hook.save_steps.reset();
         p.hook.save_secs = 2;
       }},
  };
  return all;
}

TEST(EveryTrainOptionTest, IsListed) {
  static ScriptedGraph graph;
  static const Options options{.graph = graph};
  EXPECT_THAT(options_of(train_effects()),
              UnorderedElementsAreArray(FIELDS_OF(
                  options, graph, master, is_chief, ranks, checkpoint_dir, checkpoint_basename,
                  scaffold, hooks, chief_only_hooks, save_checkpoint_steps, save_checkpoint_secs,
                  saving_listeners, saving, saver, save_summaries_steps, save_summaries_secs,
                  log_step_count_steps, summary_dir, config, stop_grace_period_secs, max_wait_secs,
                  recovery_wait_secs, max_recoveries, can_recover, files, clock)));
}

TEST(EveryCheckpointSaverHookOptionTest, IsListed) {
  EXPECT_THAT(options_of(hook_effects()),
              UnorderedElementsAreArray(
                  FIELDS_OF(HookOptions(), checkpoint_dir, save_steps, save_secs, budget_percent,
                            mean_secs_between_failures, saver, checkpoint_basename, scaffold,
                            listeners, saving, steps_per_run, summary_writer, clock)));
}

class TrainEffectTest : public testing::TestWithParam<TrainEffect> {};

TEST_P(TrainEffectTest, IsSeen) { expect_effect(GetParam()); }

INSTANTIATE_TEST_SUITE_P(EveryTrainOption, TrainEffectTest, testing::ValuesIn(train_effects()),
                         name_of_effect<TrainProgram>);
INSTANTIATE_TEST_SUITE_P(EveryCheckpointSaverHookOption, TrainEffectTest,
                         testing::ValuesIn(hook_effects()), name_of_effect<TrainProgram>);

}  // namespace
}  // namespace crochet
