// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Every option of a Loop has an effect.
#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <latch>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crochet/base/error.h"
#include "crochet/group/group.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/internal/run_settings.h"
#include "crochet/loop/loop.h"
#include "tests/support/scheduling.h"
#include "tests/support/seen_world.h"
#include "tests/support/straggler_hook.h"
#include "tests/support/wait_until.h"

namespace crochet {
namespace {

using testing::UnorderedElementsAreArray;

// Rank 0 of two, of which the other does the same. Counts its calls and the limits of their time.
class CountingGroup final : public Group {
 public:
  explicit CountingGroup(std::set<std::string>& calls)
      : Group({.size = 2, .name = "counting"}), calls_(calls) {}

 private:
  std::string exchange(int64_t number, const std::string& message, WaitLimit& limit,
                       const Combine& combine) override {
    calls_.insert(fmt::format("call {} within {} s", number, to_seconds(limit.rest())));
    return combine({message, message});
  }
  void send_failure(int64_t, const std::string&, const std::string&) override {}

  std::set<std::string>& calls_;
};

struct State {
  std::vector<double> w = {1, 2, 3};
  std::array<double, 6> shape = {1, 2, 3, 4, 5, 6};
  double rate = 0.1;
  std::vector<float> constant = std::vector<float>(size_t{1} << 20, 0.5F);  // 4 MiB.
};

LoopOptions quiet_options(World& world, const std::string& dir) {
  return {.checkpoint = {.dir = dir, .every_steps = 2},
          .summaries = {.every_steps = 0, .count_every_steps = 0},
          .files = &world.files,
          .clock = &world.clock};
}

// A process, and what an option of its loop needs to have an effect.
struct LoopProgram {
  explicit LoopProgram(World& in, const std::string& dir = "run")
      : world(in), options(quiet_options(in, dir)) {}

  World& world;
  LoopOptions options;
  State state = {};
  int64_t last_step = 6;
  double seconds_per_step = 0;
  // Whether times are part of what is seen: not where saves overlap steps that take time.
  bool times_are_seen = true;
  std::function<void(Loop& loop, State& state)> track = [](Loop& loop, State& state) {
    loop.track("w", state.w);
    loop.track("shape", state.shape);
    loop.track("rate", state.rate);
  };
  std::function<void(Step& step)> in_step = [](Step&) {};
  // The first part of a step in two parts; none if empty.
  std::function<void(State& state)> compute = {};
  std::shared_ptr<ScopedSchedulingHook> slow_copies = {};
};

// The number of this process's threads with that name.
int num_threads(const std::string& wanted) {
  int number = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name.find(wanted) != std::string::npos) ++number;
  }
  return number;
}

void run(LoopProgram& program) {
  World& world = program.world;
  try {
    program.options.hooks.push_back(StopAtStepHook({.last_step = program.last_step}));
    Loop loop(program.options);
    State& state = program.state;
    program.track(loop, state);
    double loss = 0;
    loop.scalar("loss", [&] { return loss; });
    const auto update = [&](Step& step) {
      world.events.insert(fmt::format("step {} begins with w[0] = {}", step.number(), state.w[0]));
      world.clock.advance(from_seconds(program.seconds_per_step));
      loss = static_cast<double>(step.number());
      state.w[0] += loss;
      program.in_step(step);
    };
    const RunReport report =
        program.compute ? loop.run([&] { program.compute(state); }, update) : loop.run(update);
    world.events.insert(fmt::format("report: {}", to_string(report)));
  } catch (const std::exception& error) {
    world.events.insert(fmt::format("error: {}", error.what()));
  }
  // A run that exceeds its deadline ends before its last save.
  wait_until("the end of saves", [] { return num_threads("saving") == 0; });
  world.events.insert(fmt::format("w = {}, shape = {}, rate = {}", program.state.w,
                                  program.state.shape, program.state.rate));
}

// Runs a program with all defaults in `dir`.
void run_before(World& world, const std::string& dir) {
  LoopProgram program(world, dir);
  program.last_step = 4;
  run(program);
  world.log.clear();
  world.events.clear();
}

