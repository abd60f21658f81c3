// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Tracks xtensor's xarray, xtensor and xtensor_fixed in place, if they are row-major, as they are
// by default. As with Eigen's matrices, a shape stays what it is when the loop begins, but that
// of one without elements, and of an xarray without a shape: it is that of the checkpoint. Source:
// xtensor 0.24, https://xtensor.readthedocs.io.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <xtensor/xarray.hpp>
#include <xtensor/xfixed.hpp>
#include <xtensor/xtensor.hpp>

#include "crochet/copies/borrowed_array.h"
#include "crochet/session/parted_saveable.h"
#include "crochet/tensor/tensor.h"
#include "crochet/tracking/tracker.h"

namespace crochet::inline v0 {

namespace internal {

template <typename Array>
void resize_xtensor(Array& array, const Shape& shape) {
  const auto sizes = shape.dimensions();
  array.resize(std::vector<size_t>(sizes.begin(), sizes.end()));
}

template <typename Array>
BorrowedArray borrow_xtensor(Tracker& tracker, Array& array) {
  static_assert(Array::static_layout == xt::layout_type::row_major,
                "crochet tracks xtensor's arrays that are row-major");
  BorrowedArray borrowed{.view = [&array] {
    return ArrayView{
        .dtype = dtype_of<typename Array::value_type>,
        .shape = Shape(std::vector<int64_t>(array.shape().begin(), array.shape().end())),
        .data = reinterpret_cast<std::byte*>(array.data())};
  }};
  if constexpr (requires(std::vector<size_t> sizes) { array.resize(sizes); })
    if (tracker.may_resize(array.size()))
      borrowed.resize = [&array](const Shape& shape) { resize_xtensor(array, shape); };
  return borrowed;
}

// One by default is a scalar.
template <typename Array>
bool is_unset(const Array& array) {
  return array.size() == 0 || array.dimension() == 0;
}

}  // namespace internal

// An array without a shape takes that of the checkpoint, of any rank.
template <typename EC, xt::layout_type kLayout, typename SC, typename Tag>
void track(Tracker& tracker, xt::xarray_container<EC, kLayout, SC, Tag>& array) {
  const auto list = [&array](Tracker& here) {
    here.add_array("", internal::borrow_xtensor(here, array));
  };
  if (tracker.has_rows() || (tracker.is_direct() && !internal::is_unset(array)))
    return list(tracker);
  tracker.add_provider(Tracker::PartsProvider{
      .list = list,
      .plan = [&array](const StoredParts& stored) -> std::vector<StatePart> {
        const StoredParts::Part* const found = stored.find("");
        const Shape own(std::vector<int64_t>(array.shape().begin(), array.shape().end()));
        return {{.key = "",
                 .dtype = dtype_of<typename EC::value_type>,
                 .shape = found != nullptr && internal::is_unset(array) ? found->shape : own}};
      },
      .make =
          [&array](const StoredParts& stored, const StoredParts&) {
            if (internal::is_unset(array)) internal::resize_xtensor(array, stored.find("")->shape);
          }});
}

template <typename EC, size_t kRank, xt::layout_type kLayout, typename Tag>
BorrowedArray borrow_array(Tracker& tracker,
                           xt::xtensor_container<EC, kRank, kLayout, Tag>& array) {
  return internal::borrow_xtensor(tracker, array);
}
template <typename ET, typename S, xt::layout_type kLayout, bool kShares, typename Tag>
BorrowedArray borrow_array(Tracker& tracker,
                           xt::xfixed_container<ET, S, kLayout, kShares, Tag>& array) {
  return internal::borrow_xtensor(tracker, array);
}

}  // namespace crochet::inline v0
