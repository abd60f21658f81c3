// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace crochet {

// The numbers of two bytes that C++20 has no types for, from their bits.
double bfloat16_to_double(uint16_t bits);
// IEEE 754's binary16.
double half_to_double(uint16_t bits);

}  // namespace crochet
