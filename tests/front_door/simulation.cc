// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Heat in a long rod: 100 MB of state, which a save copies while the next step is computed.
//
//   simulation STEPS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <crochet/crochet.h>

int main(int, char** argv) {
  const int64_t last_step = std::atoll(argv[1]);
  std::vector<double> heat(12'500'000);
  std::vector<double> next(heat.size());
  for (size_t i = 0; i < heat.size(); ++i) heat[i] = static_cast<double>(i * 7919 % 1000);

  crochet::Loop loop(
      {.checkpoint = {.dir = "runs/rod", .every_steps = 5, .saver = {.max_to_keep = 2}},
       .hooks = {crochet::StopAtStepHook({.last_step = last_step})}});
  loop.track("heat", heat);
  const crochet::RunReport report = loop.run(
      [&] {
        next.front() = heat.front();
        next.back() = heat.back();
        for (size_t i = 1; i + 1 < heat.size(); ++i)
          next[i] = heat[i] + 0.2 * (heat[i - 1] - 2 * heat[i] + heat[i + 1]);
      },
      [&] { heat.swap(next); });
  std::fprintf(stderr, "%s\n", to_string(report).c_str());

  uint64_t digest = 0;
  for (const double each : heat) {
    uint64_t bits = 0;
    std::memcpy(&bits, &each, sizeof bits);
    digest = digest * 31 + bits;
  }
  std::printf("%.17g %016lx\n", heat[1000], static_cast<unsigned long>(digest));
}
