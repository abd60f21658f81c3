// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// A job of a batch system: it ends at SIGTERM, in time, and saves at SIGUSR1.
//
//   batch_job STEPS
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <thread>

#include <crochet/crochet.h>

int main(int, char** argv) try {
  const int64_t last_step = std::atoll(argv[1]);
  double position = 0;
  std::mt19937 generator(42);
  std::uniform_real_distribution<double> uniform(-1, 1);

  crochet::Loop loop(
      {.checkpoint = {.dir = "runs/job", .saving = {.deadline_secs = 20}},
       .hooks = {crochet::StopAtStepHook({.last_step = last_step}),
                 crochet::SignalHook({SIGTERM, SIGINT}), crochet::SaveOnSignalHook({SIGUSR1})}});
  loop.track("position", position);
  loop.track("generator", generator);
  loop.track("uniform", uniform);
  const crochet::RunReport report = loop.run([&] {
    position += uniform(generator);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
  });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());
  if (report.last_step == last_step) std::printf("%.17g\n", position);
  return report.exit_code();
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
