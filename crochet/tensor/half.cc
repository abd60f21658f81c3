// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <limits>

#include "crochet/tensor/dtype.h"

namespace crochet::inline v0 {
namespace {

constexpr uint32_t kFloatInfinity = 0x7f800000;

// `value` without its `shift` low bits (1 to 31), rounded to nearest even.
uint32_t round_off(uint32_t value, uint32_t shift) {
  const uint32_t quotient = value >> shift;
  const uint32_t rest = value & ((uint32_t{1} << shift) - 1);
  const uint32_t half = uint32_t{1} << (shift - 1);
  return quotient + (rest > half || (rest == half && quotient % 2 == 1) ? 1 : 0);
}

// The bits of a subnormal half: a float below 2^-14, as a multiple of 2^-24.
uint32_t subnormal_half_bits(uint32_t magnitude) {
  const uint32_t shift = 126 - (magnitude >> 23);
  if (shift > 24) return 0;
  return round_off((magnitude & 0x7fffff) | 0x800000, shift);
}

}  // namespace

uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  constexpr uint32_t kQuiet = 0x40;  // Otherwise a NaN could become infinity without its low bits.
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | kQuiet);
  return static_cast<uint16_t>(round_off(bits, 16));
}

uint16_t half_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & 0x7fffffff;
  const auto with_sign = [sign](uint32_t rest) { return static_cast<uint16_t>(sign | rest); };
  if (magnitude > kFloatInfinity) return with_sign(0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= std::bit_cast<uint32_t>(0x1p16f)) return with_sign(0x7c00);
  if (magnitude < std::bit_cast<uint32_t>(0x1p-14f))
    return with_sign(subnormal_half_bits(magnitude));
  // The exponents are biased by 127 and 15; rounding may carry into them, up to infinity.
  return with_sign(round_off(magnitude - (uint32_t{127 - 15} << 23), 13));
}

double bfloat16_to_double(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);  // The upper half of a float.
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

}  // namespace crochet::inline v0
