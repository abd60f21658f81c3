// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How much overhead does a monitored loop add to a bare run of the session?
//
//   bare          only Session::run_into: the baseline for the others
//   no_hooks      MonitoredSession without hooks: only the wrappers
//   idle_hooks    ten hooks that override nothing: their cost divided by ten is that of one
//   usual_hooks   StopAtStepHook, StepCounterHook, LoggingTensorHook, AsyncCheckpointSaverHook
//                 and FinalOpsHook, between their triggers
//
//   requests      ten hooks that each request a value, which the step computes anyway: their cost
//                 less that of ten idle hooks, divided by ten, is that of a request
//
//   preemption, spike_guard, watchdog, health, replay_check    guards that wait: less no_hooks,
//   their
//                 cost
//   averaging     WeightAveraging of 1,000 weights, updated in each step
//
// local/... uses the local engine, whose run adds 1 to the global step, null/... an
// engine that does nothing, values/... the local engine with a step that first computes ten values
// (idle_hooks and requests alone), weights/... with 1,000 weights that it leaves as they are. One
// step is `while (!session.should_stop()) session.run(train)`;
// peers/hook_overhead.py makes the same steps in Python. And how much overhead does Loop add?
//
//   loop/bare            a body that adds to a number, called directly
//   loop/no_hooks        Loop::run(body) without a directory and without hooks
//   loop/default_hooks   with a directory: step counter, summaries, checkpoints
//
// The result is the counter step_ns.
#include <cstdlib>
#include <functional>

#include <benchmark/benchmark.h>

#include "bench/blocks.h"
#include "bench/null_engine.h"
#include "crochet/crochet.h"
#include "crochet/hooks/guards/health_hook.h"
#include "crochet/hooks/guards/preemption_hook.h"
#include "crochet/hooks/guards/replay_check_hook.h"
#include "crochet/hooks/guards/spike_guard_hook.h"
#include "crochet/hooks/guards/watchdog_hook.h"
#include "crochet/hooks/guards/weight_averaging.h"
#include "crochet/testing/memory_file_system.h"
#include "crochet/testing/temp_directory.h"

using namespace crochet;

namespace {

constexpr int kNumHooks = 10;
constexpr int64_t kNever = int64_t{1} << 60;

class IdleHook final : public SessionRunHook {};

class RequestingHook final : public SessionRunHook {
 public:
  explicit RequestingHook(std::string name) : name_(std::move(name)) {}

  void begin(Graph& graph) override { value_ = graph.output(name_); }
  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    return SessionRunArgs{.fetches = value_};
  }
  void after_run(SessionRunContext&, const SessionRunValues& values) override {
    benchmark::DoNotOptimize(values.results.tensor().single<double>());
  }

 private:
  const std::string name_;
  Fetches value_;
};

std::string value_name(int index) { return "value" + std::to_string(index); }

struct LocalEngine {
  LocalEngine() {
    graph.create_global_step();
    train = graph.increment_global_step({});
  }

  local::Graph graph;
  Operation train;
};

struct ValuesEngine {
  ValuesEngine() {
    graph.create_global_step();
    std::vector<Output> values;
    for (int i = 0; i < kNumHooks; ++i)
      values.push_back(graph.value(value_name(i), [] { return Tensor::scalar(0.5); }));
    train = graph.increment_global_step(values);
  }

  local::Graph graph;
  Operation train;
};

struct WeightsEngine {
  WeightsEngine() {
    graph.create_global_step();
    graph.variable("weights", Tensor::zeros<float>({1000}));
    train = graph.increment_global_step({});
  }

  local::Graph graph;
  Operation train;
};

struct NullEngine {
  NullGraph graph;
  Operation train = graph.train();
};

HookList idle_hooks() {
  HookList hooks;
  for (int i = 0; i < kNumHooks; ++i) hooks.emplace_back(IdleHook());
  return hooks;
}

HookList requesting_hooks() {
  HookList hooks;
  for (int i = 0; i < kNumHooks; ++i) hooks.emplace_back(RequestingHook(value_name(i)));
  return hooks;
}

HookList usual_hooks(FileSystem& files) {
  const auto saver = std::make_shared<Saver>(SaverOptions{.allow_empty = true, .files = &files});
  return {
      StopAtStepHook({.last_step = kNever}),
      StepCounterHook({.every_n_steps = 100}),
      LoggingTensorHook({.tensors = {"global_step"}, .every_n_iter = 100}),
      AsyncCheckpointSaverHook({.checkpoint_dir = "bench", .save_secs = 600, .saver = saver}),
      FinalOpsHook("global_step"),
  };
}

