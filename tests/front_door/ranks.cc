// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Several processes with one directory each. A launcher asks each for its newest step, and starts
// all with the lowest.
//
//   ranks RANK newest
//   ranks RANK run AGREED STEPS
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>

#include <crochet/crochet.h>

static int64_t step_of(const std::string& prefix) {
  return std::stoll(prefix.substr(prefix.rfind('-') + 1));
}

int main(int, char** argv) {
  const std::string rank = argv[1];
  const std::string directory = "runs/rank-" + rank;
  crochet::FileSystem& files = crochet::FileSystem::posix();
  std::vector<std::string> checkpoints;
  if (files.exists(directory))
    checkpoints = crochet::list_checkpoints(files, directory, "model.ckpt");

  if (argv[2] == std::string("newest")) {
    std::printf("%ld\n", checkpoints.empty() ? 0L : static_cast<long>(step_of(checkpoints.back())));
    return 0;
  }
  const int64_t agreed = std::stoll(argv[3]);
  const int64_t last_step = std::stoll(argv[4]);
  for (const std::string& prefix : checkpoints)
    if (step_of(prefix) > agreed) crochet::remove_checkpoint(files, prefix);

  std::mt19937_64 generator(std::stoul(rank));
  double position = 0;
  crochet::Loop loop(
      {.checkpoint = {.dir = directory, .every_steps = 100, .saver = {.max_to_keep = 0}},
       .hooks = {crochet::StopAtStepHook({.last_step = last_step})}});
  loop.track("generator", generator);
  loop.track("position", position);
  if (loop.restore() != agreed) {
    std::fprintf(stderr, "the checkpoint of step %s is gone\n", argv[3]);
    return 1;
  }
  const crochet::RunReport report = loop.run([&] {
    position = 0.999 * position + static_cast<double>(generator() % 1000) / 999;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // Stands for more work.
  });
  std::fprintf(stderr, "first step %ld\n", static_cast<long>(report.first_step));
  std::printf("%.17g\n", position);
}
