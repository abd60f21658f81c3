// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/half.h"

#include <bit>
#include <cmath>
#include <limits>

namespace crochet {

double bfloat16_to_double(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);  // A float's upper half.
}

double half_to_double(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int mantissa = bits & 0x3ff;
  double magnitude;
  if (exponent == 0x1f) {
    magnitude = mantissa == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, -24);
  } else {
    magnitude = std::ldexp(mantissa | 0x400, exponent - 25);
  }
  return std::copysign(magnitude, (bits & 0x8000) != 0 ? -1.0 : 1.0);
}

}  // namespace crochet
