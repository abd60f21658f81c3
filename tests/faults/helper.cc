// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The program that the tests of this folder run, stop and watch:
//
//   crochet_fault_helper <directory> <last step> [wait]
//
// trains up to a step, saving every step into the directory; each element of its state is the
// number of the step. With "wait" it prints "running" in its first step and continues once it has
// read a byte. At the end it prints "saved <step>", or the error.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>
#include <vector>

#include "crochet/hooks/stop_at_step_hook.h"
#include "crochet/loop/loop.h"

namespace {

void say_and_wait() {
  std::puts("running");
  std::fflush(stdout);
  char byte;
  if (::read(STDIN_FILENO, &byte, 1) < 0) std::perror("read");
}

int run(const char* directory, int64_t last_step, bool wait) {
  std::vector<float> weights(1000);
  crochet::Loop loop(
      {.checkpoint = {.dir = directory, .every_steps = 1, .saver = {.max_to_keep = 1}},
       .summaries = {.every_steps = 0, .count_every_steps = 0},
       .hooks = {crochet::StopAtStepHook({.last_step = last_step})}});
  loop.track("weights", weights);
  const auto report = loop.run([&](crochet::Step& step) {
    if (wait) say_and_wait();
    wait = false;
    std::ranges::fill(weights, static_cast<float>(step.number()));
  });
  std::printf("saved %lld\n", static_cast<long long>(report.last_step));
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 3) throw crochet::InvalidArgumentError("expected a directory and a step");
    return run(argv[1], std::atoll(argv[2]), argc > 3 && std::string_view(argv[3]) == "wait");
  } catch (const std::exception& error) {
    std::printf("error: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
