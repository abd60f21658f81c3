// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Every option of a Loop has an effect. A small program runs twice without an option, which must
// make no difference, and once with it, which must. What is compared is all that a user sees of a
// program: its log, error and report, its values, its files and what it does with them.
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
#include "crochet/io/path.h"
#include "crochet/monitor/coordinated_thread.h"
#include "crochet/run/loop.h"
#include "crochet/testing/failing_file_system.h"
#include "crochet/testing/fake_clock.h"
#include "crochet/testing/log_capture.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/scheduling.h"
#include "crochet/testing/wait_until.h"

namespace crochet {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

// A rank that is alone, and counts its calls and the limits of their time.
class CountingGroup final : public Group {
 public:
  explicit CountingGroup(std::set<std::string>& calls)
      : Group({.name = "counting"}), calls_(calls) {}

 private:
  std::string exchange(int64_t number, const std::string& message, WaitLimit& limit,
                       const Combine& combine) override {
    calls_.insert(fmt::format("call {} within {} s", number, to_seconds(limit.rest())));
    return combine({message});
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

// Where one process runs after another.
struct World {
  FakeClock clock;
  FakeClock other_clock{2'000'000'000};
  MemoryFileSystem disk{clock};
  MemoryFileSystem other_disk{clock};
  FailingFileSystem files{disk};
  LogCapture log;
  // What happened in it beside that.
  std::set<std::string> events;
};

// A process, and what an option of its loop needs to have an effect.
struct Program {
  World& world;
  LoopOptions options = {};
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

LoopOptions quiet_options(World& world, const std::string& dir) {
  return {.checkpoint = {.dir = dir, .every_steps = 2},
          .summaries = {.every_steps = 0, .count_every_steps = 0},
          .files = &world.files,
          .clock = &world.clock};
}

// The number of this process's threads that copy for saves.
int num_copying_threads() {
  int number = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name.find("copying") != std::string::npos) ++number;
  }
  return number;
}

void run(Program& program) {
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
  world.events.insert(fmt::format("w = {}, shape = {}, rate = {}", program.state.w,
                                  program.state.shape, program.state.rate));
}

// Runs a program with all defaults in `dir`.
void run_before(World& world, const std::string& dir) {
  Program program{.world = world, .options = quiet_options(world, dir), .last_step = 4};
  run(program);
  world.log.clear();
  world.events.clear();
}

// Without what differs from run to run by design: random names of temporary files, and those of
// event files; numbers of bytes; durations, which a save has in common with the steps that it
// overlaps, and how often it was tried until the next one was due.
std::string without_chance(const std::string& text, bool times_are_seen) {
  static const std::regex temporary("tmp[0-9a-f]{32}|tempstate[0-9]+");
  static const std::regex events("(tfevents[.][0-9]+)[-.A-Za-z0-9_]+");
  static const std::regex numbers("( [0-9]+)+$");
  static const std::regex seconds("(seconds\":) *[-+.e0-9]+");
  static const std::regex durations(
      "tfevents[.][0-9]+|[0-9.]+ (s|[KMG]?B/s|attempts?|retry|retries)\\b");
  std::string rest = std::regex_replace(text, temporary, "tmp");
  rest = std::regex_replace(rest, events, "$1");
  rest = std::regex_replace(rest, numbers, "");
  rest = std::regex_replace(rest, seconds, "$1");
  return times_are_seen ? rest : std::regex_replace(rest, durations, "");
}

std::string contents(FileSystem& files, const std::string& path) {
  if (path.find("tfevents") != std::string::npos)
    return fmt::format("{} bytes.", files.file_size(path));
  std::string bytes = read_file(files, path);
  const bool is_text = path.find(".json") != std::string::npos || bytes.starts_with("model_");
  return is_text ? bytes : fmt::format("{:x}.", std::hash<std::string>()(bytes));
}

std::set<std::string> files_in(FileSystem& files, bool with_contents) {
  std::set<std::string> found;
  for (const std::string directory : {"run", "other", "second", "elsewhere", "curves"}) {
    if (!files.exists(directory)) continue;
    for (const std::string& name : files.list(directory)) {
      const std::string path = join_path(directory, name);
      found.insert(path + (with_contents ? ": " + contents(files, path) : ""));
    }
  }
  return found;
}

std::set<std::string> seen(const Program& program) {
  World& world = program.world;
  std::set<std::string> all;
  const auto add = [&](const std::string& kind, const auto& texts) {
    for (const std::string& text : texts)
      all.insert(kind + without_chance(text, program.times_are_seen));
  };
  add("", world.events);
  if (program.times_are_seen) all.insert(fmt::format("ends at {}", world.clock.wall_time()));
  for (const std::string& line : world.log.lines())
    if (program.times_are_seen || line.find(" took ") == std::string::npos)
      add("log: ", std::vector{line});
  add("operation: ", world.files.operations());
  add("read: ", world.files.reads());
  add("file: ", files_in(world.disk, program.times_are_seen));
  add("file of the other disk: ", files_in(world.other_disk, program.times_are_seen));
  return all;
}

using Change = std::function<void(Program& program)>;

struct Effect {
  std::string option;
  Change set;             // Sets the option.
  Change situation = {};  // In which it has an effect.
};

void PrintTo(const Effect& effect, std::ostream* out) { *out << effect.option; }

std::set<std::string> observe(const Effect& effect, bool is_set) {
  World world;
  Program program{.world = world, .options = quiet_options(world, "run")};
  if (effect.situation) effect.situation(program);
  if (is_set) effect.set(program);
  run(program);
  return seen(program);
}

class LoggingListener final : public CheckpointSaverListener {
 public:
  explicit LoggingListener(std::set<std::string>& events) : events_(events) {}
  void begin() override { events_.insert("the listener begins"); }

 private:
  std::set<std::string>& events_;
};

// Has a thread that runs until a warning about it is logged.
class StragglerHook final : public SessionRunHook {
 public:
  explicit StragglerHook(const LogCapture& log) : log_(log) {}
  void after_create_session(Session&, Coordinator& coordinator) override {
    coordinator.start_thread("straggler", [&log = log_] {
      wait_until("a line in the log", [&] { return log.contains("waiting for thread"); });
    });
  }

 private:
  const LogCapture& log_;
};

void save_every_step(Program& program) {
  program.options.checkpoint.every_steps = 1;
  program.options.checkpoint.saver.max_to_keep = 1;
}

void save_nothing(Program& program) {
  program.options.checkpoint.every_steps = 0;
  program.seconds_per_step = 1;
}

void continue_run(Program& program) { run_before(program.world, "run"); }

void start_from_other(Program& program) {
  run_before(program.world, "other");
  program.options.restore.from = "other";
}

void fail_saves_after_the_first(Program& program) {
  save_every_step(program);
  program.times_are_seen = false;
  program.world.files.watch([](const std::string& operation) {
    if (std::regex_search(operation, std::regex("create.* run/model.ckpt-[1-9]")))
      throw UnavailableError(operation + " failed");
  });
}

// The save of the start takes so long that the last one is not expected to end in time.
void make_slow_saves(Program& program) {
  World& world = program.world;
  program.options.checkpoint.every_steps = 100;
  program.times_are_seen = false;
  world.files.watch([&clock = world.clock](const std::string& operation) {
    if (operation.starts_with("create")) clock.advance(std::chrono::seconds(100));
  });
  program.in_step = [&world](Step& step) {
    if (step.number() == 1)
      wait_until("the first checkpoint", [&] { return world.disk.exists("run/checkpoint"); });
  };
}

// The save of the start lasts until the last step begins.
void save_slowly(Program& program) {
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

void change_while_copying(Program& program) {
  has_changed = false;
  training_thread = std::this_thread::get_id();
  program.slow_copies = std::make_shared<ScopedSchedulingHook>(copy_after_the_change);
  program.compute = [](State& state) {
    if (!has_changed) state.shape[0] = 7;
    has_changed = true;
  };
}

const std::vector<Effect>& effects() {
  static const std::vector<Effect> all = {
      {"checkpoint.dir", [](Program& p) { p.options.checkpoint.dir = "elsewhere"; }},
      {"checkpoint.basename", [](Program& p) { p.options.checkpoint.basename = "m"; }},
      {"checkpoint.every_steps", [](Program& p) { p.options.checkpoint.every_steps = 3; }},
      {"checkpoint.every_secs", [](Program& p) { p.options.checkpoint.every_secs = 2; },
       [](Program& p) {
         p.options.checkpoint.every_steps.reset();
         p.seconds_per_step = 1;
         p.times_are_seen = false;
       }},
      {"checkpoint.listeners",
       [](Program& p) {
         p.options.checkpoint.listeners = {std::make_shared<LoggingListener>(p.world.events)};
       }},
      {"checkpoint.copy_threads", [](Program& p) { p.options.checkpoint.copy_threads = 3; },
       [](Program& p) {
         p.options.checkpoint.copy_threads = 1;
         p.track = [](Loop& loop, State& state) { loop.track("constant", state.constant); };
         p.in_step = [&events = p.world.events](Step& step) {
           if (step.number() == 6)
             events.insert(fmt::format("{} threads copy", num_copying_threads()));
         };
       }},

      {"checkpoint.saving.metrics",
       [](Program& p) {
         p.options.checkpoint.saving.metrics = {
             {.name = "accuracy", .newest = [] { return MetricPoint{.step = 0, .value = 0.5}; }}};
       },
       [](Program& p) { p.options.checkpoint.saver.keep_best = KeepBest{"accuracy"}; }},
      {"checkpoint.saving.overlap",
       [](Program& p) { p.options.checkpoint.saving.overlap = SaveOverlapPolicy::kNewestWins; },
       save_slowly},
      {"checkpoint.saving.on_error",
       [](Program& p) { p.options.checkpoint.saving.on_error = SaveErrorPolicy::kStop; },
       fail_saves_after_the_first},
      {"checkpoint.saving.deadline_secs",
       [](Program& p) { p.options.checkpoint.saving.deadline_secs = 1; }, make_slow_saves},
      {"checkpoint.saving.lock_directory",
       [](Program& p) { p.options.checkpoint.saving.lock_directory = false; }},

      {"checkpoint.saver.var_list",
       [](Program& p) { p.options.checkpoint.saver.var_list = {"w"}; }},
      {"checkpoint.saver.filter",
       [](Program& p) {
         p.options.checkpoint.saver.filter = [](std::string_view name) { return name != "w"; };
       }},
      {"checkpoint.saver.format",
       [](Program& p) { p.options.checkpoint.saver.format = CheckpointFormat::kSafetensors; }},
      {"checkpoint.saver.writer",
       [](Program& p) { p.options.checkpoint.saver.writer = StateWriter::kGraph; }},
      {"checkpoint.saver.unsaved_state",
       [](Program& p) { p.options.checkpoint.saver.unsaved_state = UnsavedState::kWarn; }},
      {"checkpoint.saver.num_shards",
       [](Program& p) { p.options.checkpoint.saver.num_shards = 2; }},
      {"checkpoint.saver.share_unchanged",
       [](Program& p) { p.options.checkpoint.saver.share_unchanged = false; },
       [](Program& p) {
         p.track = [](Loop& loop, State& state) { loop.track("constant", state.constant); };
       }},
      {"checkpoint.saver.max_to_keep",
       [](Program& p) { p.options.checkpoint.saver.max_to_keep = 1; }},
      {"checkpoint.saver.keep_checkpoint_every_n_hours",
       [](Program& p) { p.options.checkpoint.saver.keep_checkpoint_every_n_hours = 1; },
       [](Program& p) {
         save_every_step(p);
         p.seconds_per_step = 3600;
         p.times_are_seen = false;
       }},
      {"checkpoint.saver.keep_checkpoint_every_n_steps",
       [](Program& p) { p.options.checkpoint.saver.keep_checkpoint_every_n_steps = 3; },
       save_every_step},
      {"checkpoint.saver.keep_best",
       [](Program& p) { p.options.checkpoint.saver.keep_best = KeepBest{"loss"}; },
       save_every_step},
      {"checkpoint.saver.retention",
       [](Program& p) { p.options.checkpoint.saver.retention = {keep_newest(3)}; },
       save_every_step},
      {"checkpoint.saver.pad_step_number",
       [](Program& p) { p.options.checkpoint.saver.pad_step_number = true; }},
      {"checkpoint.saver.latest_filename",
       [](Program& p) { p.options.checkpoint.saver.latest_filename = "latest"; }},
      {"checkpoint.saver.write_state",
       [](Program& p) { p.options.checkpoint.saver.write_state = false; }},
      {"checkpoint.saver.fallback_dir",
       [](Program& p) { p.options.checkpoint.saver.fallback_dir = "second"; },
       fail_saves_after_the_first},
      {"checkpoint.saver.check_free_space",
       [](Program& p) { p.options.checkpoint.saver.check_free_space = false; }},
      {"checkpoint.saver.write_meta_graph",
       [](Program& p) { p.options.checkpoint.saver.write_meta_graph = false; }},
      {"checkpoint.saver.record_command_line",
       [](Program& p) { p.options.checkpoint.saver.record_command_line = false; }},
      {"checkpoint.saver.allow_empty",
       [](Program& p) { p.options.checkpoint.saver.allow_empty = true; }},
      {"checkpoint.saver.defer_build",
       [](Program& p) { p.options.checkpoint.saver.defer_build = true; }},
      {"checkpoint.saver.files",
       [](Program& p) { p.options.checkpoint.saver.files = &p.world.other_disk; }},
      {"checkpoint.saver.clock",
       [](Program& p) { p.options.checkpoint.saver.clock = &p.world.other_clock; }},

      {"restore.from", [](Program& p) { p.options.restore.from = "other"; },
       [](Program& p) { run_before(p.world, "other"); }},
      {"restore.which", [](Program& p) { p.options.restore.which = Checkpoint::at_step(2); },
       start_from_other},
      {"restore.only", [](Program& p) { p.options.restore.only = {"w"}; }, start_from_other},
      {"restore.keep", [](Program& p) { p.options.restore.keep = {"rate"}; },
       [](Program& p) {
         continue_run(p);
         p.state.rate = 0.5;
       }},
      {"restore.rename",
       [](Program& p) { p.options.restore.rename = {{.name = "v", .stored_as = "w"}}; },
       [](Program& p) {
         continue_run(p);
         p.track = [](Loop& loop, State& state) {
           loop.track("v", state.w);
           loop.track("shape", state.shape);
           loop.track("rate", state.rate);
         };
       }},
      {"restore.allow_missing", [](Program& p) { p.options.restore.allow_missing = true; },
       [](Program& p) {
         continue_run(p);
         p.track = [track = p.track, extra = 7.0](Loop& loop, State& state) mutable {
           track(loop, state);
           loop.track("extra", extra);
         };
       }},
      {"restore.allow_mismatched", [](Program& p) { p.options.restore.allow_mismatched = true; },
       [](Program& p) {
         continue_run(p);
         p.track = [shape = std::array<double, 2>()](Loop& loop, State& state) mutable {
           loop.track("w", state.w);
           loop.track("shape", shape);
           loop.track("rate", state.rate);
         };
       }},
      {"restore.allow_surplus", [](Program& p) { p.options.restore.allow_surplus = true; },
       [](Program& p) {
         continue_run(p);
         p.track = [](Loop& loop, State& state) { loop.track("w", state.w); };
       }},
      {"restore.reshape", [](Program& p) { p.options.restore.reshape = true; },
       [](Program& p) {
         continue_run(p);
         p.track = [shape = std::array<std::array<double, 2>, 3>()](Loop& loop,
                                                                    State& state) mutable {
           loop.track("w", state.w);
           loop.track("shape", shape);
           loop.track("rate", state.rate);
         };
       }},
      {"restore.convert_dtype", [](Program& p) { p.options.restore.convert_dtype = true; },
       [](Program& p) {
         continue_run(p);
         p.track = [rate = 0.1F](Loop& loop, State& state) mutable {
           loop.track("w", state.w);
           loop.track("shape", state.shape);
           loop.track("rate", rate);
         };
       }},

      {"summaries.dir", [](Program& p) { p.options.summaries.dir = "curves"; },
       [](Program& p) {
         save_nothing(p);
         p.options.summaries.every_steps = 1;
       }},
      {"summaries.every_steps", [](Program& p) { p.options.summaries.every_steps = 2; },
       save_nothing},
      {"summaries.every_secs", [](Program& p) { p.options.summaries.every_secs = 3; },
       [](Program& p) {
         save_nothing(p);
         p.options.summaries.every_steps.reset();
       }},
      {"summaries.count_every_steps", [](Program& p) { p.options.summaries.count_every_steps = 2; },
       save_nothing},
      {"summaries.count_every_secs", [](Program& p) { p.options.summaries.count_every_secs = 3; },
       [](Program& p) {
         save_nothing(p);
         p.options.summaries.count_every_steps.reset();
       }},

      {"ranks.group",
       [](Program& p) { p.options.ranks.group = std::make_shared<CountingGroup>(p.world.events); }},
      {"ranks.agree_every_n_steps", [](Program& p) { p.options.ranks.agree_every_n_steps = 3; },
       [](Program& p) { p.options.ranks.group = std::make_shared<CountingGroup>(p.world.events); }},
      {"ranks.timeout_secs", [](Program& p) { p.options.ranks.timeout_secs = 60; },
       [](Program& p) { p.options.ranks.group = std::make_shared<CountingGroup>(p.world.events); }},

      {"hooks", [](Program& p) { p.options.hooks = {StopAtStepHook({.last_step = 3})}; }},
      {"max_recoveries", [](Program& p) { p.options.max_recoveries = 1; },
       [](Program& p) {
         p.in_step = [](Step& step) {
           if (step.number() == 3) throw UnavailableError("the worker is gone");
         };
       }},
      {"ending.stop_grace_period_secs",
       [](Program& p) { p.options.ending.stop_grace_period_secs = 7; },
       [](Program& p) { p.options.hooks = {StragglerHook(p.world.log)}; }},
      {"ending.save_on_error", [](Program& p) { p.options.ending.save_on_error = true; },
       [](Program& p) {
         p.times_are_seen = false;
         p.in_step = [](Step& step) {
           if (step.number() == 4) throw std::runtime_error("a mistake in the program");
         };
       }},
      {"ending.continue_finished", [](Program& p) { p.options.ending.continue_finished = true; },
       [](Program& p) {
         Program first{.world = p.world, .options = quiet_options(p.world, "run")};
         first.in_step = [](Step& step) { step.request_stop("converged"); };
         run(first);
       }},
      {"debug.rehearsal_steps", [](Program& p) { p.options.debug.rehearsal_steps = 1; }},
      {"debug.check_torn_snapshots",
       [](Program& p) { p.options.debug.check_torn_snapshots = true; }, change_while_copying},
      {"files", [](Program& p) { p.options.files = &p.world.other_disk; }},
      {"clock", [](Program& p) { p.options.clock = &p.world.other_clock; }},
  };
  return all;
}

// The names of a struct's fields, which do not compile unless all are given: who adds one must add
// its effect above.
#define FIELDS_OF(Struct, ...)                        \
  [] {                                                \
    static const Struct all;                          \
    [[maybe_unused]] const auto& [__VA_ARGS__] = all; \
    return names_in(#__VA_ARGS__);                    \
  }()

std::vector<std::string> names_in(const std::string& list) {
  const std::regex name("[a-z_]+");
  return {std::sregex_token_iterator(list.begin(), list.end(), name), {}};
}

TEST(EveryOptionTest, IsListed) {
  const std::map<std::string, std::vector<std::string>> structs = {
      {"", FIELDS_OF(LoopOptions, checkpoint, restore, summaries, ranks, hooks, max_recoveries,
                     ending, debug, files, clock)},
      {"checkpoint.", FIELDS_OF(CheckpointOptions, dir, basename, every_steps, every_secs,
                                listeners, copy_threads, saving, saver)},
      {"checkpoint.saving.",
       FIELDS_OF(SavingOptions, metrics, overlap, on_error, deadline_secs, lock_directory)},
      {"checkpoint.saver.",
       FIELDS_OF(SaverOptions, var_list, filter, format, writer, unsaved_state, num_shards,
                 share_unchanged, max_to_keep, keep_checkpoint_every_n_hours,
                 keep_checkpoint_every_n_steps, keep_best, retention, pad_step_number,
                 latest_filename, write_state, fallback_dir, check_free_space, write_meta_graph,
                 record_command_line, allow_empty, defer_build, files, clock)},
      {"restore.", FIELDS_OF(RestoreOptions, from, which, only, keep, rename, allow_missing,
                             allow_mismatched, allow_surplus, reshape, convert_dtype)},
      {"summaries.", FIELDS_OF(SummaryOptions, dir, every_steps, every_secs, count_every_steps,
                               count_every_secs)},
      {"ranks.", FIELDS_OF(RankOptions, group, agree_every_n_steps, timeout_secs)},
      {"ending.", FIELDS_OF(EndOptions, stop_grace_period_secs, save_on_error, continue_finished)},
      {"debug.", FIELDS_OF(DebugOptions, rehearsal_steps, check_torn_snapshots)}};
  std::vector<std::string> leaves;
  for (const auto& [path, names] : structs)
    for (const std::string& name : names)
      if (!structs.contains(path + name + ".")) leaves.push_back(path + name);
  std::vector<std::string> listed;
  for (const Effect& effect : effects()) listed.push_back(effect.option);
  EXPECT_THAT(listed, UnorderedElementsAreArray(leaves));
}

class EffectTest : public testing::TestWithParam<Effect> {};

std::vector<std::string> only_in(const std::set<std::string>& a, const std::set<std::string>& b) {
  std::vector<std::string> found;
  std::ranges::set_difference(a, b, std::back_inserter(found));
  return found;
}

TEST_P(EffectTest, IsSeen) {
  const std::set<std::string> without = observe(GetParam(), false);
  const std::set<std::string> again = observe(GetParam(), false);
  ASSERT_THAT(only_in(without, again), IsEmpty()) << "the program itself differs from run to run";
  ASSERT_THAT(only_in(again, without), IsEmpty()) << "the program itself differs from run to run";
  EXPECT_NE(observe(GetParam(), true), without) << GetParam().option << " has no effect";
}

INSTANTIATE_TEST_SUITE_P(EveryOption, EffectTest, testing::ValuesIn(effects()),
                         [](const testing::TestParamInfo<Effect>& info) {
                           return std::regex_replace(info.param.option, std::regex("[._]+"), "_");
                         });

}  // namespace
}  // namespace crochet
