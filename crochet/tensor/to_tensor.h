// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/tensor/internal/value_traits.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0 {

// Adapters for array libraries define `Tensor array_to_tensor(ToTensorTag, const Array&)` in
// namespace crochet.
struct ToTensorTag {};

// Converts the result of a user's callable to a tensor: a number, a string, a std::vector of
// either, a Tensor, an Eigen matrix (with <crochet/eigen.h>), or a std::optional of one of these;
// an empty optional gives an unset tensor.
template <typename T>
Tensor to_tensor(T&& value) {
  using Value = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Value, Tensor>) {
    return std::forward<T>(value);
  } else if constexpr (internal::kIsOptional<Value>) {
    return value ? to_tensor(*std::forward<T>(value)) : Tensor();
  } else if constexpr (Element<Value>) {
    return Tensor::scalar(value);
  } else if constexpr (std::is_convertible_v<Value, std::string>) {
    return Tensor::scalar(std::string(std::forward<T>(value)));
  } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
    return Tensor::from(std::forward<T>(value));
  } else if constexpr (internal::kIsVectorOfNumbers<Value>) {
    return Tensor::from(value);
  } else if constexpr (requires { array_to_tensor(ToTensorTag{}, value); }) {
    return array_to_tensor(ToTensorTag{}, value);
  } else {
    static_assert(
        !sizeof(Value*),
        "crochet cannot make a tensor of this type: return a number, a string, a "
        "std::vector of one, a crochet::Tensor, or a std::optional of one; for Eigen's matrices "
        "include <crochet/eigen.h>");
  }
}

}  // namespace crochet::inline v0
