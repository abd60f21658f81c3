// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tracks std::mdspan and what has its members, such as the reference implementation of Kokkos
// (https://github.com/kokkos/mdspan): the elements are saved and restored where they are. They must
// be one piece of memory, with the last index the fastest, as in layout_right, or the first, as in
// layout_left. Of the latter, a checkpoint has a matrix as (row, column), and an array of more
// dimensions as it lies in memory, with the dimensions in the opposite order. Source: ISO C++23,
// [mdspan.mdspan].

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/copies/borrowed_array.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {

namespace internal {

template <typename T>
concept Mdspan = requires(const T& span) {
  typename T::extents_type;
  typename T::layout_type;
  typename T::accessor_type;
  span.data_handle();
  requires std::same_as<typename T::data_handle_type, typename T::element_type*>;
  span.mapping().required_span_size();
  T::rank();
};

template <Mdspan T>
inline constexpr bool kIsView<T> = true;

// The strides of one piece of memory whose last index is the fastest, or the first.
template <typename T>
bool is_dense(const T& span, bool is_last_fastest) {
  size_t stride = 1;
  for (size_t i = 0; i < T::rank(); ++i) {
    const size_t r = is_last_fastest ? T::rank() - 1 - i : i;
    if (span.extent(r) != 1 && static_cast<size_t>(span.mapping().stride(r)) != stride)
      return false;
    stride *= static_cast<size_t>(span.extent(r));
  }
  return true;
}

}  // namespace internal

// Throws: InvalidArgumentError for elements that are not one piece of memory in order.
template <internal::Mdspan T>
requires(!std::is_const_v<typename T::element_type>) BorrowedArray
    borrow_array(Tracker&, const T& span) {
  std::vector<int64_t> sizes;
  size_t count = 1;
  for (size_t r = 0; r < T::rank(); ++r) {
    sizes.push_back(static_cast<int64_t>(span.extent(r)));
    count *= static_cast<size_t>(span.extent(r));
  }
  MemoryOrder order = MemoryOrder::kRowMajor;
  if (count > 0 && !internal::is_dense(span, /*is_last_fastest=*/true)) {
    if (!internal::is_dense(span, /*is_last_fastest=*/false))
      throw InvalidArgumentError(
          "an mdspan is tracked whose elements are not one piece of memory, in the order of the "
          "last index or of the first; track a copy of them");
    if (T::rank() == 2)
      order = MemoryOrder::kColumnMajor;
    else
      sizes = {sizes.rbegin(), sizes.rend()};
  }
  const ArrayView view{.dtype = dtype_of<typename T::element_type>,
                       .shape = Shape(std::move(sizes)),
                       .data = reinterpret_cast<std::byte*>(span.data_handle()),
                       .order = order};
  return {.view = [view] { return view; }};
}

}  // namespace crochet::inline v0
