// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include <benchmark/benchmark.h>

// The time of a step between the triggers of hooks that act every 100 runs. Steps are made in
// blocks of 100: the triggers are due in the first one, the last 90 are timed.
class Blocks {
 public:
  static constexpr int kNumUntimed = 10;
  static constexpr int kNumTimed = 90;

  // Makes a block of steps by calling `step`.
  template <typename Step>
  void make(benchmark::State& state, const Step& step) {
    for (int i = 0; i < kNumUntimed; ++i) step();
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kNumTimed; ++i) step();
    add(state, std::chrono::steady_clock::now() - start);
  }

  // Records the total time of the timed steps of a block.
  void add(benchmark::State& state, std::chrono::duration<double> time) {
    state.SetIterationTime(time.count());
    step_ns_.push_back(time.count() * 1e9 / kNumTimed);
  }

  // Reports "step_ns": the median over the blocks, which one interrupted block
  // does not affect.
  void report(benchmark::State& state) {
    const auto middle = step_ns_.begin() + static_cast<std::ptrdiff_t>(step_ns_.size() / 2);
    std::nth_element(step_ns_.begin(), middle, step_ns_.end());
    state.counters["step_ns"] = *middle;
  }

 private:
  std::vector<double> step_ns_;
};
