// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// The program of docs/operating.md: trains in runs/train, and has ended after ten minutes at most.
#include <chrono>
#include <cstdint>
#include <thread>

#include "crochet/crochet.h"

int main() {
  crochet::Loop loop({.checkpoint = {.dir = "runs/train", .every_secs = 60},
                      .hooks = {crochet::StopAtStepHook({.last_step = 30'000})}});
  int64_t count = 0;
  loop.track("count", count);
  return loop
      .run([&] {
        ++count;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // A step takes time.
      })
      .exit_code();
}
