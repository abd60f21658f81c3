// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/internal/small_number.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace crochet::inline v0::internal {
namespace {

// Which bits are not finite numbers.
enum class Special {
  kNone,
  kAsInIeee754,     // The largest exponent: infinity, and NaN.
  kNanOfAllOnes,    // NaN, with either sign; no infinity.
  kNanOfMinusZero,  // No infinity, and no minus zero.
};

struct FloatFormat {
  DType dtype;
  int exponent_bits;
  int mantissa_bits;
  int bias;
  Special special;
};

// As in the package ml_dtypes of Python.
constexpr FloatFormat kFloats[] = {
    {DType::kFloat8E5m2, 5, 2, 15, Special::kAsInIeee754},
    {DType::kFloat8E4m3fn, 4, 3, 7, Special::kNanOfAllOnes},
    {DType::kFloat8E4m3fnuz, 4, 3, 8, Special::kNanOfMinusZero},
    {DType::kFloat8E4m3b11fnuz, 4, 3, 11, Special::kNanOfMinusZero},
    {DType::kFloat8E5m2fnuz, 5, 2, 16, Special::kNanOfMinusZero},
    {DType::kFloat6E2m3fn, 2, 3, 1, Special::kNone},
    {DType::kFloat6E3m2fn, 3, 2, 3, Special::kNone},
    {DType::kFloat4E2m1fn, 2, 1, 1, Special::kNone},
};

struct IntFormat {
  DType dtype;
  int bits;
  bool is_signed;
};

constexpr IntFormat kInts[] = {{DType::kInt4, 4, true},
                               {DType::kUint4, 4, false},
                               {DType::kInt2, 2, true},
                               {DType::kUint2, 2, false}};

template <typename Formats>
auto find_format(const Formats& formats, DType dtype) {
  const auto* const found =
      std::ranges::find_if(formats, [&](const auto& format) { return format.dtype == dtype; });
  return found == std::end(formats) ? nullptr : found;
}

float value_of(const FloatFormat& format, int bits) {
  const int mantissa = bits & ((1 << format.mantissa_bits) - 1);
  const int max_exponent = (1 << format.exponent_bits) - 1;
  const int exponent = bits >> format.mantissa_bits & max_exponent;
  const bool is_negative = (bits >> (format.mantissa_bits + format.exponent_bits) & 1) != 0;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  float magnitude = 0;
  if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(mantissa), 1 - format.bias - format.mantissa_bits);
  else
    magnitude = std::ldexp(static_cast<float>(mantissa | 1 << format.mantissa_bits),
                           exponent - format.bias - format.mantissa_bits);
  if (format.special == Special::kAsInIeee754 && exponent == max_exponent)
    magnitude = mantissa == 0 ? std::numeric_limits<float>::infinity() : kNan;
  if (format.special == Special::kNanOfAllOnes && exponent == max_exponent &&
      mantissa == (1 << format.mantissa_bits) - 1)
    magnitude = kNan;
  if (format.special == Special::kNanOfMinusZero && is_negative && magnitude == 0) return kNan;
  return is_negative ? -magnitude : magnitude;
}

float value_of(const IntFormat& format, int bits) {
  const int end = 1 << format.bits;
  const int value = bits & (end - 1);
  return static_cast<float>(format.is_signed && value >= end / 2 ? value - end : value);
}

// Only an exponent: a scale of blocks of other numbers.
float scale_of(int bits) {
  constexpr int kNan = 0xff;
  return bits == kNan ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, bits - 127);
}

}  // namespace

bool is_small_number(DType dtype) {
  return dtype == DType::kFloat8E8m0fnu || find_format(kFloats, dtype) != nullptr ||
         find_format(kInts, dtype) != nullptr;
}

float small_number_to_float(DType dtype, uint8_t byte) {
  if (const FloatFormat* const format = find_format(kFloats, dtype)) return value_of(*format, byte);
  if (const IntFormat* const format = find_format(kInts, dtype)) return value_of(*format, byte);
  return scale_of(byte);
}

}  // namespace crochet::inline v0::internal
