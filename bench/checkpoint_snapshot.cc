// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How much time does a save cost the training thread?
//
//   snapshot   Saver::snapshot() of variables that the engine owns, by the size of a state in 64
//              variables, and by the number of variables of 64 bytes; with cold caches
//   time_lost  the time beyond the undisturbed median of all steps from the trigger of a save until
//              the checkpoint is durable, for each way to change the state, and one
//              memcpy of the state in the same run
//
// "cpu_lost" is the same in CPU time of the training thread, without waiting: the loss that remains
// if every thread has its own core, even on a busy machine.
//
// Prints one JSON object. Memory: about six times the largest state.
//
//   checkpoint_snapshot [--kinds replace,update,body,compute_update,small,snapshot]
//                       [--mib 1024] [--largest_mib 4096] [--saves 5] [--dir DIRECTORY] [--quick]
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <random>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/crochet.h"

using namespace crochet;
using nlohmann::json;

namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr size_t kMib = size_t{1} << 20;
constexpr size_t kNumVariables = 64;

double secs_between(SteadyClock::time_point from, SteadyClock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// The CPU time of the calling thread.
double cpu_secs() {
  timespec time = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <typename Work>
double secs_of(Work work) {
  const auto start = SteadyClock::now();
  work();
  return secs_between(start, SteadyClock::now());
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// Numbers that a file system cannot compress.
void fill_randomly(std::span<float> numbers, uint64_t seed) {
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (float& x : numbers) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    x = static_cast<float>(state >> 40) * 0x1p-24f;
  }
}

Tensor random_tensor(size_t num_bytes, uint64_t seed) {
  Tensor tensor(DType::kFloat, {static_cast<int64_t>(num_bytes / sizeof(float))});
  fill_randomly(tensor.mutable_flat<float>(), seed);
  return tensor;
}

// One memcpy of as much memory as the state has, in as many pieces, in memory that was used before.
class Memcpy {
 public:
  explicit Memcpy(size_t num_bytes)
      : piece_(num_bytes / kNumVariables), from_(num_bytes), to_(num_bytes) {
    std::memset(from_.mutable_data(), 1, num_bytes);
    std::memset(to_.mutable_data(), 2, num_bytes);
  }
  double secs() {
    return secs_of([this] {
      for (size_t at = 0; at < from_.size(); at += piece_)
        std::memcpy(to_.mutable_data() + at, from_.data() + at, piece_);
    });
  }

  size_t num_bytes() const { return from_.size(); }

 private:
  const size_t piece_;
  Buffer from_, to_;
};

struct Options {
  std::vector<std::string> kinds = {"snapshot", "replace",        "update",
                                    "body",     "compute_update", "small"};
  size_t mib = 1024;
  size_t largest_mib = 4096;
  int saves = 5;
  std::string dir;
  bool quick = false;
};

// Saves periodically, and measures the steps from the end of one to the end of the next, so that
// they include all costs of a save.
class MeasuringHook final : public SessionRunHook {
 public:
  MeasuringHook(const Options& options, size_t num_bytes)
      : options_(options), memcpy_(num_bytes), saver_({.max_to_keep = 1}), background_(saver_) {}

  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    steps_.push_back(
        {.begin = last_end_, .end = SteadyClock::now(), .cpu = cpu_secs() - last_cpu_});
    if (!saving()) decide(context);
    last_end_ = SteadyClock::now();
    last_cpu_ = cpu_secs();
  }

  json result() {
    background_.wait();
    std::vector<double> calm, calm_cpu;
    for (const Step& step : steps_) {
      if (!step.is_calm) continue;
      calm.push_back(step.secs());
      calm_cpu.push_back(step.cpu);
    }
    const double usual = median(calm), usual_cpu = median(calm_cpu), copy = median(copies_);
    std::vector<double> lost, net, cpu, longest, durable, call;
    for (const Save& save : saves_) {
      double sum = save.call_secs, signed_sum = save.call_secs, cpu_sum = save.call_cpu, most = 0;
      for (const Step& step : steps_) {
        if (step.end <= save.begin || step.begin >= save.durable_at()) continue;
        const double more = step.secs() - usual;
        sum += std::max(0.0, more);
        signed_sum += more;
        cpu_sum += step.cpu - usual_cpu;
        most = std::max(most, more);
      }
      lost.push_back(sum);
      net.push_back(signed_sum);
      cpu.push_back(cpu_sum);
      longest.push_back(most);
      durable.push_back(save.durable_secs());
      call.push_back(save.call_secs);
    }
    // The first save touches fresh memory.
    const double first = lost.front();
    for (std::vector<double>* const values : {&lost, &net, &cpu, &longest, &durable, &call})
      values->erase(values->begin());
    return {
        {"memcpy_secs", copy},
        {"step_secs", usual},
        {"calm_steps_secs", calm},
        {"lost_secs", lost},
        {"first_lost_by_memcpy", first / copy},
        {"lost_by_memcpy", median(lost) / copy},
        {"net_lost_by_memcpy", median(net) / copy},
        {"cpu_lost_by_memcpy", median(cpu) / median(cpu_copies_)},
        {"longest_step_more_secs", median(longest)},
        {"snapshot_call_secs", median(call)},
        {"durable_secs", median(durable)},
        {"more_states_at_peak", static_cast<double>(buffer_usage().peak_num_bytes - bytes_before_) /
                                    static_cast<double>(memcpy_.num_bytes())}};
  }

 private:
  struct Step {
    SteadyClock::time_point begin, end;
    double cpu = 0;
    bool is_calm = false;
    double secs() const { return secs_between(begin, end); }
  };
  struct Save {
    SaveTicket ticket;
    SteadyClock::time_point begin;
    double call_secs = 0;  // For the snapshot, and for enqueueing it.
    double call_cpu = 0;

    double durable_secs() const { return ticket.seconds(SaveStage::kDurable).value_or(0); }
    SteadyClock::time_point durable_at() const {
      return begin + std::chrono::duration_cast<SteadyClock::duration>(
                         std::chrono::duration<double>(call_secs + durable_secs()));
    }
  };
  // Between two saves: some steps until all is as usual again, and those that say what is usual.
  static constexpr int kStepsToSettle = 3;
  static constexpr int kCalmSteps = 7;

  bool saving() const { return !saves_.empty() && !saves_.back().ticket.finished(); }

  void decide(SessionRunContext& context) {
    ++num_idle_;
    steps_.back().is_calm = num_idle_ > kStepsToSettle;
    if (num_idle_ < kStepsToSettle + kCalmSteps) return;
    if (static_cast<int>(saves_.size()) > options_.saves)
      return context.request_stop("it was measured");
    for (int i = 0; i < 3; ++i) {
      const double before = cpu_secs();
      copies_.push_back(memcpy_.secs());
      cpu_copies_.push_back(cpu_secs() - before);
    }
    save(context.session());
    num_idle_ = 0;
  }

  void save(Session& session) {
    if (saves_.empty()) {
      bytes_before_ = buffer_usage().num_bytes;
      reset_peak_buffer_usage();
    }
    const auto begin = SteadyClock::now();
    const double cpu = cpu_secs();
    SaveTicket ticket = background_.enqueue(saver_.snapshot(session), options_.dir + "/model.ckpt",
                                            static_cast<int64_t>(saves_.size()));
    saves_.push_back(
        {std::move(ticket), begin, secs_between(begin, SteadyClock::now()), cpu_secs() - cpu});
  }

  const Options& options_;
  Memcpy memcpy_;
  Saver saver_;
  internal::BackgroundSaver background_;
  SteadyClock::time_point last_end_ = SteadyClock::now();
  double last_cpu_ = cpu_secs();
  std::vector<Step> steps_;
  std::vector<Save> saves_;
  std::vector<double> copies_, cpu_copies_;
  int num_idle_ = 0;  // Steps since the last save finished.
  size_t bytes_before_ = 0;
};

// A dense update, as in plain gradient descent.
void change(std::span<float> w) {
  for (float& x : w) x = x * 0.999f + 0.001f;
}

void change(std::span<const float> old, std::span<float> next) {
  for (size_t i = 0; i < old.size(); ++i) next[i] = old[i] * 0.999f + 0.001f;
}

json run_graph(const std::string& kind, const Options& options, size_t num_bytes) {
  local::Graph graph;
  std::vector<Output> changes;
  for (size_t i = 0; i < kNumVariables; ++i) {
    const std::string name = fmt::format("layer_{}/weights", i);
    const auto w = graph.variable(name, random_tensor(num_bytes / kNumVariables, i + 1));
    if (kind == "replace") {
      changes.push_back(
          graph.op("change" + name, {replace(w)},
                   [](std::span<const float> old, std::span<float> next) { change(old, next); }));
    } else {
      changes.push_back(
          graph.op("change" + name, {update(w)}, [](std::span<float> w) { change(w); }));
    }
  }
  const auto train_op = graph.group("train", {graph.increment_global_step(changes)});
  const auto hook = std::make_shared<MeasuringHook>(options, num_bytes);
  train({.graph = graph, .hooks = {hook}}, [&](MonitoredSession& session) {
    while (!session.should_stop()) session.run(train_op);
  });
  return hook->result();
}

// Arithmetic in the first-level cache for the given time.
void compute_for(double secs) {
  static float numbers[1024] = {};
  const auto end = SteadyClock::now() + std::chrono::duration<double>(secs);
  while (SteadyClock::now() < end)
    for (float& x : numbers) x = x * 0.5f + 1;
}

json run_loop(const std::string& kind, const Options& options, size_t num_bytes) {
  std::vector<std::vector<float>> state(kNumVariables,
                                        std::vector<float>(num_bytes / kNumVariables / 4));
  for (size_t i = 0; i < state.size(); ++i) fill_randomly(state[i], i + 1);
  const double compute_secs = kind == "compute_update" ? 2 * Memcpy(num_bytes).secs() : 0;
  const auto hook = std::make_shared<MeasuringHook>(options, num_bytes);
  Loop loop({.hooks = {hook}});
  for (size_t i = 0; i < state.size(); ++i)
    loop.track(fmt::format("layer_{}/weights", i), std::span(state[i]));
  const auto change_all = [&] {
    for (std::vector<float>& w : state) change(w);
  };
  if (kind == "compute_update") {
    loop.run([&] { compute_for(compute_secs); }, change_all);
  } else if (kind == "small") {
    loop.run([&] {
      compute_for(0.005);
      change_all();
    });
  } else {
    loop.run(change_all);
  }
  json result = hook->result();
  result["compute_secs"] = compute_secs;
  return result;
}

json snapshot_cost(size_t num_bytes, size_t num_variables, int rounds) {
  local::Graph graph;
  for (size_t i = 0; i < num_variables; ++i)
    graph.variable(fmt::format("network/layer_{:06}/weights", i),
                   Tensor::zeros<float>({static_cast<int64_t>(num_bytes / num_variables / 4)}));
  const auto session = graph.new_session("");
  const Saver saver;
  std::vector<std::byte> caches(64 * kMib);
  std::vector<double> secs;
  for (int i = 0; i < rounds; ++i) {
    std::memset(caches.data(), i, caches.size());
    Snapshot snapshot;
    secs.push_back(secs_of([&] { snapshot = saver.snapshot(*session); }));
  }
  return {{"bytes", num_bytes},
          {"variables", num_variables},
          {"secs", median(secs)},
          {"worst_secs", *std::ranges::max_element(secs)}};
}

json snapshot_costs(const Options& options) {
  json by_size = json::array(), by_number = json::array();
  const int rounds = options.quick ? 2 : 15;
  for (size_t mib = 1; mib <= options.largest_mib; mib *= 4)
    by_size.push_back(snapshot_cost(mib * kMib, kNumVariables, rounds));
  for (size_t number = 1; number <= (options.quick ? 100U : 100'000U); number *= 10)
    by_number.push_back(snapshot_cost(number * 64, number, rounds));
  return {{"by_size", by_size}, {"by_number", by_number}};
}

Options parse(int argc, char** argv) {
  Options options;
  const auto value = [&](int& i) -> std::string {
    if (i + 1 == argc) throw InvalidArgumentError(fmt::format("{} needs a value", argv[i]));
    return argv[++i];
  };
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--mib") {
      options.mib = std::stoul(value(i));
    } else if (argument == "--largest_mib") {
      options.largest_mib = std::stoul(value(i));
    } else if (argument == "--saves") {
      options.saves = std::stoi(value(i));
    } else if (argument == "--dir") {
      options.dir = value(i);
    } else if (argument == "--kinds") {
      options.kinds.clear();
      std::istringstream kinds(value(i));
      for (std::string kind; std::getline(kinds, kind, ',');) options.kinds.push_back(kind);
    } else if (argument == "--quick") {
      options.quick = true;
      options.mib = options.largest_mib = 4;
      options.saves = 1;
    } else {
      throw InvalidArgumentError(fmt::format("unknown option {}", argument));
    }
  }
  return options;
}

int run(int argc, char** argv) {
  Options options = parse(argc, argv);
  const bool is_temporary = options.dir.empty();
  if (is_temporary)
    options.dir = (std::filesystem::temp_directory_path() /
                   fmt::format("checkpoint_snapshot.{}", std::random_device()()))
                      .string();
  json results = {{"cores", std::thread::hardware_concurrency()}, {"time_lost", json::array()}};
  for (const std::string& kind : options.kinds) {
    if (kind == "snapshot") {
      results["snapshot"] = snapshot_costs(options);
      continue;
    }
    const size_t num_bytes = (kind == "small" ? 1 : options.mib) * kMib;
    json result = kind == "replace" || kind == "update" ? run_graph(kind, options, num_bytes)
                                                        : run_loop(kind, options, num_bytes);
    result["kind"] = kind;
    result["bytes"] = num_bytes;
    results["time_lost"].push_back(result);
  }
  if (is_temporary) std::filesystem::remove_all(options.dir);
  std::cout << results.dump() << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "checkpoint_snapshot: " << error.what() << "\n";
    return 1;
  }
}
