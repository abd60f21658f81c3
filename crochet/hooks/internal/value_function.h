// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/internal/export.h"
#include "crochet/hooks/internal/from_tensor.h"
#include "crochet/session/fetches.h"

namespace crochet::inline v0::internal {

// Outputs or names, one or many: "loss", or {"loss", accuracy}.
class CROCHET_EXPORT ValueList {
 public:
  ValueList() = default;
  ValueList(const char* name) : values_{name} {}
  ValueList(std::string name) : values_{std::move(name)} {}
  ValueList(Output output) : values_{output} {}
  ValueList(std::initializer_list<Fetches> values) : values_(values) {}
  ValueList(const std::vector<std::string>& names) : values_(names.begin(), names.end()) {}

  size_t size() const { return values_.size(); }
  const Fetches::List& fetches() const { return values_; }

 private:
  Fetches::List values_;
};

// The parameters of a callable, without const and references. A generic lambda has none.
template <typename Callable>
struct ParametersOf : ParametersOf<decltype(&Callable::operator())> {};
template <typename Result, typename... Parameters>
struct ParametersOf<Result (*)(Parameters...)> {
  using Types = std::tuple<std::remove_cvref_t<Parameters>...>;
};
template <typename Result, typename Class, typename... Parameters>
struct ParametersOf<Result (Class::*)(Parameters...)> : ParametersOf<Result (*)(Parameters...)> {};
template <typename Result, typename Class, typename... Parameters>
struct ParametersOf<Result (Class::*)(Parameters...) const>
    : ParametersOf<Result (*)(Parameters...)> {};

template <typename T>
bool can_take(const Tensor& tensor) {
  return tensor.is_set() || kIsOptional<T> || std::is_same_v<T, Tensor>;
}

// from_tensor, with the name of the value in errors.
template <typename T>
T converted(const std::string& name, const Tensor& tensor) {
  try {
    return from_tensor<T>(tensor);
  } catch (const InvalidArgumentError& error) {
    throw InvalidArgumentError("the value \"" + name + "\": " + error.what());
  }
}

// Turns a callable that takes Leading... and then values into one that takes Leading... and then
// tensors. The result does nothing while a value is unset that the callable cannot take unset.
template <typename Callable, typename... Leading>
std::function<void(Leading..., const FetchValues&)> value_function(Callable callable,
                                                                   const ValueList& values) {
  using Types = typename ParametersOf<Callable>::Types;
  constexpr size_t kLeading = sizeof...(Leading);
  static_assert(std::tuple_size_v<Types> >= kLeading, "the first parameter must be the step");
  constexpr size_t kCount = std::tuple_size_v<Types> - kLeading;
  if (kCount != values.size())
    throw InvalidArgumentError("a function that takes " + std::to_string(kCount) +
                               " values was given " + std::to_string(values.size()));
  std::vector<std::string> names;
  for (const Fetches& value : values.fetches())
    names.push_back(value.as_name() ? *value.as_name() : to_string(*value.as_output()));
  return [callable = std::move(callable), names = std::move(names)](
             Leading... leading, const FetchValues& tensors) mutable {
    [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
      if ((can_take<std::tuple_element_t<kLeading + kIndex, Types>>(tensors[kIndex].tensor()) &&
           ...))
        callable(leading..., converted<std::tuple_element_t<kLeading + kIndex, Types>>(
                                 names[kIndex], tensors[kIndex].tensor())...);
    }
    (std::make_index_sequence<kCount>());
  };
}

}  // namespace crochet::inline v0::internal