using LoopEffect = Effect<LoopProgram>;

void save_every_step(LoopProgram& program) {
  program.options.checkpoint.every_steps = 1;
  program.options.checkpoint.saver.max_to_keep = 1;
}

// What is saved there is removed at the end of a run, unless it fails.
void fail_with_fast_dir(LoopProgram& program) {
  program.options.checkpoint.fast_dir = "fast";
  program.seconds_per_step = 1;
  program.times_are_seen = false;
  program.in_step = [](Step& step) {
    if (step.number() == 6) throw std::runtime_error("a bug");
  };
}

// Every 600 s by default.
void save_rarely(LoopProgram& program) {
  program.options.checkpoint.every_steps.reset();
  program.seconds_per_step = 30;
  program.times_are_seen = false;
}

void save_nothing(LoopProgram& program) {
  program.options.checkpoint.every_steps = 0;
  program.seconds_per_step = 1;
}

void continue_run(LoopProgram& program) { run_before(program.world, "run"); }

void start_from_other(LoopProgram& program) {
  run_before(program.world, "other");
  program.options.restore.from = "other";
}

void fail_saves_after_the_first(LoopProgram& program) {
  save_every_step(program);
  program.times_are_seen = false;
  program.world.files.watch([](const std::string& operation) {
    if (std::regex_search(operation, std::regex("create.* run/model.ckpt-[1-9]")))
      throw UnavailableError(operation + " failed");
  });
}

// A save takes longer than the run may take for its last one.
void make_slow_saves(LoopProgram& program) {
  World& world = program.world;
  program.options.checkpoint.every_steps = 100;
  program.times_are_seen = false;
  world.files.watch([&clock = world.clock](const std::string& operation) {
    if (operation.starts_with("create")) clock.advance(std::chrono::seconds(100));
  });
  // The thread that saves runs, and has its name, before the last save.
  program.in_step = [&disk = world.disk](Step&) {
    wait_until("the first save", [&] { return disk.exists("run/checkpoint"); });
  };
}

// The save of the start lasts until the last step begins.
void save_slowly(LoopProgram& program) {
  const auto last_step = std::make_shared<std::latch>(1);
  program.world.files.watch(
      [last_step, held = std::make_shared<std::atomic<bool>>(false)](const std::string& operation) {
        if (operation.find("model.ckpt-0") != std::string::npos && !held->exchange(true))
          last_step->wait();
      });
  program.last_step = 7;
  program.in_step = [last_step](Step& step) {
    if (step.number() == 7) last_step->count_down();
  };
  program.options.checkpoint.saving.overlap = SaveOverlapPolicy::kSkip;
}

// The first save copies while the step after it changes what it copies.
std::atomic<bool> has_changed = false;
std::thread::id training_thread;

void copy_after_the_change() noexcept {
  if (std::this_thread::get_id() == training_thread) return;
  wait_until("the change", [] { return has_changed.load(); });
}

void change_while_copying(LoopProgram& program) {
  has_changed = false;
  training_thread = std::this_thread::get_id();
  program.slow_copies = std::make_shared<ScopedSchedulingHook>(copy_after_the_change);
  program.compute = [](State& state) {
    if (!has_changed) state.shape[0] = 7;
    has_changed = true;
  };
}

