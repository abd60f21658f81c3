// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/internal/immortal.h"
#include "crochet/engines/local/operation_options.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::local {

// How a parameter of type P of a user's callable is made from a tensor.
// Supported parameters:
//
//   const Tensor&, Tensor     any value, even an unset one
//   float, const float&       the value of a tensor of one element; any arithmetic or complex type
//   std::span<const float>    the elements in row-major order, whatever the shape
//   std::span<const float, 3> the same for exactly three elements
//   float&, std::span<float>  the same for writing, with update() and replace()
//
// Spans and references are valid during the call: a callable must not keep them.
//
// <crochet/eigen.h> adds matrices and vectors. Specialise it for your own types, as below.
// get() is only called with tensors that spec() admits; admits() is optional: a faster
// check with the same result.
template <typename P>
struct Parameter {
  static_assert(!std::is_same_v<P, P>,
                "an operation's callable cannot have a parameter of this type: take const "
                "crochet::Tensor&, a std::span<const T>, an arithmetic type, or, with "
                "<crochet/eigen.h>, a ConstMatrix or ConstVector<T>; to change a variable, a "
                "std::span<T>, T&, Matrix or Vector<T> by value");
};

// A temporary view binds to a reference as well.
template <typename P>
struct Parameter<const P&> : Parameter<P> {};

template <>
struct Parameter<const Tensor&> {
  static constexpr bool kWrites = false;
  static TensorSpec spec() { return {}; }
  static bool admits(const Tensor&) { return true; }
  static const Tensor& get(const Tensor& tensor) { return tensor; }
};

template <>
struct Parameter<Tensor> : Parameter<const Tensor&> {};

// A parameter that is one number.
template <Element T>
struct NumberParameter {
  static TensorSpec spec() { return {.dtype = dtype_of<T>, .num_elements = 1}; }
  static bool admits(const Tensor& tensor) {
    return tensor.dtype() == dtype_of<T> &&
           (tensor.shape().rank() == 0 || tensor.num_elements() == 1);
  }
};

template <Element T>
struct Parameter<T> : NumberParameter<T> {
  static constexpr bool kWrites = false;
  static T get(const Tensor& tensor) { return tensor.single<T>(); }
};

template <Element T>
requires(!std::is_const_v<T>) struct Parameter<T&> : NumberParameter<T> {
  static constexpr bool kWrites = true;
  static T& get(Tensor& tensor) { return tensor.mutable_single<T>(); }
};

template <typename T, size_t kExtent>
requires Element<std::remove_const_t<T>>
struct Parameter<std::span<T, kExtent>> {
  using Number = std::remove_const_t<T>;
  static constexpr bool kWrites = !std::is_const_v<T>;

  static TensorSpec spec() {
    TensorSpec spec{.dtype = dtype_of<Number>};
    if (kExtent != std::dynamic_extent) spec.num_elements = static_cast<int64_t>(kExtent);
    return spec;
  }
  static std::span<T, kExtent> get(Tensor& tensor) {
    if constexpr (kWrites) {
      return std::span<T, kExtent>(tensor.writable_flat<Number>());
    } else {
      return std::span<T, kExtent>(std::as_const(tensor).template flat<Number>());
    }
  }
};

template <typename P>
bool admits(const Tensor& tensor) {
  if constexpr (requires { Parameter<P>::admits(tensor); }) {
    return Parameter<P>::admits(tensor);
  } else {
    static crochet::internal::Immortal<const TensorSpec> spec(Parameter<P>::spec());
    return spec->admits(tensor);
  }
}

// A parameter as the non-template code sees it.
struct ParameterInfo {
  TensorSpec spec;
  bool writes = false;
};

template <typename P>
ParameterInfo parameter_info() {
  return {.spec = Parameter<P>::spec(), .writes = Parameter<P>::kWrites};
}

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
