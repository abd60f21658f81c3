// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
//
// Heat in a plate, by several threads of OpenMP, as simulations often are: two grids, a loop over
// time, output at intervals. A run that is killed continues with the same bits.
//
//   openmp_example DIR STEPS
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "crochet/crochet.h"

int main(int argc, char** argv) {
  constexpr int kSize = 400;
  const int64_t steps = argc > 2 ? std::atoll(argv[2]) : 5000;
  std::vector<double> now(kSize * kSize, 20.0), next = now;
  double time = 0, warmest = 0;

  crochet::Loop loop({.checkpoint = {.dir = argc > 1 ? argv[1] : "runs/plate", .every_secs = 0.2},
                      .hooks = {crochet::StopAtStepHook({.last_step = steps})}});
  loop.track("temperature", now);  // `next` is computed from it.
  loop.track("time", time);
  loop.scalar("warmest", [&] { return warmest; });

  const auto report = loop.run([&] {
    constexpr double kRate = 0.2;
#pragma omp parallel for schedule(static)
    for (int row = 1; row < kSize - 1; ++row)
      for (int i = row * kSize + 1; i < (row + 1) * kSize - 1; ++i)
        next[i] = now[i] +
                  kRate * (now[i - 1] + now[i + 1] + now[i - kSize] + now[i + kSize] - 4 * now[i]);
    next[kSize * kSize / 2 + kSize / 4] = 80 + 10 * (time - static_cast<int64_t>(time));
    std::swap(now, next);
    warmest = 0;
#pragma omp parallel for reduction(max : warmest)
    for (int i = 0; i < kSize * kSize; ++i) warmest = std::max(warmest, now[i]);
    time += 0.01;
  });
  uint64_t digest = 0;
  for (const double value : now) digest = digest * 31 + static_cast<uint64_t>(value * 1e9);
  std::cout << "digest " << digest << "\n";
  return report.exit_code();
}
