// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "timing.h"

// What a step does to the values that it trains; `from` and `to` may be the same.
inline void step_over(std::span<const float> from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] * 0.999f + 0.001f;
}

// Changes every element in each of some million steps: step_over() converges.
inline void count_on(std::span<const float> from, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i] + 1.0f;
}

// Computes in the cache only.
class Computation {
 public:
  // Until about the given time has passed, however much was computed. Returns how much.
  int64_t make(double seconds) {
    const double end = now() + seconds;
    int64_t amount = 0;
    for (; now() < end; ++amount) make_part();
    return amount;
  }
  // As much as make() returned, however long it takes.
  void repeat(int64_t amount) {
    for (; amount > 0; --amount) make_part();
  }

 private:
  void make_part() {
    for (int i = 0; i < 4; ++i) step_over(values_, values_);
  }

  std::vector<float> values_ = std::vector<float>(4096, 1.0f);
};