const std::vector<LoopEffect>& loop_effects() {
  static const std::vector<LoopEffect> all = {
      {"checkpoint.dir", [](LoopProgram& p) { p.options.checkpoint.dir = "elsewhere"; }},
      {"checkpoint.basename", [](LoopProgram& p) { p.options.checkpoint.basename = "m"; }},
      {"checkpoint.every_steps", [](LoopProgram& p) { p.options.checkpoint.every_steps = 3; }},
      {"checkpoint.every_secs", [](LoopProgram& p) { p.options.checkpoint.every_secs = 2; },
       [](LoopProgram& p) {
         p.options.checkpoint.every_steps.reset();
         p.seconds_per_step = 1;
         p.times_are_seen = false;
       }},
      {"checkpoint.budget_percent", [](LoopProgram& p) { p.options.checkpoint.budget_percent = 1; },
       save_rarely},
      {"checkpoint.mean_secs_between_failures",
       [](LoopProgram& p) { p.options.checkpoint.mean_secs_between_failures = 3600; }, save_rarely},
      {"checkpoint.fast_dir", [](LoopProgram& p) { p.options.checkpoint.fast_dir = "fast"; }},
      {"checkpoint.fast_every_steps",
       [](LoopProgram& p) { p.options.checkpoint.fast_every_steps = 3; }, fail_with_fast_dir},
      {"checkpoint.fast_every_secs",
       [](LoopProgram& p) { p.options.checkpoint.fast_every_secs = 3; }, fail_with_fast_dir},
      {"checkpoint.listeners",
       [](LoopProgram& p) {
         p.options.checkpoint.listeners = {std::make_shared<BeginsListener>(p.world.events)};
       }},
      {"checkpoint.copy_threads", [](LoopProgram& p) { p.options.checkpoint.copy_threads = 3; },
       [](LoopProgram& p) {
         p.options.checkpoint.copy_threads = 1;
         p.track = [](Loop& loop, State& state) { loop.track("constant", state.constant); };
         p.in_step = [&events = p.world.events](Step& step) {
           if (step.number() == 6)
             events.insert(fmt::format("{} threads copy", num_threads("copying")));
         };
       }},

      {"checkpoint.saving.metrics",
       [](LoopProgram& p) {
         p.options.checkpoint.saving.metrics = {
             {.name = "accuracy", .newest = [] { return MetricPoint{.step = 0, .value = 0.5}; }}};
       },
       [](LoopProgram& p) { p.options.checkpoint.saver.keep_best = KeepBest{"accuracy"}; }},
      {"checkpoint.saving.overlap",
       [](LoopProgram& p) { p.options.checkpoint.saving.overlap = SaveOverlapPolicy::kNewestWins; },
       save_slowly},
      {"checkpoint.saving.on_error",
       [](LoopProgram& p) { p.options.checkpoint.saving.on_error = SaveErrorPolicy::kStop; },
       fail_saves_after_the_first},
      {"checkpoint.saving.deadline_secs",
       [](LoopProgram& p) { p.options.checkpoint.saving.deadline_secs = 1; }, make_slow_saves},
      {"checkpoint.saving.lock_directory",
       [](LoopProgram& p) { p.options.checkpoint.saving.lock_directory = false; }},

      {"checkpoint.saver.var_list",
       [](LoopProgram& p) { p.options.checkpoint.saver.var_list = {"w"}; }},
      {"checkpoint.saver.filter",
       [](LoopProgram& p) {
         p.options.checkpoint.saver.filter = [](std::string_view name) { return name != "w"; };
       }},
      {"checkpoint.saver.format",
       [](LoopProgram& p) { p.options.checkpoint.saver.format = CheckpointFormat::kSafetensors; }},
      {"checkpoint.saver.writer",
       [](LoopProgram& p) { p.options.checkpoint.saver.writer = StateWriter::kGraph; }},
      {"checkpoint.saver.unsaved_state",
       [](LoopProgram& p) { p.options.checkpoint.saver.unsaved_state = UnsavedState::kWarn; }},
      {"checkpoint.saver.num_shards",
       [](LoopProgram& p) { p.options.checkpoint.saver.num_shards = 2; }},
      {"checkpoint.saver.share_unchanged",
       [](LoopProgram& p) { p.options.checkpoint.saver.share_unchanged = false; },
       [](LoopProgram& p) {
         p.track = [](Loop& loop, State& state) { loop.track("constant", state.constant); };
       }},
      {"checkpoint.saver.max_to_keep",
       [](LoopProgram& p) { p.options.checkpoint.saver.max_to_keep = 1; }},
      {"checkpoint.saver.keep_checkpoint_every_n_hours",
       [](LoopProgram& p) { p.options.checkpoint.saver.keep_checkpoint_every_n_hours = 1; },
       [](LoopProgram& p) {
         save_every_step(p);
         p.seconds_per_step = 3600;
         p.times_are_seen = false;
       }},
      {"checkpoint.saver.keep_checkpoint_every_n_steps",
       [](LoopProgram& p) { p.options.checkpoint.saver.keep_checkpoint_every_n_steps = 3; },
       save_every_step},
      {"checkpoint.saver.keep_best",
       [](LoopProgram& p) { p.options.checkpoint.saver.keep_best = KeepBest{"loss"}; },
       save_every_step},
      {"checkpoint.saver.retention",
       [](LoopProgram& p) { p.options.checkpoint.saver.retention = {keep_newest(3)}; },
       save_every_step},
      {"checkpoint.saver.pad_step_number",
       [](LoopProgram& p) { p.options.checkpoint.saver.pad_step_number = true; }},
      {"checkpoint.saver.latest_filename",
       [](LoopProgram& p) { p.options.checkpoint.saver.latest_filename = "latest"; }},
      {"checkpoint.saver.write_state",
       [](LoopProgram& p) { p.options.checkpoint.saver.write_state = false; }},
      {"checkpoint.saver.fallback_dir",
       [](LoopProgram& p) { p.options.checkpoint.saver.fallback_dir = "second"; },
       fail_saves_after_the_first},
      {"checkpoint.saver.check_free_space",
       [](LoopProgram& p) { p.options.checkpoint.saver.check_free_space = false; }},
      {"checkpoint.saver.write_meta_graph",
       [](LoopProgram& p) { p.options.checkpoint.saver.write_meta_graph = false; }},
      {"checkpoint.saver.record_command_line",
       [](LoopProgram& p) { p.options.checkpoint.saver.record_command_line = false; }},
      {"checkpoint.saver.allow_empty",
       [](LoopProgram& p) { p.options.checkpoint.saver.allow_empty = true; }},
      {"checkpoint.saver.defer_build",
       [](LoopProgram& p) { p.options.checkpoint.saver.defer_build = true; }},
      {"checkpoint.saver.files",
       [](LoopProgram& p) { p.options.checkpoint.saver.files = &p.world.other_disk; }},
      {"checkpoint.saver.clock",
       [](LoopProgram& p) { p.options.checkpoint.saver.clock = &p.world.other_clock; }},

      {"restore.from", [](LoopProgram& p) { p.options.restore.from = "other"; },
       [](LoopProgram& p) { run_before(p.world, "other"); }},
      {"restore.which",
       [](LoopProgram& p) { p.options.restore.which = CheckpointChoice::at_step(2); },
       start_from_other},
      {"restore.only", [](LoopProgram& p) { p.options.restore.only = {"w"}; }, start_from_other},
      {"restore.keep", [](LoopProgram& p) { p.options.restore.keep = {"rate"}; },
       [](LoopProgram& p) {
         continue_run(p);
         p.state.rate = 0.5;
       }},
      {"restore.rename",
       [](LoopProgram& p) { p.options.restore.rename = {{.name = "v", .stored_as = "w"}}; },
       [](LoopProgram& p) {
         continue_run(p);
         p.track = [](Loop& loop, State& state) {
           loop.track("v", state.w);
           loop.track("shape", state.shape);
           loop.track("rate", state.rate);
         };
       }},
      {"restore.allow_missing", [](LoopProgram& p) { p.options.restore.allow_missing = true; },
       [](LoopProgram& p) {
         continue_run(p);
         p.track = [track = p.track, extra = 7.0](Loop& loop, State& state) mutable {
           track(loop, state);
           loop.track("extra", extra);
         };
       }},
      {"restore.allow_mismatched",
       [](LoopProgram& p) { p.options.restore.allow_mismatched = true; },
       [](LoopProgram& p) {
         continue_run(p);
         p.track = [shape = std::array<double, 2>()](Loop& loop, State& state) mutable {
           loop.track("w", state.w);
           loop.track("shape", shape);
           loop.track("rate", state.rate);
         };
       }},
      {"restore.allow_surplus", [](LoopProgram& p) { p.options.restore.allow_surplus = true; },
       [](LoopProgram& p) {
         continue_run(p);
         p.track = [](Loop& loop, State& state) { loop.track("w", state.w); };
       }},
      {"restore.reshape", [](LoopProgram& p) { p.options.restore.reshape = true; },
       [](LoopProgram& p) {
         continue_run(p);
         p.track = [shape = std::array<std::array<double, 2>, 3>()](Loop& loop,
                                                                    State& state) mutable {
           loop.track("w", state.w);
           loop.track("shape", shape);
           loop.track("rate", state.rate);
         };
       }},
      {"restore.convert_dtype", [](LoopProgram& p) { p.options.restore.convert_dtype = true; },
       [](LoopProgram& p) {
         continue_run(p);
         p.track = [rate = 0.1F](Loop& loop, State& state) mutable {
           loop.track("w", state.w);
           loop.track("shape", state.shape);
           loop.track("rate", rate);
         };
       }},

      {"summaries.dir", [](LoopProgram& p) { p.options.summaries.dir = "curves"; },
       [](LoopProgram& p) {
         save_nothing(p);
         p.options.summaries.every_steps = 1;
       }},
      {"summaries.every_steps", [](LoopProgram& p) { p.options.summaries.every_steps = 2; },
       save_nothing},
      {"summaries.every_secs", [](LoopProgram& p) { p.options.summaries.every_secs = 3; },
       [](LoopProgram& p) {
         save_nothing(p);
         p.options.summaries.every_steps.reset();
       }},
      {"summaries.count_every_steps",
       [](LoopProgram& p) { p.options.summaries.count_every_steps = 2; }, save_nothing},
      {"summaries.count_every_secs",
       [](LoopProgram& p) { p.options.summaries.count_every_secs = 3; },
       [](LoopProgram& p) {
         save_nothing(p);
         p.options.summaries.count_every_steps.reset();
       }},

      {"ranks.group",
       [](LoopProgram& p) {
         p.options.ranks.group = std::make_shared<CountingGroup>(p.world.events);
       }},
      {"ranks.agree_every_n_steps", [](LoopProgram& p) { p.options.ranks.agree_every_n_steps = 3; },
       [](LoopProgram& p) {
         p.options.ranks.group = std::make_shared<CountingGroup>(p.world.events);
       }},
      {"ranks.timeout_secs", [](LoopProgram& p) { p.options.ranks.timeout_secs = 60; },
       [](LoopProgram& p) {
         p.options.ranks.group = std::make_shared<CountingGroup>(p.world.events);
       }},

      {"hooks", [](LoopProgram& p) { p.options.hooks = {StopAtStepHook({.last_step = 3})}; }},
      {"max_recoveries", [](LoopProgram& p) { p.options.max_recoveries = 1; },
       [](LoopProgram& p) {
         p.in_step = [](Step& step) {
           if (step.number() == 3) throw UnavailableError("the worker is gone");
         };
       }},
      {"ending.deadline",
       [](LoopProgram& p) { p.options.ending.deadline = p.world.clock.wall_time() + 1; },
       [](LoopProgram& p) {
         p.seconds_per_step = 1;
         p.times_are_seen = false;
       }},
      {"ending.stop_grace_period_secs",
       [](LoopProgram& p) { p.options.ending.stop_grace_period_secs = 7; },
       [](LoopProgram& p) {
         p.options.hooks = {StragglerHook(p.world.log, "waiting for thread")};
       }},
      {"ending.save_on_error", [](LoopProgram& p) { p.options.ending.save_on_error = true; },
       [](LoopProgram& p) {
         p.times_are_seen = false;
         p.in_step = [](Step& step) {
           if (step.number() == 4) throw std::runtime_error("a mistake in the program");
         };
       }},
      {"ending.continue_finished",
       [](LoopProgram& p) { p.options.ending.continue_finished = true; },
       [](LoopProgram& p) {
         LoopProgram first(p.world);
         first.in_step = [](Step& step) { step.request_stop("converged"); };
         run(first);
       }},
      {"debug.rehearsal_steps", [](LoopProgram& p) { p.options.debug.rehearsal_steps = 1; }},
      {"debug.check_torn_snapshots",
       [](LoopProgram& p) { p.options.debug.check_torn_snapshots = true; }, change_while_copying},
      {"files", [](LoopProgram& p) { p.options.files = &p.world.other_disk; }},
      {"clock", [](LoopProgram& p) { p.options.clock = &p.world.other_clock; }},
  };
  return all;
}

