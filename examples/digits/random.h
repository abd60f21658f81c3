// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>

namespace digits {

// The standard specifies every bit of std::mt19937_64, but not the results of std::shuffle and the
// distributions. These functions have the same results with every standard library.

// A number in [low, high).
inline float uniform(float low, float high, std::mt19937_64& generator) {
  const float fraction = static_cast<float>(generator() >> 40) * 0x1p-24f;
  return low + (high - low) * fraction;
}

// Shuffles `values`.
inline void shuffle(std::span<int32_t> values, std::mt19937_64& generator) {
  for (size_t left = values.size(); left > 1; --left)
    std::swap(values[left - 1], values[generator() % left]);
}

}  // namespace digits
