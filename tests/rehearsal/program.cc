// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A program whose state is tracked, or, for a rehearsal to find it, is not:
//
//   rehearsed_program MODE STEPS
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <crochet/crochet.h>

int main(int, char** argv) {
  const std::string mode = argv[1];
  std::mt19937_64 generator(1);
  std::normal_distribution<double> normal;
  std::vector<double> position(3);
  int64_t hidden = 0;

  const std::string directory = mode == "absolute" ? std::string(argv[3]) : "runs/walk";
  crochet::LoopOptions options = {.checkpoint = {.dir = mode == "nothing" ? "" : directory}};
  if (mode == "few_saves") options.checkpoint.every_steps = 1000;
  options.hooks = {crochet::StopAtStepHook({.last_step = std::atoll(argv[2])})};
  crochet::Loop loop(std::move(options));
  loop.track("position", position);
  loop.track("generator", generator);
  if (mode != "distribution") loop.track("normal", normal);  // It keeps every second number.
  loop.scalar("x", [&] { return position[0]; });
  std::ofstream table;
  if (mode == "table") table.open("table.csv", std::ios::app);
  const auto report = loop.run([&](crochet::Step& step) {
    for (double& each : position) each += normal(generator);
    if (mode == "hidden") position[2] += static_cast<double>(++hidden);
    if (mode == "table") table << step.number() << ',' << position[0] << std::endl;
  });
  if (mode == "reads") return std::ifstream("data/input.txt") ? report.exit_code() : 3;
  return mode == "fails" ? 4 : report.exit_code();
}
