// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How much training time does a checkpoint cost, and how soon is it durable?
//
// Trains a state of random floats by dense updates, saves it in the background several times,
// restores it, and prints the costs as JSON. Kinds of state, as in docs/architecture.md:
//
//   replace   variables of the engine, each step writes the next values to other memory
//   update    the same, changed in place
//   body      arrays of the caller, Loop::run(body)
//   compute   arrays of the caller, Loop::run(compute, update); computing takes longer than a copy
//   alone     variables of the engine, without training: each save is waited for
//   disk      trains as `replace`, but saves nothing: as many bytes of other memory are written
//             to a file without crochet, which shows the cost of the machine itself
//
// A save is published before the checkpoint that it replaces is removed, as fio's file is removed
// outside its time.
//
// The time lost by a save is the sum, over the steps from its trigger until it is published, of
// the time beyond that of the undisturbed steps around the save. bench/checkpoint_report.py
// runs this in turns with the peers.
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bare_write.h"
#include "crochet/checkpoint/saver/background_saver.h"
#include "crochet/checkpoint/saver/save_source.h"
#include "crochet/crochet.h"
#include "page_cache.h"

using namespace crochet;

namespace {

using Seconds = std::chrono::duration<double>;

double now() { return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.empty() ? 0 : *middle;
}

struct Options {
  std::string kind = "replace";
  std::string dir = "checkpoint_save";
  size_t bytes = size_t{1} << 30;
  size_t variables = 64;
  int shards = 1;
  int saves = 3;
  size_t quiet = 6;
};

// A line of /proc/self/status in bytes: "VmRSS:" is the memory in use, "VmHWM:" its peak, which
// writing to clear_refs resets.
size_t memory(std::string_view line_name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(line_name)) return std::stoull(line.substr(line_name.size())) * 1024;
  return 0;
}
void forget_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

// Random mantissas, which a file system or a peer cannot compress.
void fill_randomly(std::span<float> values, uint64_t& seed) {
  for (float& value : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<uint32_t>(seed >> 41) | 0x3f800000u;
    std::memcpy(&value, &bits, sizeof(value));
  }
}

void step_over(std::span<const float> from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] * 0.999f + 0.001f;
}

// Computes in the cache only, for about the given time.
class Computation {
 public:
  void make(double seconds) {
    const double end = now() + seconds;
    while (now() < end)
      for (int i = 0; i < 4; ++i) step_over(values_, values_);
  }

 private:
  std::vector<float> values_ = std::vector<float>(4096, 1.0f);
};

// The times of a save that has ended, counted from the end of its snapshot.
struct Written {
  double durable_s;
  double published_s;
};

// The start of each step and the result of each save.
class Timeline {
 public:
  struct Save {
    size_t step;  // The step after which it was made.
    double trigger;
    double snapshot_s;
    std::function<std::optional<Written>()> written;  // Unset while it is running.

    bool finished() const { return written().has_value(); }
    double published_s() const { return snapshot_s + written().value().published_s; }
    double durable_s() const { return snapshot_s + written().value().durable_s; }
  };

  explicit Timeline(const Options& options) : options_(options) {}

  void begin_step() { starts_.push_back(now()); }
  size_t steps() const { return starts_.size(); }
  bool save_is_due() const {
    if (saves_.empty()) return steps() > kUnmeasured + options_.quiet;
    return saves_.back().finished() && quiet_steps() > options_.quiet;
  }
  bool is_over() const {
    return static_cast<int>(saves_.size()) == options_.saves && saves_.back().finished() &&
           quiet_steps() > options_.quiet;
  }
  void add(double trigger, double snapshot_s, std::function<std::optional<Written>()> written) {
    saves_.push_back({steps() - 1, trigger, snapshot_s, std::move(written)});
  }

