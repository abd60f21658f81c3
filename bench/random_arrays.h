// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

// Arrays of these numbers of elements.
inline std::vector<std::vector<float>> random_arrays(std::span<const size_t> sizes) {
  uint64_t seed = 1;
  std::vector<std::vector<float>> arrays;
  for (const size_t size : sizes) fill_randomly(arrays.emplace_back(size), seed);
  return arrays;
}

// Arrays of the same size, `bytes` in all.
inline std::vector<std::vector<float>> random_arrays(size_t bytes, size_t number) {
  return random_arrays(std::vector<size_t>(number, bytes / number / sizeof(float)));
}

// The state of the Llama 3 model of 8B parameters in MLPerf Storage's checkpointing workload, as
// one rank has it that shares it evenly with others (ZeRO stage 3): for each parameter a weight of
// 2 bytes an element and three values of the optimizer of 4 bytes. Returns the numbers of floats,
// of `bytes` in all. The sizes are those of DLIO's workload llama_8b_zero3: 32 layers, hidden size
// 4096, 14336 in the feed-forward part, 8 of 32 heads for keys and values, 128256 words.
inline std::vector<size_t> llama_sizes(size_t bytes) {
  constexpr size_t kHidden = 4096, kFeedForward = 14336, kKeys = 1024, kWords = 128256;
  constexpr int kLayers = 32;
  std::vector<size_t> parameters = {kWords * kHidden, kWords * kHidden, kHidden};
  for (int layer = 0; layer < kLayers; ++layer)
    for (const size_t size :
         {kHidden * kHidden, kKeys * kHidden, kKeys * kHidden, kHidden * kHidden,
          kFeedForward * kHidden, kFeedForward * kHidden, kFeedForward * kHidden, kHidden, kHidden})
      parameters.push_back(size);
  constexpr double kBytesOfAParameter = 2 + 3 * 4;
  double all = 0;
  for (const size_t size : parameters) all += static_cast<double>(size) * kBytesOfAParameter;
  const double part = static_cast<double>(bytes) / all;
  std::vector<size_t> sizes;
  for (const size_t size : parameters) {
    const double own = static_cast<double>(size) * part;
    sizes.push_back(std::max<size_t>(1, static_cast<size_t>(own / 2)));
    for (int value = 0; value < 3; ++value)
      sizes.push_back(std::max<size_t>(1, static_cast<size_t>(own)));
  }
  return sizes;
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
