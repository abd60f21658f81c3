// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Teaches crochet Eigen's dense matrices, vectors and arrays: Loop::track saves and restores them
// where they lie, Loop::scalar and Loop::value take them as results. On disk they are row-major
// whatever their storage order: Python sees the same (row, column).

#include <Eigen/Core>

#include "crochet/engines/local/borrowed_array.h"
#include "crochet/run/to_tensor.h"
#include "crochet/run/tracker.h"

namespace crochet {

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

// The matrix keeps the sizes it has when it is tracked; its memory may move.
template <typename Derived>
local::BorrowedArray borrow_array(Tracker&, Eigen::PlainObjectBase<Derived>& matrix) {
  return {.view = [&matrix] {
    return local::ArrayView{.dtype = dtype_of<typename Derived::Scalar>,
                            .shape = internal::eigen_shape(matrix),
                            .data = reinterpret_cast<std::byte*>(matrix.derived().data()),
                            .order = Derived::IsRowMajor ? local::MemoryOrder::kRowMajor
                                                         : local::MemoryOrder::kColumnMajor};
  }};
}

// Any expression; it is evaluated once.
template <typename Derived>
Tensor array_to_tensor(ToTensorTag, const Eigen::DenseBase<Derived>& expression) {
  using Scalar = typename Derived::Scalar;
  Tensor tensor(dtype_of<Scalar>, internal::eigen_shape(expression));
  const auto matrix = expression.derived().eval();
  Scalar* const elements = tensor.mutable_flat<Scalar>().data();
  for (Eigen::Index row = 0; row < matrix.rows(); ++row)
    for (Eigen::Index column = 0; column < matrix.cols(); ++column)
      elements[row * matrix.cols() + column] = matrix(row, column);
  return tensor;
}

}  // namespace crochet