  nlohmann::json report() const {
    nlohmann::json result = nlohmann::json::array();
    const std::vector<double> took = durations();
    for (const Save& save : saves_) {
      const size_t end = steps_until(save.trigger + save.published_s(), save.step);
      double lost = 0;
      for (size_t step = save.step; step < end; ++step) lost += took[step];
      lost -= undisturbed(took, save.step, end) * static_cast<double>(end - save.step);
      result.push_back({{"snapshot_s", save.snapshot_s},
                        {"lost_s", lost},
                        {"durable_s", save.durable_s()},
                        {"published_s", save.published_s()}});
    }
    return result;
  }
  // The median of the first steps.
  double step_s() const { return median_of(durations(), kUnmeasured, options_.quiet); }
  // The durations of the steps so far.
  std::vector<double> durations() const {
    std::vector<double> result(starts_.size());
    std::adjacent_difference(starts_.begin(), starts_.end(), result.begin());
    if (!result.empty()) result.erase(result.begin());
    return result;
  }

 private:
  // The first steps use fresh memory.
  static constexpr size_t kUnmeasured = 2;

  static double median_of(const std::vector<double>& took, size_t begin, size_t count) {
    const auto first = took.begin() + static_cast<std::ptrdiff_t>(std::min(begin, took.size()));
    return median({first, first + std::min<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(count),
                                                           took.end() - first)});
  }
  // The first step, from `step` + 1 on, that began after `time`.
  size_t steps_until(double time, size_t step) const {
    do ++step;
    while (step < starts_.size() && starts_[step] <= time);
    return std::min(step, starts_.size() - 1);
  }
  // The time of an undisturbed step: the mean of the medians of those just before and just
  // after a save, since memory and machine change during a run.
  double undisturbed(const std::vector<double>& took, size_t begin, size_t end) const {
    return (median_of(took, begin - options_.quiet, options_.quiet) +
            median_of(took, end, options_.quiet)) /
           2;
  }
  size_t quiet_steps() const {
    const double end = saves_.back().trigger + saves_.back().published_s();
    return static_cast<size_t>(std::ranges::count_if(starts_, [&](double t) { return t > end; }));
  }

  const Options& options_;
  std::vector<double> starts_;
  std::vector<Save> saves_;
};

// Saves between steps whenever the timeline requests it, and ends the run.
class SavingHook final : public SessionRunHook {
 public:
  SavingHook(const Options& options, Timeline& timeline)
      : options_(options),
        timeline_(timeline),
        saver_({.num_shards = options.shards, .max_to_keep = 1}),
        background_(saver_) {}

  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    timeline_.begin_step();
    return {};
  }
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    if (timeline_.is_over()) return context.request_stop("all saves are made");
    if (!timeline_.save_is_due()) return;
    if (!baseline_) {
      baseline_ = memory("VmRSS:");
      forget_peak_memory();
    }
    const double start = now();
    Snapshot snapshot = saver_.snapshot(context.session());
    const double snapshot_s = now() - start;
    ticket_ = background_.enqueue(std::move(snapshot), options_.dir + "/model.ckpt",
                                  static_cast<int64_t>(timeline_.steps()));
    timeline_.add(start, snapshot_s, [ticket = *ticket_]() -> std::optional<Written> {
      if (!ticket.finished()) return {};
      return Written{ticket.seconds(SaveStage::kDurable).value(),
                     ticket.seconds(SaveStage::kPublished).value()};
    });
  }
  // The state still exists: measures restoring it.
  void end(Session& session) override {
    background_.wait();
    peak_ = memory("VmHWM:");
    drop_from_page_cache(options_.dir);
    const double start = now();
    saver_.restore(session, ticket_->prefix());
    restore_s_ = now() - start;
  }
  HookPlace place() const override { return HookPlace::kSaver; }

  double restore_s() const { return restore_s_; }
  size_t extra_memory() const { return peak_ - std::min(peak_, baseline_.value_or(0)); }

 private:
  const Options& options_;
  Timeline& timeline_;
  Saver saver_;
  BackgroundSaver background_;
  std::optional<size_t> baseline_;
  std::optional<SaveTicket> ticket_;  // Of the last save.
  size_t peak_ = 0;
  double restore_s_ = 0;
};

