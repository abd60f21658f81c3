// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "crochet/base/export.h"
#include "crochet/tensor/dtype.h"

namespace crochet::inline v0 {

// Conversions of the two-byte floating-point formats that C++20 has no types for.
CROCHET_EXPORT double bfloat16_to_double(uint16_t bits);
// IEEE 754's binary16.
CROCHET_EXPORT double half_to_double(uint16_t bits);

// The bits of the nearest number, ties to even; infinity beyond the largest. A NaN
// stays a NaN.
CROCHET_EXPORT uint16_t bfloat16_bits(float value);
CROCHET_EXPORT uint16_t half_bits(float value);

// IEEE 754's binary16 as an element of tensors: 11 significant bits, up to 65504.
// Compute with float: a Half converts to float implicitly and without loss; the
// conversion back is explicit, since it rounds.
//
//   std::vector<Half> halves(floats.begin(), floats.end());
class CROCHET_EXPORT Half {
 public:
  Half() = default;
  explicit Half(float value) : bits_(half_bits(value)) {}
  static constexpr Half from_bits(uint16_t bits) {
    Half half;
    half.bits_ = bits;
    return half;
  }

  operator float() const { return static_cast<float>(half_to_double(bits_)); }
  constexpr uint16_t bits() const { return bits_; }

 private:
  uint16_t bits_ = 0;
};

// The upper half of a float as an element of tensors: 8 significant bits, the range of a float.
class CROCHET_EXPORT Bfloat16 {
 public:
  Bfloat16() = default;
  explicit Bfloat16(float value) : bits_(bfloat16_bits(value)) {}
  static constexpr Bfloat16 from_bits(uint16_t bits) {
    Bfloat16 number;
    number.bits_ = bits;
    return number;
  }

  operator float() const { return static_cast<float>(bfloat16_to_double(bits_)); }
  constexpr uint16_t bits() const { return bits_; }

 private:
  uint16_t bits_ = 0;
};

template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::kHalf;
};
template <>
struct DTypeOf<Bfloat16> {
  static constexpr DType value = DType::kBfloat16;
};

}  // namespace crochet::inline v0
