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
#include <type_traits>
#include <utility>

#include "crochet/copies/borrowed_array.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tracking/internal/strided_view.h"
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

}  // namespace internal

// Throws: InvalidArgumentError for elements that are not one piece of memory in order.
template <internal::Mdspan T>
requires(!std::is_const_v<typename T::element_type>) BorrowedArray
    borrow_array(Tracker&, const T& span) {
  internal::Strided elements{.dtype = dtype_of<typename T::element_type>,
                             .data = span.data_handle()};
  for (size_t r = 0; r < T::rank(); ++r) {
    elements.sizes.push_back(static_cast<int64_t>(span.extent(r)));
    elements.strides.push_back(static_cast<int64_t>(span.mapping().stride(r)));
  }
  const ArrayView view = internal::view_of_strided(std::move(elements), "an mdspan");
  return {.view = [view] { return view; }};
}

}  // namespace crochet::inline v0
