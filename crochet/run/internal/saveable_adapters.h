// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <span>
#include <utility>

#include "crochet/base/export.h"
#include "crochet/run/internal/generator_state.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0::internal {

// Adapters that make values of a program Saveable. Each keeps a
// reference. Requires: the value outlives it.

template <typename T>
concept SavesItself = requires(T& value, const T& constant, const TensorMap& state) {
  { constant.save() } -> std::convertible_to<TensorMap>;
  value.restore(state);
};

template <typename T>
concept RandomGenerator = requires(T& value, std::istream& in, std::ostream& out) {
  { value() } -> std::unsigned_integral;
  T::min();
  T::max();
  in >> value;
  out << value;
};

// A tensor, whose shape may change between saves but not its element type.
CROCHET_EXPORT std::shared_ptr<Saveable> saveable_tensor(Tensor& value);

// The stored vector of `dtype`. Throws: InvalidArgumentError for any other state.
CROCHET_EXPORT const Tensor& single_vector(const TensorMap& state, DType dtype);

// What a generator writes, as uint64 [n]: the standard has every engine write its state as decimals
// separated by spaces.
CROCHET_EXPORT Tensor written_state(const std::function<void(std::ostream&)>& write);
// Has a generator read these numbers in that form. False if it could not.
CROCHET_EXPORT bool read_state(std::span<const uint64_t> numbers,
                               const std::function<void(std::istream&)>& read);

template <RandomGenerator T>
std::shared_ptr<Saveable> saveable_generator(T& value) {
  const auto state_of = [](const T& generator) {
    return written_state([&](std::ostream& out) { out << generator; });
  };
  const auto restore = [&value, state_of](const TensorMap& state) {
    const Tensor& stored = single_vector(state, DType::kUint64);
    check_generator_state<T>(stored.flat<uint64_t>());
    T restored = value;
    const auto read = [&](std::istream& in) { in >> restored; };
    // It must have read all of the numbers, unchanged.
    if (!read_state(stored.flat<uint64_t>(), read) || state_of(restored) != stored)
      throw_bad_generator_state();
    value = restored;
  };
  return make_saveable([&value, state_of] { return TensorMap{{"", state_of(value)}}; }, restore);
}

// The type of a container's elements.
template <typename T>
using ElementOf = std::iter_value_t<decltype(std::begin(std::declval<T&>()))>;

template <typename T>
concept AssignableSequence = requires(T& value) {
  value.assign(value.begin(), value.end());
};

template <typename T>
concept InsertableSet = requires(T& value) {
  value.clear();
  value.insert(value.begin(), value.end());
};

// Numbers that are not contiguous in memory: std::deque, std::list, std::vector<bool>, std::set.
template <typename T>
std::shared_ptr<Saveable> saveable_container(T& value) {
  using Number = ElementOf<T>;
  const auto save = [&value] {
    Tensor copy(dtype_of<Number>, {std::distance(std::begin(value), std::end(value))});
    auto next = copy.mutable_flat<Number>().begin();
    for (const Number number : value) *next++ = number;
    return TensorMap{{"", std::move(copy)}};
  };
  const auto restore = [&value](const TensorMap& state) {
    const auto numbers = single_vector(state, dtype_of<Number>).template flat<Number>();
    if constexpr (AssignableSequence<T>) {
      value.assign(numbers.begin(), numbers.end());
    } else {
      value.clear();
      value.insert(numbers.begin(), numbers.end());
    }
  };
  return make_saveable(save, restore);
}

}  // namespace crochet::inline v0::internal
