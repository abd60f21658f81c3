// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains until somebody ends it: endless_trainer DIR.
#include <csignal>

#include "crochet/hooks/signal_hook.h"
#include "crochet/loop/loop.h"

int main(int, char** argv) {
  namespace cr = crochet;
  double weight = 0;
  cr::Loop loop(
      {.checkpoint = {.dir = argv[1], .every_secs = 600}, .hooks = {cr::SignalHook({SIGTERM})}});
  loop.track("weight", weight);
  return loop.run([&] { weight += 0.5; }).exit_code();
}
