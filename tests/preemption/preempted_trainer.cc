// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains until its machine is taken away:
//
//   preempted_trainer DIR (gce|aws|azure) HOST STEP_MS
//   preempted_trainer DIR file PATH STEP_MS GRACE_SECS
//   preempted_trainer DIR signal NUMBER STEP_MS GRACE_SECS
//
// Prints each step once it is made, and then what its state must be.
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "crochet/hooks/guards/cloud/cloud_preemption.h"
#include "crochet/hooks/guards/preemption_hook.h"
#include "crochet/loop/loop.h"

namespace cr = crochet;

namespace {

std::shared_ptr<cr::PreemptionSource> source_of(const std::vector<std::string>& arguments) {
  const std::string& kind = arguments.at(1);
  const std::string& place = arguments.at(2);
  if (kind == "gce") return cr::cloud::gce_preemption({.host = place});
  if (kind == "aws") return cr::cloud::aws_preemption({.host = place});
  if (kind == "azure") return cr::cloud::azure_preemption({.host = place});
  const double grace_secs = std::stod(arguments.at(4));
  if (kind == "file") return cr::preemption_file(place, grace_secs);
  if (kind == "signal") return cr::preemption_signal(std::stoi(place), grace_secs);
  throw std::runtime_error("no such source: " + kind);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const std::chrono::milliseconds step_time(std::stoi(arguments.at(3)));
  std::vector<int64_t> state(100'000);
  cr::Loop loop({.checkpoint = {.dir = arguments.at(0), .every_secs = 3600},
                 .hooks = {cr::PreemptionHook(source_of(arguments))}});
  loop.track("state", state);
  return loop
      .run([&](cr::Step& step) {
        std::this_thread::sleep_for(step_time);
        for (int64_t& value : state) ++value;
        std::cout << step.number() << std::endl;
      })
      .exit_code();
}
