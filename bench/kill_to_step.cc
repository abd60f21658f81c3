// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// How soon does a run that was killed make its next step?
//
// Trains arrays of the program with Loop, and saves them; with a checkpoint in the directory, it
// resumes. Without --steps it runs until it is killed. bench/checkpoint_sections.py does that,
// starts it again with --steps, and reads the moments that it prints as JSON. They are those of
// CLOCK_MONOTONIC, which is the same for all processes:
//
//   main        main() begins
//   allocated   the arrays exist, filled with zeros
//   restored    Loop::restore() has returned; without a checkpoint it does nothing
//   filled      the arrays have random values, unless they were restored
//   step_begins, step_ends   the first step
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
  std::string dir = "kill_to_step";
  size_t bytes = size_t{1} << 30;
  size_t variables = 64;
  int64_t save_steps = 20;
  int64_t steps = 0;
};

HookList hooks(const Options& options) {
  if (options.steps == 0) return {};
  return {StopAtStepHook({.num_steps = options.steps})};
}

nlohmann::json measure(const Options& options) {
  nlohmann::json moments = {{"main", now()}};
  std::vector<std::vector<float>> arrays;
  for (size_t i = 0; i < options.variables; ++i)
    arrays.emplace_back(options.bytes / options.variables / sizeof(float));
  moments["allocated"] = now();

  Loop loop({.checkpoint = {.dir = options.dir,
                            .every_steps = options.save_steps,
                            .saver = {.max_to_keep = 1}},
             .hooks = hooks(options)});
  for (size_t i = 0; i < arrays.size(); ++i)
    loop.track("v" + std::to_string(i), std::span<float>(arrays[i]));
  const int64_t resumed_from = loop.restore();
  moments["restored"] = now();
  uint64_t seed = 1;
  if (resumed_from == 0)
    for (std::vector<float>& array : arrays) fill_randomly(array, seed);
  moments["filled"] = now();

  std::vector<double> begins;
  std::vector<double> ends;
  loop.run([&] {
    begins.push_back(now());
    for (std::vector<float>& array : arrays) step_over(array, array);
    ends.push_back(now());
  });
  moments["step_begins"] = begins.front();
  moments["step_ends"] = ends.front();
  std::vector<double> took;
  for (size_t i = 1; i < begins.size(); ++i) took.push_back(ends[i] - begins[i]);
  return {{"moments", moments}, {"resumed_from", resumed_from}, {"step_s", median(took)}};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains until it is killed, or shows how soon it resumes.", "kill_to_step");
  app.add_option("--dir", options.dir, "Of the checkpoints; it is not removed");
  app.add_option("--bytes", options.bytes)->check(CLI::PositiveNumber);
  app.add_option("--variables", options.variables)->check(CLI::PositiveNumber);
  app.add_option("--save-steps", options.save_steps, "0: saves nothing")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--steps", options.steps, "Steps to make; 0: until it is killed")
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    fmt::print("{}\n", measure(options).dump());
  } catch (const std::exception& error) {
    fmt::print(stderr, "kill_to_step: {}\n", error.what());
    return 1;
  }
}