template <typename Engine>
void bare(benchmark::State& state) {
  Engine engine;
  const auto session = engine.graph.new_session("");
  const Output train = engine.train;
  Tensor result;
  Blocks blocks;
  for (auto _ : state)
    blocks.make(state, [&] { session->run_into({&train, 1}, {}, {&result, 1}, {}, nullptr); });
  blocks.report(state);
}

template <typename Engine>
void monitored(benchmark::State& state, const std::function<HookList(FileSystem&)>& make_hooks) {
  Engine engine;
  MemoryFileSystem files;
  MonitoredSession session(std::make_unique<ChiefSessionCreator>(engine.graph), make_hooks(files));
  Blocks blocks;
  for (auto _ : state) {
    blocks.make(state, [&] {
      if (session.should_stop()) std::abort();
      session.run(engine.train);
    });
  }
  blocks.report(state);
  session.close();
}

template <typename Engine>
void register_hooks(const std::string& name,
                    const std::function<HookList(FileSystem&)>& make_hooks) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) {
    monitored<Engine>(state, make_hooks);
  })->UseManualTime();
}

template <typename Engine>
void register_engine(const std::string& name) {
  benchmark::RegisterBenchmark((name + "/bare").c_str(), bare<Engine>)->UseManualTime();
  register_hooks<Engine>(name + "/no_hooks", [](FileSystem&) { return HookList(); });
  register_hooks<Engine>(name + "/idle_hooks", [](FileSystem&) { return idle_hooks(); });
  register_hooks<Engine>(name + "/usual_hooks", usual_hooks);
}

void register_requests() {
  register_hooks<ValuesEngine>("values/idle_hooks", [](FileSystem&) { return idle_hooks(); });
  register_hooks<ValuesEngine>("values/requests", [](FileSystem&) { return requesting_hooks(); });
}

// Guards cost at most 1 % of a step of a millisecond.
void register_guards() {
  register_hooks<LocalEngine>("local/preemption", [](FileSystem&) {
    return HookList{PreemptionHook(preemption_file("bench/none", 30))};
  });
  register_hooks<ValuesEngine>("values/no_hooks", [](FileSystem&) { return HookList(); });
  register_hooks<ValuesEngine>("values/spike_guard",
                               [](FileSystem&) { return HookList{SpikeGuardHook(value_name(0))}; });
  register_hooks<LocalEngine>("local/watchdog", [](FileSystem&) {
    return HookList{WatchdogHook({.helper = "build/dev/tools/crochet"})};
  });
  register_hooks<LocalEngine>("local/health", [](FileSystem&) { return HookList{HealthHook()}; });
  register_hooks<LocalEngine>("local/replay_check", [](FileSystem&) {
    return HookList{ReplayCheckHook({.every_n_steps = kNever})};
  });
  register_hooks<WeightsEngine>("weights/no_hooks", [](FileSystem&) { return HookList(); });
  register_hooks<WeightsEngine>("weights/averaging", [](FileSystem&) {
    return HookList{WeightAveraging({.values = {"weights"}})};
  });
}

void bare_loop(benchmark::State& state) {
  double weight = 0;
  const std::function<void()> body = [&] { benchmark::DoNotOptimize(weight += 0.5); };
  Blocks blocks;
  for (auto _ : state) blocks.make(state, body);
  blocks.report(state);
}

// The loop makes the steps: the body reads the clock where a block's timed part begins and ends.
void looped(benchmark::State& state, const std::string& directory) {
  double weight = 0;
  Loop loop({.checkpoint = {.dir = directory}});
  loop.track("weight", weight);
  loop.scalar("weight", [&] { return weight; });
  Blocks blocks;
  int in_block = 0;
  std::chrono::steady_clock::time_point start;
  state.KeepRunning();  // Starts the first iteration; the body starts the others.
  loop.run([&](Step& step) {
    if (in_block == Blocks::kNumUntimed) start = std::chrono::steady_clock::now();
    if (++in_block > Blocks::kNumUntimed + Blocks::kNumTimed) {
      blocks.add(state, std::chrono::steady_clock::now() - start);
      if (!state.KeepRunning()) step.request_stop("it was measured");
      in_block = 1;
    }
    benchmark::DoNotOptimize(weight += 0.5);
  });
  blocks.report(state);
}

void register_loop() {
  benchmark::RegisterBenchmark("loop/bare", bare_loop)->UseManualTime();
  benchmark::RegisterBenchmark("loop/no_hooks", [](benchmark::State& state) {
    looped(state, "");
  })->UseManualTime();
  benchmark::RegisterBenchmark("loop/default_hooks", [](benchmark::State& state) {
    const TempDirectory directory;
    looped(state, directory.path());
  })->UseManualTime();
}

}  // namespace

int main(int argc, char** argv) {
  set_log_callback([](Severity, std::string_view) {});
  register_engine<LocalEngine>("local");
  register_engine<NullEngine>("null");
  register_requests();
  register_guards();
  register_loop();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
