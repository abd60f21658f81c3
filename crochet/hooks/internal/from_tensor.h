// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/tensor/internal/value_traits.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::internal {

// True if `number` is one of the values of the integer type T.
template <typename T>
bool fits(double number) {
  // The limits as powers of two: the largest int64 is not a double.
  constexpr double kEnd = 2.0 * static_cast<double>(T{1} << (std::numeric_limits<T>::digits - 1));
  return number >= (std::is_signed_v<T> ? -kEnd : 0.0) && number < kEnd &&
         number == static_cast<double>(static_cast<T>(number));
}

// The number in a tensor. Throws: InvalidArgumentError for a tensor that is not one real number:
// `<who>"<name>" is a tensor float32 [2], expected one real number`.
CROCHET_EXPORT double number_of(std::string_view who, std::string_view name, const Tensor& tensor);

// The value of a tensor as a T: a number, a std::vector of numbers, a Tensor, or a std::optional
// of one. An unset tensor becomes an empty optional. Numbers of another type than T are converted.
// Throws: InvalidArgumentError for a tensor that is not one number, or not a vector; for a number
// that an integer T does not represent exactly.
template <typename T>
T from_tensor(const Tensor& tensor) {
  if constexpr (std::is_same_v<T, Tensor>) {
    return tensor;
  } else if constexpr (kIsOptional<T>) {
    if (!tensor.is_set()) return std::nullopt;
    return from_tensor<typename T::value_type>(tensor);
  } else if constexpr (kIsVectorOfNumbers<T>) {
    if (tensor.shape().rank() != 1)
      throw InvalidArgumentError("a tensor " + describe(tensor) + " is not a vector");
    const auto values = tensor.flat<typename T::value_type>();
    return T(values.begin(), values.end());
  } else if constexpr (std::is_arithmetic_v<T>) {
    if (tensor.dtype() == dtype_of<T>) return tensor.scalar<T>();
    const double number = tensor.to_double();
    if constexpr (std::is_integral_v<T>)
      if (!fits<T>(number))
        throw InvalidArgumentError("a tensor " + describe(tensor) + " is not of type " +
                                   dtype_name(dtype_of<T>));
    return static_cast<T>(number);
  } else {
    static_assert(!sizeof(T*),
                  "crochet cannot convert a tensor to this type: take a number, a std::vector of "
                  "numbers, a crochet::Tensor, or a std::optional of one");
  }
}

}  // namespace crochet::inline v0::internal
