// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains with a copy of each checkpoint in a store:
//
//   mirrored_trainer DIR URL LAST_STEP STEP_MS SAVE_STEPS VALUES
//
// Prints the step from which it starts, and at the end a number that all its state determines.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "crochet/hooks/guards/cloud/mirror_hook.h"
#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"

namespace cr = crochet;

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::chrono::milliseconds step_time(std::stoi(arguments.at(3)));
  std::vector<uint64_t> state(std::stoul(arguments.at(5)));
  std::mt19937_64 generator(1);
  bool is_first = true;
  cr::Loop loop(
      {.checkpoint = {.dir = arguments.at(0), .every_steps = std::stoi(arguments.at(4))},
       .hooks = {cr::StopAtStepHook({.last_step = std::stoi(arguments.at(2))}),
                 cr::cloud::MirrorHook(arguments.at(1), {.max_to_keep = 3, .end_secs = 120})}});
  loop.track("state", state);
  loop.track("generator", generator);
  const cr::RunReport report = loop.run([&](cr::Step& step) {
    if (std::exchange(is_first, false)) std::cout << "from " << step.number() - 1 << std::endl;
    std::this_thread::sleep_for(step_time);
    for (uint64_t& value : state) value = value * 31 + generator();
  });
  uint64_t digest = 0;
  for (const uint64_t value : state) digest = digest * 1'000'003 + value;
  std::cout << "at " << report.last_step << " " << digest << std::endl;
  return report.exit_code();
}