// Writes other files whenever the timeline requests a save.
class DiskHook final : public SessionRunHook {
 public:
  DiskHook(const Options& options, Timeline& timeline)
      : options_(options),
        timeline_(timeline),
        memory_(DType::kFloat, {static_cast<int64_t>(options.bytes / sizeof(float))}) {
    uint64_t seed = 2;
    fill_randomly(memory_.mutable_flat<float>(), seed);
  }

  std::optional<SessionRunArgs> before_run(SessionRunContext&) override {
    timeline_.begin_step();
    return {};
  }
  void after_run(SessionRunContext& context, const SessionRunValues&) override {
    if (timeline_.is_over()) return context.request_stop("all files are written");
    if (!timeline_.save_is_due()) return;
    const auto took = std::make_shared<std::atomic<double>>(0);
    const double start = now();
    writer_ = std::jthread([this, took, start, number = num_files_++] {
      const auto path = [this](int of) { return options_.dir + "/disk-" + std::to_string(of); };
      write_bare(path(number), memory_.bytes());
      *took = now() - start;
      std::filesystem::remove(path(number - 1));
    });
    timeline_.add(start, 0, [took]() -> std::optional<Written> {
      const double seconds = *took;
      if (seconds == 0) return {};
      return Written{seconds, seconds};
    });
  }

 private:
  const Options& options_;
  Timeline& timeline_;
  Tensor memory_;
  int num_files_ = 0;
  std::jthread writer_;  // Last: joins first.
};

std::vector<std::vector<float>> random_arrays(const Options& options) {
  uint64_t seed = 1;
  std::vector<std::vector<float>> arrays(options.variables);
  for (auto& array : arrays) {
    array.resize(options.bytes / options.variables / sizeof(float));
    fill_randomly(array, seed);
  }
  return arrays;
}

// The time of one copy of the state between memory that was touched before.
double copy_time(const std::vector<std::vector<float>>& arrays) {
  auto copies = arrays;
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const double start = now();
    for (size_t j = 0; j < arrays.size(); ++j)
      std::memcpy(copies[j].data(), arrays[j].data(), arrays[j].size() * sizeof(float));
    times.push_back(now() - start);
  }
  return median(times);
}

// Saves a state that does not change.
nlohmann::json save_alone(const Options& options, std::vector<std::vector<float>> arrays) {
  local::Graph graph;
  for (size_t i = 0; i < arrays.size(); ++i) {
    graph.variable("v" + std::to_string(i), Tensor::from(arrays[i], {std::ssize(arrays[i])}));
    std::vector<float>().swap(arrays[i]);
  }
  const auto session = graph.new_session("");
  Saver saver({.num_shards = options.shards, .max_to_keep = 1});
  BackgroundSaver background(saver);
  const size_t baseline = memory("VmRSS:");
  forget_peak_memory();
  nlohmann::json saves = nlohmann::json::array();
  std::string prefix;
  for (int i = 0; i < options.saves; ++i) {
    const double start = now();
    Snapshot snapshot = saver.snapshot(*session);
    const double snapshot_s = now() - start;
    const SaveTicket ticket =
        background.enqueue(std::move(snapshot), options.dir + "/model.ckpt", i);
    ticket.wait();
    prefix = ticket.location();
    saves.push_back({{"published_s", snapshot_s + ticket.seconds(SaveStage::kPublished).value()},
                     {"finished_s", now() - start}});
  }
  const size_t peak = memory("VmHWM:");
  drop_from_page_cache(options.dir);
  const double start = now();
  saver.restore(*session, prefix);
  return {{"saves", saves},
          {"restore_s", now() - start},
          {"extra_memory", peak - std::min(peak, baseline)}};
}

