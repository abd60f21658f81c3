// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "crochet/base/internal/export.h"

namespace crochet::inline v0 {

// TensorFlow's element types, with its numbers (DataType in types.proto), and, from 1000 on, those
// that only safetensors and torch have.
//
// An element of the small types (float8, float6, float4, int4 and so on) is one byte in memory, as
// in TensorFlow and NumPy; its low bits are the number.
enum class DType : int32_t {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kComplex64 = 8,
  kInt64 = 9,
  kBool = 10,
  kQint8 = 11,
  kQuint8 = 12,
  kQint32 = 13,
  kBfloat16 = 14,
  kQint16 = 15,
  kQuint16 = 16,
  kUint16 = 17,
  kComplex128 = 18,
  kHalf = 19,
  kResource = 20,
  kVariant = 21,
  kUint32 = 22,
  kUint64 = 23,
  kFloat8E5m2 = 24,
  kFloat8E4m3fn = 25,
  kFloat8E4m3fnuz = 26,
  kFloat8E4m3b11fnuz = 27,
  kFloat8E5m2fnuz = 28,
  kInt4 = 29,
  kUint4 = 30,
  kInt2 = 31,
  kUint2 = 32,
  kFloat4E2m1fn = 33,
  kFloat8E8m0fnu = 1000,
  kFloat6E2m3fn = 1001,
  kFloat6E3m2fn = 1002,
};

// Bytes of one element; 0 for types without a fixed size (string, resource,
// variant) and for kInvalid.
CROCHET_EXPORT size_t element_size(DType dtype);
// TensorFlow's name, which is NumPy's: "float32", "int64".
CROCHET_EXPORT const char* dtype_name(DType dtype);
// True for the numbers of TensorFlow's types, 1 to 33.
CROCHET_EXPORT bool is_valid_dtype(int32_t number);

// The DType of a C++ type: dtype_of<float> is DType::kFloat. Not defined for
// types without a DType.
template <typename T>
struct DTypeOf {};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kFloat;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kDouble;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::kBool;
};
template <>
struct DTypeOf<std::byte> {
  static constexpr DType value = DType::kUint8;
};

// Integers map by size and signedness, so `long` and `long long` are both int64.
template <typename T>
requires(std::is_integral_v<T>) struct DTypeOf<T> {
  static constexpr DType value = std::is_signed_v<T> ? (sizeof(T) == 1   ? DType::kInt8
                                                        : sizeof(T) == 2 ? DType::kInt16
                                                        : sizeof(T) == 4 ? DType::kInt32
                                                                         : DType::kInt64)
                                                     : (sizeof(T) == 1   ? DType::kUint8
                                                        : sizeof(T) == 2 ? DType::kUint16
                                                        : sizeof(T) == 4 ? DType::kUint32
                                                                         : DType::kUint64);
};

namespace internal {

// std::complex<float> and std::complex<double>, recognised by their members, since <complex>
// includes the streams.
template <typename T>
concept Complex = requires(const T& z) {
  typename T::value_type;
  requires std::is_same_v<decltype(z.real()), typename T::value_type>;
  requires std::is_same_v<decltype(z.imag()), typename T::value_type>;
  requires std::is_same_v<typename T::value_type, float> ||
      std::is_same_v<typename T::value_type, double>;
  requires sizeof(T) == 2 * sizeof(typename T::value_type);
};

}  // namespace internal

template <internal::Complex T>
struct DTypeOf<T> {
  static constexpr DType value = sizeof(T) == 8 ? DType::kComplex64 : DType::kComplex128;
};

template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// A type that can be an element of a tensor.
template <typename T>
concept Element = requires {
  DTypeOf<T>::value;
};

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
