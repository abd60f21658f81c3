// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "crochet/base/export.h"
#include "crochet/engines/tensorflow/function.h"
#include "crochet/tensor/tensor.h"

namespace crochet::inline v0::tensorflow {

// The C++ types of the elements of list attributes.
template <typename T>
concept AttributeElement =
    std::is_arithmetic_v<T> || std::same_as<T, DType> || std::same_as<T, Shape> ||
    std::same_as<T, Tensor> || std::same_as<T, Function> || std::is_convertible_v<T, std::string>;

// The value of an operation's attribute: a number, a string, a type, a shape, a tensor, a function,
// or a list of one of them.
//
//   {{"transpose_a", true}, {"T", DType::kFloat}, {"shape", Shape{-1, 64}}, {"strides", {1, 2}}}
//
// TensorFlow defines the attributes of an operation and their types: an int is not converted to
// a float.
class CROCHET_EXPORT Attribute {
 public:
  // Unset: a shape of unknown rank.
  using PartialShape = std::optional<Shape>;
  using Value = std::variant<int64_t, float, bool, std::string, DType, PartialShape, Tensor,
                             Function, std::vector<int64_t>, std::vector<float>, std::vector<bool>,
                             std::vector<std::string>, std::vector<DType>,
                             std::vector<PartialShape>, std::vector<Tensor>, std::vector<Function>>;

  // For numbers: integers become int, others float.
  template <typename T>
  requires(std::is_arithmetic_v<T>) Attribute(T value) : value_(static_cast<Stored<T>>(value)) {}
  Attribute(std::string value) : value_(std::move(value)) {}
  Attribute(const char* value) : value_(std::string(value)) {}
  Attribute(DType value) : value_(value) {}
  Attribute(Shape value) : value_(PartialShape(std::move(value))) {}
  Attribute(PartialShape value) : value_(std::move(value)) {}
  Attribute(Tensor value) : value_(std::move(value)) {}
  Attribute(Function value) : value_(std::move(value)) {}

  // For lists.
  template <AttributeElement T>
  Attribute(const std::vector<T>& values)
      : value_(std::vector<Stored<T>>(values.begin(), values.end())) {}
  Attribute(std::vector<PartialShape> values) : value_(std::move(values)) {}
  template <AttributeElement T>
  Attribute(std::initializer_list<T> values) : Attribute(std::vector<T>(values)) {}

  const Value& value() const { return value_; }

 private:
  template <typename T>
  using Stored = std::conditional_t<
      std::same_as<T, bool>, bool,
      std::conditional_t<
          std::is_integral_v<T>, int64_t,
          std::conditional_t<
              std::is_floating_point_v<T>, float,
              std::conditional_t<
                  std::same_as<T, Shape>, PartialShape,
                  std::conditional_t<std::is_convertible_v<T, std::string>, std::string, T>>>>>;

  Value value_;
};

using Attributes = std::map<std::string, Attribute>;

}  // namespace crochet::inline v0::tensorflow
