// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "timing.h"

// Random mantissas, which a file system or a peer cannot compress.
inline void fill_randomly(std::span<float> values, uint64_t& seed) {
  for (float& value : values) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const auto bits = static_cast<uint32_t>(seed >> 41) | 0x3f800000u;
    std::memcpy(&value, &bits, sizeof(value));
  }
}

// Arrays of the same size, `bytes` in all.
inline std::vector<std::vector<float>> random_arrays(size_t bytes, size_t number) {
  uint64_t seed = 1;
  std::vector<std::vector<float>> arrays(number);
  for (auto& array : arrays) {
    array.resize(bytes / number / sizeof(float));
    fill_randomly(array, seed);
  }
  return arrays;
}

// The time of one copy of the arrays between memory that was touched before.
inline double copy_time(const std::vector<std::vector<float>>& arrays) {
  auto copies = arrays;
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const double start = now();
    for (size_t j = 0; j < arrays.size(); ++j)
      std::memcpy(copies[j].data(), arrays[j].data(), arrays[j].size() * sizeof(float));
    times.push_back(now() - start);
  }
  return median(times);
}
