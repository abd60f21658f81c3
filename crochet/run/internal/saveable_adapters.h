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

template <SavesItself T>
class SaveableObject final : public Saveable {
 public:
  explicit SaveableObject(T& value) : value_(value) {}
  TensorMap save() const override { return value_.save(); }
  void restore(const TensorMap& state) override { value_.restore(state); }

 private:
  T& value_;
};

// A tensor, whose shape may change between saves but not its element type.
class CROCHET_EXPORT SaveableTensor final : public Saveable {
 public:
  explicit SaveableTensor(Tensor& value) : value_(value) {}
  TensorMap save() const override;
  void restore(const TensorMap& state) override;

 private:
  Tensor& value_;
};

// The stored vector of `dtype`. Throws: InvalidArgumentError for any other state.
CROCHET_EXPORT const Tensor& single_vector(const TensorMap& state, DType dtype);

// What a generator writes, as uint64 [n]: the standard has every engine write its state as decimals
// separated by spaces.
CROCHET_EXPORT Tensor written_state(const std::function<void(std::ostream&)>& write);
// Has a generator read these numbers in that form. False if it could not.
CROCHET_EXPORT bool read_state(std::span<const uint64_t> numbers,
                               const std::function<void(std::istream&)>& read);

template <RandomGenerator T>
class SaveableGenerator final : public Saveable {
 public:
  explicit SaveableGenerator(T& value) : value_(value) {}

  TensorMap save() const override { return {{"", state_of(value_)}}; }

  void restore(const TensorMap& state) override {
    const Tensor& stored = single_vector(state, DType::kUint64);
    check_generator_state<T>(stored.flat<uint64_t>());
    T restored = value_;
    const auto read = [&](std::istream& in) { in >> restored; };
    // It must have read all of the numbers, unchanged.
    if (!read_state(stored.flat<uint64_t>(), read) || state_of(restored) != stored)
      throw_bad_generator_state();
    value_ = restored;
  }

 private:
  static Tensor state_of(const T& value) {
    return written_state([&](std::ostream& out) { out << value; });
  }

  T& value_;
};

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
class SaveableContainer final : public Saveable {
 public:
  using Number = ElementOf<T>;

  explicit SaveableContainer(T& value) : value_(value) {}

  TensorMap save() const override {
    Tensor copy(dtype_of<Number>, {std::distance(std::begin(value_), std::end(value_))});
    auto next = copy.mutable_flat<Number>().begin();
    for (const Number number : value_) *next++ = number;
    return {{"", std::move(copy)}};
  }

  void restore(const TensorMap& state) override {
    const auto numbers = single_vector(state, dtype_of<Number>).template flat<Number>();
    if constexpr (AssignableSequence<T>) {
      value_.assign(numbers.begin(), numbers.end());
    } else {
      value_.clear();
      value_.insert(numbers.begin(), numbers.end());
    }
  }

 private:
  T& value_;
};

}  // namespace crochet::inline v0::internal
