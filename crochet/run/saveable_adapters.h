// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <locale>
#include <random>
#include <ranges>
#include <sstream>
#include <vector>

#include "crochet/run/generator_state.h"
#include "crochet/session/saveable.h"

namespace crochet::internal {

// Adapters that make values of a program Saveable. Each keeps a
// reference. Requires: the value outlives it.

template <typename T>
concept SavesItself = requires(T& value, const T& constant, const TensorMap& state) {
  { constant.save() } -> std::convertible_to<TensorMap>;
  value.restore(state);
};

template <typename T>
concept RandomGenerator = std::uniform_random_bit_generator<T> &&
    requires(T& value, std::istream& in, std::ostream& out) {
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
class SaveableTensor final : public Saveable {
 public:
  explicit SaveableTensor(Tensor& value) : value_(value) {}
  TensorMap save() const override;
  void restore(const TensorMap& state) override;

 private:
  Tensor& value_;
};

// The stored vector of `dtype`. Throws: InvalidArgumentError for any other state.
const Tensor& single_vector(const TensorMap& state, DType dtype);

// Parses the numbers of a generator's state as the standard has every engine write
// them: decimals separated by spaces. Stored as uint64 [n].
Tensor parse_generator_state(const std::string& text);
// The inverse.
std::string print_generator_state(std::span<const uint64_t> numbers);

template <RandomGenerator T>
class SaveableGenerator final : public Saveable {
 public:
  explicit SaveableGenerator(T& value) : value_(value) {}

  TensorMap save() const override { return {{"", state_of(value_)}}; }

  void restore(const TensorMap& state) override {
    const Tensor& stored = single_vector(state, DType::kUint64);
    check_generator_state<T>(stored.flat<uint64_t>());
    std::istringstream text(print_generator_state(stored.flat<uint64_t>()));
    text.imbue(std::locale::classic());
    T restored = value_;
    // It must have read all of the numbers, unchanged.
    if (!(text >> restored) || state_of(restored) != stored) throw_bad_generator_state();
    value_ = restored;
  }

 private:
  static Tensor state_of(const T& value) {
    std::ostringstream text;
    text.imbue(std::locale::classic());
    text << value;
    return parse_generator_state(text.str());
  }

  T& value_;
};

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
  using Number = std::ranges::range_value_t<T>;

  explicit SaveableContainer(T& value) : value_(value) {}

  TensorMap save() const override {
    Tensor copy(dtype_of<Number>, {static_cast<int64_t>(std::ranges::distance(value_))});
    std::ranges::copy(value_, copy.mutable_flat<Number>().begin());
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

}  // namespace crochet::internal
