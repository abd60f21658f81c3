// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// trajectory_rank <directory> <last step>: a rank that writes a frame of 800 bytes a step into a
// file of its own, and the chief a line into a log; check_kills.py knows them. Saves every third
// step, and the chief prints "from <step>" when it begins.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <string>

#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"
#include "crochet/mpi/join.h"
#include "crochet/outputs/outputs.h"
#include "crochet/tracking/sharded.h"

namespace cr = crochet;

namespace {

void run(const std::shared_ptr<cr::Group>& group, const std::string& directory, int64_t last_step) {
  const int rank = group->rank();
  cr::OutputFile frames(directory + "/frames.bin");
  cr::OutputFile log(directory + "/log.txt");
  std::array<uint64_t, 100> x = {};
  x.fill(static_cast<uint64_t>(rank));
  cr::Loop loop({.checkpoint = {.dir = directory, .every_steps = 3},
                 .summaries = {.every_steps = 0, .count_every_steps = 0},
                 .ranks = {.group = group},
                 .hooks = {cr::StopAtStepHook({.last_step = last_step})}});
  loop.track("x", cr::per_rank(x));
  loop.track("frames", cr::per_rank(frames));
  loop.track("log", log);
  const int64_t first = loop.start();
  if (rank == 0) {
    std::printf("from %lld\n", static_cast<long long>(first));
    std::fflush(stdout);
  }
  while (!loop.should_stop())
    loop.step([&](cr::Step& step) {
      for (uint64_t& each : x) each = each * 6364136223846793005U + 1442695040888963407U;
      frames.write(std::as_bytes(std::span(x)));
      if (rank == 0) log << step.number() << '\n';
    });
  loop.finish();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: trajectory_rank DIRECTORY LAST_STEP\n");
    return 2;
  }
  try {
    run(cr::mpi::join(argc, argv), argv[1], std::atoll(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