void train_graph(const Options& options, std::vector<std::vector<float>> arrays,
                 const std::shared_ptr<SessionRunHook>& hook) {
  local::Graph graph;
  std::vector<Output> steps;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const auto variable =
        graph.variable("v" + std::to_string(i), Tensor::from(arrays[i], {std::ssize(arrays[i])}));
    std::vector<float>().swap(arrays[i]);
    const std::string name = "step" + std::to_string(i);
    if (options.kind != "update") {
      steps.push_back(
          graph.op(name, {replace(variable)},
                   [](std::span<const float> from, std::span<float> to) { step_over(from, to); }));
    } else {
      steps.push_back(
          graph.op(name, {update(variable)}, [](std::span<float> x) { step_over(x, x); }));
    }
  }
  const Operation step = graph.increment_global_step(steps);
  train({.graph = graph, .hooks = {hook}}, [&](MonitoredSession& session) {
    while (!session.should_stop()) session.run(step);
  });
}

void train_loop(const Options& options, std::vector<std::vector<float>> arrays, double copy_s,
                const std::shared_ptr<SavingHook>& hook) {
  Loop loop({.hooks = {hook}});
  for (size_t i = 0; i < arrays.size(); ++i)
    loop.track("v" + std::to_string(i), std::span<float>(arrays[i]));
  const auto update = [&] {
    for (std::vector<float>& array : arrays) step_over(array, array);
  };
  Computation computation;
  if (options.kind == "body") {
    loop.run(update);
  } else {
    loop.run([&] { computation.make(2 * copy_s); }, update);
  }
}

// The exit code that ctest treats as a skipped test.
constexpr int kCannotBeMeasured = 77;

// Prints why if not: not every file system has O_DIRECT, nor every container io_uring.
bool can_write_bare(const std::string& directory) {
  std::filesystem::create_directories(directory);
  const std::string path = directory + "/trial";
  try {
    const Tensor bytes(DType::kUint8, {1 << 20});
    write_bare(path, bytes.bytes());
    std::filesystem::remove(path);
    return true;
  } catch (const std::runtime_error& error) {
    fmt::print(stderr, "checkpoint_save: the disk cannot be measured: {}\n", error.what());
    return false;
  }
}

nlohmann::json measure(const Options& options) {
  std::filesystem::create_directories(options.dir);
  auto arrays = random_arrays(options);
  const double copy_s = copy_time(arrays);
  nlohmann::json result;
  if (options.kind == "alone") {
    result = save_alone(options, std::move(arrays));
  } else if (options.kind == "disk") {
    Timeline timeline(options);
    train_graph(options, std::move(arrays), std::make_shared<DiskHook>(options, timeline));
    result = {{"step_s", timeline.step_s()},
              {"saves", timeline.report()},
              {"steps_s", timeline.durations()}};
  } else {
    Timeline timeline(options);
    const auto hook = std::make_shared<SavingHook>(options, timeline);
    if (options.kind == "replace" || options.kind == "update") {
      train_graph(options, std::move(arrays), hook);
    } else {
      train_loop(options, std::move(arrays), copy_s, hook);
    }
    result = {{"step_s", timeline.step_s()},
              {"saves", timeline.report()},
              {"steps_s", timeline.durations()},
              {"restore_s", hook->restore_s()},
              {"extra_memory", hook->extra_memory()}};
  }
  result.update({{"name", "crochet"},
                 {"kind", options.kind},
                 {"bytes", options.bytes},
                 {"variables", options.variables},
                 {"shards", options.shards},
                 {"copy_s", copy_s}});
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the cost of saving.", "checkpoint_save");
  app.add_option("--kind", options.kind)
      ->check(CLI::IsMember({"replace", "update", "body", "compute", "alone", "disk"}));
  app.add_option("--dir", options.dir, "Where the checkpoints are written; they are not removed");
  app.add_option("--bytes", options.bytes)->check(CLI::PositiveNumber);
  app.add_option("--variables", options.variables)->check(CLI::PositiveNumber);
  app.add_option("--shards", options.shards)->check(CLI::PositiveNumber);
  app.add_option("--saves", options.saves)->check(CLI::PositiveNumber);
  app.add_option("--quiet", options.quiet, "Steps between a save and the next one")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.kind == "disk" && !can_write_bare(options.dir)) return kCannotBeMeasured;
    fmt::print("{}\n", measure(options).dump());
  } catch (const std::exception& error) {
    fmt::print(stderr, "checkpoint_save: {}\n", error.what());
    return 1;
  }
}
