// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What do checkpoints cost that are saved every few steps?
//
// Trains arrays of the program with Loop in stretches of steps, in turns without saves and with
// one every n steps, and prints how long the stretches took as JSON. A step computes a fixed
// amount in the cache and then changes the whole state:
//
//   body      Loop::run(body)
//   compute   Loop::run(compute, update)
//
// A stretch with saves lies between two without. The last step of a stretch saves nothing, so that
// no save reaches into the next one.
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "crochet/crochet.h"
#include "random_arrays.h"
#include "timing.h"
#include "training_steps.h"

using namespace crochet;

namespace {

struct Options {
  std::string dir = "save_often";
  std::string kind = "body";
  size_t bytes = size_t{1} << 30;
  size_t variables = 64;
  double step_s = 1;
  int64_t every = 10;
  int64_t stretch = 10;
  int64_t saving_stretches = 5;
};

// What each step does, counted from 1.
class Plan {
 public:
  explicit Plan(const Options& options) : options_(options) {}

  int64_t stretches() const { return 2 * options_.saving_stretches + 1; }
  // One more than counts: it ends the last stretch.
  int64_t steps() const { return kFirstSteps + stretches() * options_.stretch + 1; }
  bool computes(int64_t step) const { return step > kFirstSteps; }
  bool saves(int64_t step) const {
    if (!computes(step)) return step == 2 || step == 8;
    const int64_t i = (step - kFirstSteps - 1) % options_.stretch;
    return stretch_of(step) % 2 == 1 && i % options_.every == 0 && i + 1 < options_.stretch;
  }
  int64_t stretch_of(int64_t step) const { return (step - kFirstSteps - 1) / options_.stretch; }
  int64_t first_step(int64_t stretch) const { return kFirstSteps + stretch * options_.stretch + 1; }
  int64_t saves_of_a_stretch() const {
    return (options_.stretch - 1 + options_.every - 1) / options_.every;
  }

 private:
  // They compute nothing, and two saves use all buffers for the first time.
  static constexpr int64_t kFirstSteps = 20;

  const Options& options_;
};

void train(const Options& options, const Plan& plan, std::vector<std::vector<float>>& arrays,
           std::vector<double>& begins) {
  Computation computation;
  constexpr double kTrial = 0.2;
  computation.make(kTrial);
  const auto amount = static_cast<int64_t>(static_cast<double>(computation.make(kTrial)) *
                                           (options.step_s / kTrial));
  // Counts the steps of this run, which resumes if the directory has a checkpoint.
  const auto number = [&] { return std::ssize(begins); };
  const auto compute = [&] {
    begins.push_back(now());
    if (plan.computes(number())) computation.repeat(amount);
  };
  const auto update = [&](Step& step) {
    for (std::vector<float>& array : arrays) step_over(array, array);
    if (plan.saves(number())) step.request_save();
  };
  Loop loop({.checkpoint = {.dir = options.dir,
                            .every_steps = int64_t{1} << 40,
                            .saver = {.max_to_keep = 1}},
             .hooks = {StopAtStepHook({.num_steps = plan.steps()})}});
  for (size_t i = 0; i < arrays.size(); ++i)
    loop.track("v" + std::to_string(i), std::span<float>(arrays[i]));
  const RunReport report =
      options.kind == "compute" ? loop.run(compute, update) : loop.run([&](Step& step) {
        compute();
        update(step);
      });
  if (report.failed_saves > 0) throw std::runtime_error("saves failed");
}

nlohmann::json measure(const Options& options) {
  auto arrays = random_arrays(options.bytes, options.variables);
  const double copy_s = copy_time(arrays);
  const Plan plan(options);
  std::vector<double> begins;
  train(options, plan, arrays, begins);
  std::vector<double> took;
  for (int64_t i = 0; i < plan.stretches(); ++i)
    took.push_back(begins.at(plan.first_step(i + 1) - 1) - begins.at(plan.first_step(i) - 1));
  return {
      {"stretches_s", took}, {"saves_of_a_stretch", plan.saves_of_a_stretch()}, {"copy_s", copy_s}};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Measures the cost of saving every few steps.", "save_often");
  app.add_option("--dir", options.dir, "Where the checkpoints are written; they are not removed");
  app.add_option("--kind", options.kind)->check(CLI::IsMember({"body", "compute"}));
  app.add_option("--bytes", options.bytes)->check(CLI::PositiveNumber);
  app.add_option("--variables", options.variables)->check(CLI::PositiveNumber);
  app.add_option("--step-s", options.step_s, "Seconds that a step computes");
  app.add_option("--every", options.every, "Steps from a save to the next one")
      ->check(CLI::PositiveNumber);
  app.add_option("--stretch", options.stretch, "Steps of a stretch")->check(CLI::Range(2, 1000));
  app.add_option("--saving-stretches", options.saving_stretches)->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    fmt::print("{}\n", measure(options).dump());
  } catch (const std::exception& error) {
    fmt::print(stderr, "save_often: {}\n", error.what());
    return 1;
  }
}
