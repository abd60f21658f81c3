// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// What replay.py starts again and again: trains arrays of the program with Loop, one step each
// --step-s, as on an accelerator for which the program waits, and saves them each --save-secs. With
// a checkpoint in the directory, it resumes. Ends when it is killed, or after --seconds; then it
// prints how many steps it made, and what its saves took. peer.py has the same work for the peers.
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../random_arrays.h"
#include "../timing.h"
#include "../training_steps.h"
#include "crochet/crochet.h"

using namespace crochet;

namespace {

struct Options {
  std::string dir = "goodput";
  size_t bytes = size_t{20} << 20;
  size_t variables = 16;
  double step_s = 0.02;
  double save_secs = 1;  // 0: none.
  double seconds = 0;    // 0: until it is killed.
};

nlohmann::json train(const Options& options) {
  std::vector<std::vector<float>> arrays;
  for (size_t i = 0; i < options.variables; ++i)
    arrays.emplace_back(options.bytes / options.variables / sizeof(float));
  Loop loop(
      {.checkpoint = {
           .dir = options.dir, .every_secs = options.save_secs, .saver = {.max_to_keep = 2}}});
  for (size_t i = 0; i < arrays.size(); ++i)
    loop.track("v" + std::to_string(i), std::span<float>(arrays[i]));
  const int64_t resumed_from = loop.restore();
  uint64_t seed = 1;
  if (resumed_from == 0)
    for (std::vector<float>& array : arrays) fill_randomly(array, seed);
  const double begin = now();
  const RunReport report = loop.run([&](Step& step) {
    const double step_begin = now();
    for (std::vector<float>& array : arrays) count_on(array, array);
    const double left = options.step_s - (now() - step_begin);
    if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
    if (options.seconds > 0 && now() - begin >= options.seconds)
      step.request_stop("the time is over");
  });
  const SaveStatistics& saving = report.saving;
  return {{"resumed_from", resumed_from},
          {"steps", report.last_step - report.first_step},
          {"elapsed_s", now() - begin},
          {"saves", saving.saved},
          {"save_s",
           saving.saved == 0 ? 0 : saving.published_secs / static_cast<double>(saving.saved)}};
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Trains and saves until it is killed.");
  app.add_option("--dir", options.dir, "The directory of the run")->capture_default_str();
  app.add_option("--bytes", options.bytes, "The size of the state")->capture_default_str();
  app.add_option("--variables", options.variables, "In this number of arrays")
      ->capture_default_str();
  app.add_option("--step-s", options.step_s, "The time of a step")->capture_default_str();
  app.add_option("--save-secs", options.save_secs, "The interval of saves; 0: none")
      ->capture_default_str();
  app.add_option("--seconds", options.seconds, "Ends after this time; 0: when it is killed")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  set_log_callback([](Severity severity, std::string_view message) {
    if (severity == Severity::kError) log_to_stderr(severity, message);
  });
  fmt::print("{}\n", train(options).dump());
  return 0;
}
