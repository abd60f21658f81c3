// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains with the installed package, and leaves a checkpoint: core <directory>.
#include <vector>

#include "crochet/crochet.h"

int main(int, char** argv) {
  std::vector<float> weights(1000, 1.0f);
  crochet::Loop loop(
      {.checkpoint = {.dir = argv[1]}, .hooks = {crochet::StopAtStepHook({.last_step = 10})}});
  loop.track("weights", std::span<float>(weights));
  loop.run([&] { weights[0] += 1; });
  return weights[0] == 11.0f ? 0 : 1;
}
