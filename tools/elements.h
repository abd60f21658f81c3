// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "crochet/tensor/tensor.h"
#include "tools/number.h"

namespace crochet::tool {

// A bool as stored in files: any byte, of which all but 0 are true.
struct Boolean {
  uint8_t byte = 0;
  bool value() const { return byte != 0; }
};

template <typename T>
inline constexpr bool is_complex = false;
template <typename T>
inline constexpr bool is_complex<std::complex<T>> = true;
template <typename T>
inline constexpr bool is_real =
    std::is_floating_point_v<T> || std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;

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
  switch (tensor.dtype()) {
    case DType::kFloat:
      return call(float{});
    case DType::kDouble:
      return call(double{});
    case DType::kHalf:
      return call(Half());
    case DType::kBfloat16:
      return call(Bfloat16());
    case DType::kInt8:
    case DType::kQint8:
      return call(int8_t{});
    case DType::kUint8:
    case DType::kQuint8:
      return call(uint8_t{});
    case DType::kInt16:
    case DType::kQint16:
      return call(int16_t{});
    case DType::kUint16:
    case DType::kQuint16:
      return call(uint16_t{});
    case DType::kInt32:
    case DType::kQint32:
      return call(int32_t{});
    case DType::kUint32:
      return call(uint32_t{});
    case DType::kInt64:
      return call(int64_t{});
    case DType::kUint64:
      return call(uint64_t{});
    case DType::kBool:
      return call(Boolean{});
    case DType::kComplex64:
      return call(std::complex<float>());
    case DType::kComplex128:
      return call(std::complex<double>());
    default:
      return false;
  }
}

// Converts an element to a printable value.
template <typename T>
Number number_of(const T& element) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return element.value();
  } else if constexpr (is_complex<T>) {
    return std::complex<double>(element);
  } else if constexpr (std::is_same_v<T, double>) {
    return element;
  } else if constexpr (is_real<T>) {
    return static_cast<float>(element);
  } else if constexpr (std::is_signed_v<T>) {
    return int64_t{element};
  } else {
    return uint64_t{element};
  }
}

}  // namespace crochet::tool
