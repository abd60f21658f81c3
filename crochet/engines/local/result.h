// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/engines/local/kernel_context.h"
#include "crochet/engines/local/tensor_spec.h"
#include "crochet/tensor/to_tensor.h"

namespace crochet::inline v0::local {

// The spec of to_tensor's result as far as the type determines it. Support for array libraries
// defines `local::TensorSpec array_spec(ToTensorTag, const Array*)` in crochet.
template <typename T>
TensorSpec result_spec() {
  if constexpr (crochet::internal::kIsOptional<T>) {
    return result_spec<typename T::value_type>();
  } else if constexpr (Element<T>) {
    return TensorSpec::of(dtype_of<T>, {});
  } else if constexpr (crochet::internal::kIsVectorOfNumbers<T>) {
    return TensorSpec::of(dtype_of<typename T::value_type>, {Shape::kUnknownDimension});
  } else if constexpr (requires { array_spec(ToTensorTag{}, static_cast<const T*>(nullptr)); }) {
    return array_spec(ToTensorTag{}, static_cast<const T*>(nullptr));
  } else {
    return {};
  }
}

// How a callable's result becomes outputs: one for a value (any type that to_tensor takes), one for
// each part of a tuple, none for void.
template <typename T>
struct Result {
  static std::vector<TensorSpec> specs() { return {result_spec<T>()}; }
  static void set(KernelContext& context, T value) {
    context.output(0) = to_tensor(std::move(value));
  }
};

template <>
struct Result<void> {
  static std::vector<TensorSpec> specs() { return {}; }
};

template <typename... T>
struct Result<std::tuple<T...>> {
  static std::vector<TensorSpec> specs() { return {result_spec<std::remove_cvref_t<T>>()...}; }
  static void set(KernelContext& context, std::tuple<T...> values) {
    size_t index = 0;
    std::apply(
        [&](auto&&... value) {
          ((context.output(index++) = to_tensor(std::forward<decltype(value)>(value))), ...);
        },
        std::move(values));
  }
};

template <typename T, typename U>
struct Result<std::pair<T, U>> : Result<std::tuple<T, U>> {};

}  // namespace crochet::inline v0::local
