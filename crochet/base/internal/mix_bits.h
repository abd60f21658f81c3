// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace crochet::inline v0::internal {

// The finalizer of SplitMix64, by Sebastiano Vigna, in the public domain: every bit of the number
// affects every bit of the result, and different numbers have different results.
constexpr uint64_t mix_bits(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

// The first output of a SplitMix64 generator that starts at 0.
static_assert(mix_bits(0x9e3779b97f4a7c15) == 0xe220a8397b1dcdaf);

}  // namespace crochet::inline v0::internal