TEST(EveryLoopOptionTest, IsListed) {
  const std::map<std::string, std::vector<std::string>> structs = {
      {"", FIELDS_OF(LoopOptions(), checkpoint, restore, summaries, ranks, hooks, max_recoveries,
                     ending, debug, files, clock)},
      {"checkpoint.",
       FIELDS_OF(CheckpointOptions(), dir, basename, every_steps, every_secs, budget_percent,
                 mean_secs_between_failures, fast_dir, fast_every_steps, fast_every_secs, listeners,
                 copy_threads, saving, saver)},
      {"checkpoint.saving.",
       FIELDS_OF(SavingOptions(), metrics, overlap, on_error, deadline_secs, lock_directory)},
      {"checkpoint.saver.",
       FIELDS_OF(SaverOptions(), var_list, filter, format, writer, unsaved_state, num_shards,
                 share_unchanged, max_to_keep, keep_checkpoint_every_n_hours,
                 keep_checkpoint_every_n_steps, keep_best, retention, pad_step_number,
                 latest_filename, write_state, fallback_dir, check_free_space, write_meta_graph,
                 record_command_line, allow_empty, defer_build, files, clock)},
      {"restore.", FIELDS_OF(RestoreOptions(), from, which, only, keep, rename, allow_missing,
                             allow_mismatched, allow_surplus, reshape, convert_dtype)},
      {"summaries.", FIELDS_OF(SummaryOptions(), dir, every_steps, every_secs, count_every_steps,
                               count_every_secs)},
      {"ranks.", FIELDS_OF(RankOptions(), group, agree_every_n_steps, timeout_secs)},
      {"ending.",
       FIELDS_OF(EndOptions(), deadline, stop_grace_period_secs, save_on_error, continue_finished)},
      {"debug.", FIELDS_OF(DebugOptions(), rehearsal_steps, check_torn_snapshots)}};
  std::vector<std::string> leaves;
  for (const auto& [path, names] : structs)
    for (const std::string& name : names)
      if (!structs.contains(path + name + ".")) leaves.push_back(path + name);
  EXPECT_THAT(options_of(loop_effects()), UnorderedElementsAreArray(leaves));
}

class LoopEffectTest : public testing::TestWithParam<LoopEffect> {};

TEST_P(LoopEffectTest, IsSeen) { expect_effect(GetParam()); }

// The journal has what a run was started with, but for what is of this process.
TEST_P(LoopEffectTest, IsRecorded) {
  const std::string& option = GetParam().option;
  World world;
  LoopProgram program(world);
  const auto before = internal::changed_options(program.options);
  GetParam().set(program);
  const auto after = internal::changed_options(program.options);
  const bool is_recorded = std::ranges::any_of(after, [&](const Hyperparameter& each) {
    return each.name == option && std::ranges::count(before, each) == 0;
  });
  EXPECT_EQ(is_recorded, !option.ends_with("files") && !option.ends_with("clock"));
}

INSTANTIATE_TEST_SUITE_P(EveryLoopOption, LoopEffectTest, testing::ValuesIn(loop_effects()),
                         name_of_effect<LoopProgram>);

}  // namespace
}  // namespace crochet
