// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tracks views of Kokkos in memory that the host can read. A view is followed: once it refers to
// other memory, as after a std::swap of two, that is saved. As with Eigen's matrices, sizes stay
// what they are when the loop begins, but those of a view without elements, which are those of the
// checkpoint. Layouts are as of <crochet/mdspan.h>. Of memory that only a device can read, track a
// mirror view (Kokkos::create_mirror_view), which the step copies from (Kokkos::deep_copy) before
// it ends, and which is copied back after Loop::start(). Source: Kokkos 3.4,
// https://kokkos.org/kokkos-core-wiki.

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "crochet/copies/borrowed_array.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tracking/internal/strided_view.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {

namespace internal {

// The type of elements that has the same bits.
template <typename E>
struct KokkosElement {
  using type = E;
};
template <typename E>
struct KokkosElement<Kokkos::complex<E>> {
  using type = std::complex<E>;
};

// Sizes or strides in the order in which a checkpoint has the dimensions: that of memory, if there
// are more than two.
template <typename View>
std::vector<int64_t> in_stored_order(std::vector<int64_t> values) {
  constexpr bool kIsLeft = std::is_same_v<typename View::array_layout, Kokkos::LayoutLeft>;
  if (kIsLeft && values.size() > 2) return {values.rbegin(), values.rend()};
  return values;
}

// The sizes that the type fixes; kUnknownDimension for the others.
template <typename View>
std::vector<int64_t> kokkos_static_sizes() {
  std::vector<int64_t> sizes;
  for (size_t r = 0; r < static_cast<size_t>(View::rank); ++r)
    sizes.push_back(r < static_cast<size_t>(View::rank_dynamic)
                        ? Shape::kUnknownDimension
                        : static_cast<int64_t>(View::static_extent(static_cast<unsigned>(r))));
  return sizes;
}

}  // namespace internal

template <typename D, typename... P>
BorrowedArray borrow_array(Tracker& tracker, Kokkos::View<D, P...>& view) {
  using View = Kokkos::View<D, P...>;
  using Element = typename internal::KokkosElement<typename View::value_type>::type;
  static_assert(!std::is_const_v<typename View::value_type>,
                "crochet cannot track a view of const elements, as a restore changes them");
  static_assert(
      Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible,
      "crochet tracks views of memory that the host can read: track a mirror view");
  BorrowedArray borrowed{.view = [&view] {
    internal::Strided elements{.dtype = dtype_of<Element>, .data = view.data()};
    for (size_t r = 0; r < static_cast<size_t>(View::rank); ++r) {
      elements.sizes.push_back(static_cast<int64_t>(view.extent(r)));
      elements.strides.push_back(static_cast<int64_t>(view.stride(static_cast<unsigned>(r))));
    }
    elements.sizes = internal::in_stored_order<View>(std::move(elements.sizes));
    elements.strides = internal::in_stored_order<View>(std::move(elements.strides));
    return internal::view_of_strided(std::move(elements), "a Kokkos::View");
  }};
  if constexpr (static_cast<size_t>(View::rank_dynamic) > 0 &&
                !std::is_same_v<typename View::array_layout, Kokkos::LayoutStride>)
    if (tracker.may_resize(view.size())) {
      borrowed.sizes =
          Shape(internal::in_stored_order<View>(internal::kokkos_static_sizes<View>()));
      borrowed.resize = [&view](const Shape& shape) {
        const auto stored = shape.dimensions();
        const auto sizes = internal::in_stored_order<View>({stored.begin(), stored.end()});
        typename View::array_layout layout;
        for (size_t r = 0; r < sizes.size(); ++r)
          layout.dimension[r] = static_cast<size_t>(sizes[r]);
        view = View(view.label(), layout);
      };
    }
  return borrowed;
}

}  // namespace crochet::inline v0
