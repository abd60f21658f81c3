// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "crochet/tensor/internal/small_number.h"
#include "crochet/tensor/internal/visit_type.h"
#include "crochet/tensor/tensor.h"
#include "tools/number.h"

namespace crochet::tool {

// A bool as stored in files: any byte, of which all but 0 are true.
struct Boolean {
  uint8_t byte = 0;
  bool value() const { return byte != 0; }
};

template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;
template <typename T>
inline constexpr bool kIsReal =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;
// Small integers are real numbers here, too.
template <DType kDType>
inline constexpr bool kIsReal<internal::SmallNumber<kDType>> = true;

// The integer type that a quantized type is stored as; others are unchanged.
inline DType unquantized(DType dtype) {
  constexpr std::pair<DType, DType> kTypes[] = {{DType::kQint8, DType::kInt8},
                                                {DType::kQuint8, DType::kUint8},
                                                {DType::kQint16, DType::kInt16},
                                                {DType::kQuint16, DType::kUint16},
                                                {DType::kQint32, DType::kInt32}};
  for (const auto& [quantized, plain] : kTypes)
    if (dtype == quantized) return plain;
  return dtype;
}

template <DType... kDTypes, typename Call>
bool visit_small(DType dtype, const Call& call) {
  return ((dtype == kDTypes && call(internal::SmallNumber<kDTypes>{})) || ...);
}

// Calls `visitor` with the elements of a tensor of numbers as a span of float, Half, int8_t,
// Boolean, std::complex<float> and so on; quantized types are integers. Returns false for strings
// and unset tensors.
template <typename Visitor>
bool visit_elements(const Tensor& tensor, Visitor visitor) {
  const auto call = [&](auto example) {
    using T = decltype(example);
    const auto bytes = tensor.bytes();
    visitor(std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)));
    return true;
  };
  if (tensor.dtype() == DType::kBool) return call(Boolean{});
  if (internal::is_small_number(tensor.dtype()))
    return visit_small<DType::kFloat8E5m2, DType::kFloat8E4m3fn, DType::kFloat8E4m3fnuz,
                       DType::kFloat8E4m3b11fnuz, DType::kFloat8E5m2fnuz, DType::kFloat8E8m0fnu,
                       DType::kFloat6E2m3fn, DType::kFloat6E3m2fn, DType::kFloat4E2m1fn,
                       DType::kInt4, DType::kUint4, DType::kInt2, DType::kUint2>(tensor.dtype(),
                                                                                 call);
  return internal::visit_type<float, double, Half, Bfloat16, int8_t, int16_t, int32_t, int64_t,
                              uint8_t, uint16_t, uint32_t, uint64_t, std::complex<float>,
                              std::complex<double>>(unquantized(tensor.dtype()), call);
}

// Converts an element to a printable value.
template <typename T>
Number number_of(const T& element) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return element.value();
  } else if constexpr (kIsComplex<T>) {
    return std::complex<double>(element);
  } else if constexpr (std::is_same_v<T, double>) {
    return element;
  } else if constexpr (kIsReal<T>) {
    return static_cast<float>(element);
  } else if constexpr (std::is_signed_v<T>) {
    return int64_t{element};
  } else {
    return uint64_t{element};
  }
}

}  // namespace crochet::tool
