// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How much training time does a checkpoint cost, and how soon is it durable?
//
// Trains a state of random floats by dense updates, saves it in the background several times,
// restores it, and prints the costs as JSON. Kinds of state, as in docs/decisions.md:
//
//   replace   variables of the engine, each step writes the next values to other memory
//   update    the same, changed in place
//   body      arrays of the caller, Loop::run(body)
//   compute   arrays of the caller, Loop::run(compute, update); computing takes longer than a copy
//   frozen    as `replace`, but a hundredth of the variables is trained: checkpoints share the rest
//   arrays    as `body`, but a hundredth of the arrays is trained
//   alone     variables of the engine, without training: each save is waited for, and writes all
//   disk      trains as `replace`, but saves nothing: as many bytes of other memory are written to
//             a file without crochet, and read once for a checksum: the cost of the machine itself
//
// Every checkpoint is kept, except by `alone`, which publishes one before it removes the one
// before, as fio's file is removed outside its time. save_timeline.h defines the time that a save
// loses. bench/checkpoint_report.py runs this in turns with the peers.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bare_writes_hook.h"
#include "crochet/checkpoint/saver/internal/background_saver.h"
#include "crochet/checkpoint/saver/internal/save_source.h"
#include "crochet/crochet.h"
#include "page_cache.h"
#include "random_arrays.h"
#include "save_timeline.h"
#include "saving_hook.h"
#include "timing.h"
#include "training_steps.h"

using namespace crochet;

namespace {

struct Options : SavesToMeasure {
  std::string kind = "replace";
  int shards = 1;
  bool llama = false;
};

bool is_partly_trained(const Options& options) {
  return options.kind == "frozen" || options.kind == "arrays";
}

// The number of variables that are trained.
size_t num_trained(const Options& options, size_t num_variables) {
  return is_partly_trained(options) ? std::max<size_t>(1, num_variables / 100) : num_variables;
}

// Saves a state that does not change.
nlohmann::json save_alone(const Options& options, std::vector<std::vector<float>> arrays) {
  local::Graph graph;
  for (size_t i = 0; i < arrays.size(); ++i) {
    graph.variable("v" + std::to_string(i), Tensor::from(arrays[i], {std::ssize(arrays[i])}));
    std::vector<float>().swap(arrays[i]);
  }
  const auto session = graph.new_session("");
  Saver saver({.num_shards = options.shards, .share_unchanged = false, .max_to_keep = 1});
  internal::BackgroundSaver background(saver);
  const size_t baseline = memory("VmRSS:");
  forget_peak_memory();
  nlohmann::json saves = nlohmann::json::array();
  std::string prefix;
  for (int i = 0; i < options.saves; ++i) {
    const double start = now();
    const double cpu_start = processor_time();
    Snapshot snapshot = saver.snapshot(*session);
    const double snapshot_s = now() - start;
    const SaveTicket ticket =
        background.enqueue(std::move(snapshot), options.dir + "/model.ckpt", i);
    ticket.wait();
    prefix = ticket.location();
    saves.push_back({{"published_s", snapshot_s + ticket.seconds(SaveStage::kPublished).value()},
                     {"finished_s", now() - start},
                     {"cpu_s", processor_time() - cpu_start}});
  }
  const size_t peak = memory("VmHWM:");
  drop_from_page_cache(options.dir);
  const double start = now();
  const double cpu_start = processor_time();
  saver.restore(*session, prefix);
  return {{"saves", saves},
          {"restore_s", now() - start},
          {"restore_cpu_s", processor_time() - cpu_start},
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
    if (i >= num_trained(options, arrays.size())) continue;
    const std::string name = "step" + std::to_string(i);
    if (options.kind != "update") {
      steps.push_back(
          graph.op(name, {replace(variable)}, is_partly_trained(options) ? count_on : step_over));
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
    for (std::vector<float>& array : std::span(arrays).first(num_trained(options, arrays.size())))
      is_partly_trained(options) ? count_on(array, array) : step_over(array, array);
  };
  Computation computation;
  if (options.kind == "body" || options.kind == "arrays") {
    loop.run(update);
  } else {
    loop.run([&] { computation.make(2 * copy_s); }, update);
  }
}

nlohmann::json measure(const Options& options) {
  std::filesystem::create_directories(options.dir);
  auto arrays = options.llama ? random_arrays(llama_sizes(options.bytes))
                              : random_arrays(options.bytes, options.variables);
  const size_t num_variables = arrays.size();
  const double copy_s = copy_time(arrays);
  nlohmann::json result;
  if (options.kind == "alone") {
    result = save_alone(options, std::move(arrays));
  } else if (options.kind == "disk") {
    Timeline timeline(options);
    train_graph(options, std::move(arrays),
                std::make_shared<BareWritesHook>(options, timeline, options.bytes));
    result = {{"step_s", timeline.step_s()},
              {"saves", timeline.report()},
              {"steps_s", timeline.durations()}};
  } else {
    Timeline timeline(options);
    const auto hook = std::make_shared<SavingHook>(options, timeline, options.shards);
    if (options.kind == "replace" || options.kind == "update" || options.kind == "frozen") {
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
                 {"variables", num_variables},
                 {"shards", options.shards},
                 {"copy_s", copy_s}});
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  options.dir = "checkpoint_save";
  CLI::App app("Measures the cost of saving.", "checkpoint_save");
  app.add_option("--kind", options.kind)
      ->check(CLI::IsMember(
          {"replace", "update", "body", "compute", "frozen", "arrays", "alone", "disk"}));
  app.add_option("--shards", options.shards)->check(CLI::PositiveNumber);
  app.add_flag("--llama", options.llama, "The variables of MLPerf Storage's 8B model");
  add_options_of_saves(app, options);
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.kind == "disk" && !can_write_bare(options.dir)) return kCannotBeMeasured;
    fmt::print("{}\n", measure(options).dump());
  } catch (const std::exception& error) {
    fmt::print(stderr, "checkpoint_save: {}\n", error.what());
    return 1;
  }
}
