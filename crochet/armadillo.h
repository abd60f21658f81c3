// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tracks Armadillo's dense matrices, vectors and cubes in place. In checkpoints a matrix is as in
// Python, (row, column), and a cube (slice, column, row), which is how it lies in memory. As with
// Eigen's, a size stays what it is when the loop begins, but that of an empty one, which is that
// of the checkpoint. Source: Armadillo 11.4, https://arma.sourceforge.net/docs.html.

#include <armadillo>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "crochet/copies/borrowed_array.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {

namespace internal {

template <typename Array>
BorrowedArray borrow_armadillo(Tracker& tracker, Array& array, MemoryOrder order,
                               const std::function<Shape()>& shape,
                               const std::function<void(const Shape&)>& resize) {
  BorrowedArray borrowed{.view = [&array, order, shape] {
    return ArrayView{.dtype = dtype_of<typename Array::elem_type>,
                     .shape = shape(),
                     .data = reinterpret_cast<std::byte*>(array.memptr()),
                     .order = order};
  }};
  if (tracker.may_resize(array.n_elem)) borrowed.resize = resize;
  return borrowed;
}

template <typename Vector>
BorrowedArray borrow_armadillo_vector(Tracker& tracker, Vector& vector) {
  return borrow_armadillo(
      tracker, vector, MemoryOrder::kRowMajor,
      [&vector] { return Shape{static_cast<int64_t>(vector.n_elem)}; },
      [&vector](const Shape& shape) { vector.set_size(static_cast<arma::uword>(shape[0])); });
}

}  // namespace internal

template <typename E>
BorrowedArray borrow_array(Tracker& tracker, arma::Col<E>& vector) {
  return internal::borrow_armadillo_vector(tracker, vector);
}
template <typename E>
BorrowedArray borrow_array(Tracker& tracker, arma::Row<E>& vector) {
  return internal::borrow_armadillo_vector(tracker, vector);
}
template <typename E>
BorrowedArray borrow_array(Tracker& tracker, arma::Mat<E>& matrix) {
  return internal::borrow_armadillo(
      tracker, matrix, MemoryOrder::kColumnMajor,
      [&matrix] {
        return Shape{static_cast<int64_t>(matrix.n_rows), static_cast<int64_t>(matrix.n_cols)};
      },
      [&matrix](const Shape& shape) {
        matrix.set_size(static_cast<arma::uword>(shape[0]), static_cast<arma::uword>(shape[1]));
      });
}
template <typename E>
BorrowedArray borrow_array(Tracker& tracker, arma::Cube<E>& cube) {
  return internal::borrow_armadillo(
      tracker, cube, MemoryOrder::kRowMajor,
      [&cube] {
        return Shape{static_cast<int64_t>(cube.n_slices), static_cast<int64_t>(cube.n_cols),
                     static_cast<int64_t>(cube.n_rows)};
      },
      [&cube](const Shape& shape) {
        cube.set_size(static_cast<arma::uword>(shape[2]), static_cast<arma::uword>(shape[1]),
                      static_cast<arma::uword>(shape[0]));
      });
}

}  // namespace crochet::inline v0
