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

namespace internal {

// A two-byte number as an element of tensors. Compute with float: it converts to float implicitly
// and without loss; the conversion back is explicit, since it rounds.
template <uint16_t (*kBitsOf)(float), double (*kToDouble)(uint16_t)>
class TwoByteFloat {
 public:
  TwoByteFloat() = default;
  explicit TwoByteFloat(float value) : bits_(kBitsOf(value)) {}
  static constexpr TwoByteFloat from_bits(uint16_t bits) {
    TwoByteFloat number;
    number.bits_ = bits;
    return number;
  }

  operator float() const { return static_cast<float>(kToDouble(bits_)); }
  constexpr uint16_t bits() const { return bits_; }

 private:
  uint16_t bits_ = 0;
};

}  // namespace internal

// IEEE 754's binary16: 11 significant bits, up to 65504.
//
//   std::vector<Half> halves(floats.begin(), floats.end());
using Half = internal::TwoByteFloat<half_bits, half_to_double>;
// The upper half of a float: 8 significant bits, the range of a float.
using Bfloat16 = internal::TwoByteFloat<bfloat16_bits, bfloat16_to_double>;

template <>
struct DTypeOf<Half> {
  static constexpr DType value = DType::kHalf;
};
template <>
struct DTypeOf<Bfloat16> {
  static constexpr DType value = DType::kBfloat16;
};

}  // namespace crochet::inline v0
