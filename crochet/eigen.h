// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Adds support for Eigen's dense matrices, vectors and arrays: Loop::track saves and restores them
// in place; Loop::scalar, Loop::value and local::Graph::op accept them as results. On disk they
// are row-major whatever their storage order: Python sees the same (row, column).
//
// Operations of a local::Graph take maps onto tensors as parameters:
//
//   graph.op("scores", {x, w, b},
//            [](ConstMatrix x, ConstMatrix w, ConstVector<float> b) { return ...; });
//
// Results are evaluated after the callable returns: write `return (x * w).eval()` for an expression
// that refers to a local variable.

#include <concepts>

#include <Eigen/Core>

#include "crochet/copies/borrowed_array.h"
#include "crochet/engines/local/parameter.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {

// A tensor of two dimensions or one, to be read or (Matrix, Vector; in update() and replace())
// written.
template <typename T>
using RowMajorMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using ConstMatrixOf = Eigen::Map<const RowMajorMatrix<T>>;
template <typename T>
using MatrixOf = Eigen::Map<RowMajorMatrix<T>>;
template <typename T>
using ConstVector = Eigen::Map<const Eigen::Matrix<T, Eigen::Dynamic, 1>>;
template <typename T>
using Vector = Eigen::Map<Eigen::Matrix<T, Eigen::Dynamic, 1>>;
using ConstMatrix = ConstMatrixOf<float>;
using Matrix = MatrixOf<float>;

namespace internal {

// A vector has one dimension, a matrix two.
template <typename Derived>
Shape eigen_shape(const Eigen::DenseBase<Derived>& matrix) {
  if constexpr (Derived::IsVectorAtCompileTime) {
    return {static_cast<int64_t>(matrix.size())};
  } else {
    return {static_cast<int64_t>(matrix.rows()), static_cast<int64_t>(matrix.cols())};
  }
}

}  // namespace internal

namespace internal {

// The shape as far as Eigen's type fixes it.
template <typename Dense>
Shape eigen_static_shape() {
  const auto size = [](int at_compile_time) {
    return at_compile_time == Eigen::Dynamic ? Shape::kUnknownDimension
                                             : static_cast<int64_t>(at_compile_time);
  };
  if constexpr (Dense::IsVectorAtCompileTime) return {size(Dense::SizeAtCompileTime)};
  return {size(Dense::RowsAtCompileTime), size(Dense::ColsAtCompileTime)};
}

}  // namespace internal

// The element type of any expression, and its shape as far as its type fixes it.
template <typename Derived>
local::TensorSpec array_spec(ToTensorTag, const Eigen::DenseBase<Derived>*) {
  return local::TensorSpec::of(dtype_of<typename Derived::Scalar>,
                               crochet::internal::eigen_static_shape<Derived>());
}

// A map onto a tensor as a parameter of an operation's callable.
template <typename Dense, int kOptions>
struct local::Parameter<Eigen::Map<Dense, kOptions>> {
  using Map = Eigen::Map<Dense, kOptions>;
  using Scalar = typename Map::Scalar;
  static_assert(
      Dense::IsVectorAtCompileTime || Dense::IsRowMajor,
      "tensors are row-major: take a crochet::ConstMatrix or another map of an Eigen::RowMajor "
      "matrix");
  static constexpr bool kWrites = !std::is_const_v<Dense>;

  static TensorSpec spec() {
    return TensorSpec::of(dtype_of<Scalar>, crochet::internal::eigen_static_shape<Dense>());
  }

  static Map get(Tensor& tensor) {
    const auto elements = [&] {
      if constexpr (kWrites) {
        return tensor.writable_flat<Scalar>().data();
      } else {
        return std::as_const(tensor).flat<Scalar>().data();
      }
    }();
    const std::span<const int64_t> sizes = tensor.shape().dimensions();
    if constexpr (Dense::IsVectorAtCompileTime) {
      return Map(elements, static_cast<Eigen::Index>(sizes[0]));
    } else {
      return Map(elements, static_cast<Eigen::Index>(sizes[0]),
                 static_cast<Eigen::Index>(sizes[1]));
    }
  }
};

namespace internal {

template <typename Dense>
requires std::derived_from<Dense, Eigen::PlainObjectBase<Dense>>
inline constexpr bool kHasFixedShape<Dense> = Dense::SizeAtCompileTime != Eigen::Dynamic;

}  // namespace internal

// A matrix keeps the size it has when it is tracked, and its memory may move. One in a container,
// or tracked without elements, may change its size between saves; a restore only gives one without
// elements another size, and one with the rows of a rank.
template <typename Derived>
BorrowedArray borrow_array(Tracker& tracker, Eigen::PlainObjectBase<Derived>& matrix) {
  BorrowedArray array = {.view = [&matrix] {
    return ArrayView{
        .dtype = dtype_of<typename Derived::Scalar>,
        .shape = internal::eigen_shape(matrix),
        .data = reinterpret_cast<std::byte*>(matrix.derived().data()),
        .order = Derived::IsRowMajor ? MemoryOrder::kRowMajor : MemoryOrder::kColumnMajor};
  }};
  constexpr bool kHasAnyRows =
      (Derived::IsVectorAtCompileTime ? Derived::SizeAtCompileTime : Derived::RowsAtCompileTime) ==
      Eigen::Dynamic;
  if (tracker.may_resize(static_cast<size_t>(matrix.size())) &&
      (kHasAnyRows || !tracker.has_rows())) {
    array.sizes = crochet::internal::eigen_static_shape<Derived>();
    array.resize = [&matrix](const Shape& shape) {
      if constexpr (Derived::IsVectorAtCompileTime) {
        matrix.resize(shape[0]);
      } else {
        matrix.resize(shape[0], shape[1]);
      }
    };
  }
  return array;
}

// Converts any expression; it is evaluated once.
template <typename Derived>
Tensor array_to_tensor(ToTensorTag, const Eigen::DenseBase<Derived>& expression) {
  using Scalar = typename Derived::Scalar;
  Tensor tensor(dtype_of<Scalar>, internal::eigen_shape(expression));
  const auto matrix = expression.derived().eval();
  Scalar* const elements = tensor.writable_flat<Scalar>().data();
  for (Eigen::Index row = 0; row < matrix.rows(); ++row)
    for (Eigen::Index column = 0; column < matrix.cols(); ++column)
      elements[row * matrix.cols() + column] = matrix(row, column);
  return tensor;
}

}  // namespace crochet::inline v0
