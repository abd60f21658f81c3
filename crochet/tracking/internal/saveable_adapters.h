// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/base/internal/export.h"
#include "crochet/session/internal/held_generators.h"
#include "crochet/session/saveable.h"
#include "crochet/tracking/internal/distribution_state.h"
#include "crochet/tracking/internal/generator_state.h"
#include "crochet/tracking/internal/type_shapes.h"

namespace crochet::inline v0::internal {

// Adapters that make values of a program Saveable. Each keeps a
// reference. Requires: the value outlives it.

template <typename T>
concept SavesItself = requires(T& value, const T& constant, const TensorMap& state) {
  { constant.save() } -> std::convertible_to<TensorMap>;
  value.restore(state);
};

// A tensor, whose shape may change between saves but not its element type. A restore keeps its
// memory, so that spans of it stay valid, unless the stored shape is another one or a copy of the
// tensor shares the memory; if a span for writing may exist, this is logged under `name`.
CROCHET_EXPORT std::shared_ptr<Saveable> saveable_tensor(Tensor& value, std::string name);

// The stored vector of `dtype`. Throws: InvalidArgumentError for any other state.
CROCHET_EXPORT const Tensor& single_vector(const TensorMap& state, DType dtype);

// The stored value under `key`. Throws: InvalidArgumentError if there is none, or if there are
// others and `key` is "".
CROCHET_EXPORT const Tensor& single_column(const TensorMap& state, std::string_view key);
// Throws: InvalidArgumentError unless the tensor is a vector of `dtype`, of `size` elements if set.
CROCHET_EXPORT void check_vector(const Tensor& tensor, DType dtype,
                                 std::optional<size_t> size = {});
// Throws: InvalidArgumentError for another number of values.
CROCHET_EXPORT void check_num_entries(const TensorMap& state, size_t expected);
[[noreturn]] CROCHET_EXPORT void throw_bad_map(size_t num_keys, size_t num_values);

// What a generator writes, as uint64 [n]: the standard has every engine write its state as decimals
// separated by spaces.
CROCHET_EXPORT Tensor written_state(const std::function<void(std::ostream&)>& write);
// Has a generator read these numbers in that form. False if it could not.
CROCHET_EXPORT bool read_state(std::span<const uint64_t> numbers,
                               const std::function<void(std::istream&)>& read);

template <RandomGenerator T>
Tensor state_of(const T& generator) {
  return written_state([&](std::ostream& out) { out << generator; });
}

// A generator in this state. Throws: InvalidArgumentError if none of this type writes it.
template <RandomGenerator T>
T generator_in(T generator, const Tensor& state) {
  const auto numbers = state.flat<uint64_t>();
  check_generator_state<T>(numbers);
  // It must read all of the numbers, unchanged.
  if (!read_state(numbers, [&](std::istream& in) { in >> generator; }) ||
      state_of(generator) != state)
    throw_bad_generator_state();
  return generator;
}

// For the first value of each type, whose functions may be those of any library: a state that
// cannot be read again is an error before the first save, not at a restore. Returns true.
// Throws: UnimplementedError.
CROCHET_EXPORT bool check_reads_back(const std::string& name,
                                     const std::function<void()>& read_back);

// `name` is for messages.
template <RandomGenerator T>
std::shared_ptr<Saveable> saveable_generator(T& value, const std::string& name) {
  [[maybe_unused]] static const bool is_checked = check_reads_back(name, [&value] {
    T other = value;
    static_cast<void>(other());
    static_cast<void>(generator_in(std::move(other), state_of(value)));
  });
  return make_generator_saveable(
      [&value] {
        return TensorMap{{"", state_of(value)}};
      },
      [&value](const TensorMap& state) {
        value = generator_in(value, single_vector(state, DType::kUint64));
      },
      [&value] { return hold_copy(value); });
}

// The text that a distribution writes: its parameters, and numbers that it keeps for the next call.
CROCHET_EXPORT std::string written_text(const std::function<void(std::ostream&)>& write);
CROCHET_EXPORT bool read_text(const std::string& text,
                              const std::function<void(std::istream&)>& read);
// The stored text. Throws: InvalidArgumentError for any other state.
CROCHET_EXPORT const std::string& single_text(const TensorMap& state);

// Logs that the checkpoint's parameters replace those that the program has set.
CROCHET_EXPORT void warn_of_parameters(const std::string& name, const std::string& stored,
                                       const std::string& own);

template <Distribution T>
std::string text_of(const T& distribution) {
  return written_text([&](std::ostream& out) { out << distribution; });
}

// A distribution with what this text has. Throws: InvalidArgumentError if none of this type writes
// it.
template <Distribution T>
T distribution_in(T distribution, const std::string& text) {
  check_distribution<T>(text);
  const std::string readable = readable_text(text, distribution_grammar<T>());
  if (!read_text(readable, [&](std::istream& in) { in >> distribution; })) throw_bad_distribution();
  if constexpr (kIsLongNormal<T>) {
    const auto [mean, deviation] = first_numbers(text);
    distribution.param(typename T::param_type(mean, deviation));
  }
  // Weights are normalised when they are read, which may change their last bits.
  if (!has_weights<T>() && text_of(distribution) != text) throw_bad_distribution();
  return distribution;
}

// `name` is for messages.
template <Distribution T>
std::shared_ptr<Saveable> saveable_distribution(T& value, const std::string& name) {
  if constexpr (std::default_initializable<T>) {
    [[maybe_unused]] static const bool is_checked = check_reads_back(
        name, [&value] { static_cast<void>(distribution_in(T(), text_of(value))); });
  }
  const auto restore = [&value, name](const TensorMap& state) {
    const std::string& stored = single_text(state);
    if (text_of(value) == stored) return;
    const T restored = distribution_in(value, stored);
    if (const T own(value.param()), others(restored.param()); own.param() != others.param())
      warn_of_parameters(name, text_of(others), text_of(own));
    value = restored;
  };
  return make_generator_saveable(
      [&value] {
        return TensorMap{{"", Tensor::scalar(text_of(value))}};
      },
      restore, [&value] { return hold_copy(value); });
}

CROCHET_EXPORT std::shared_ptr<Saveable> saveable_string(std::string& value);

// A value that is read and written as a whole: `get` returns the number, `set` takes it.
template <Number T, typename Get, typename Set>
std::shared_ptr<Saveable> saveable_number(Get get, Set set) {
  using Stored = typename NumberOf<T>::Type;
  return make_saveable(
      [get] {
        return TensorMap{{"", Tensor::scalar(std::bit_cast<Stored>(static_cast<T>(get())))}};
      },
      [set](const TensorMap& state) {
        set(std::bit_cast<T>(single_value(state, dtype_of<Stored>).template scalar<Stored>()));
      });
}

template <AtomicLike T>
std::shared_ptr<Saveable> saveable_atomic(T& value) {
  using Held = std::remove_cvref_t<decltype(value.load())>;
  return saveable_number<Held>([&value] { return value.load(); },
                               [&value](Held held) { value.store(held); });
}

// Elements as a vector: of numbers, or strings.
template <Flat T, typename Elements>
Tensor column_of(const Elements& elements, size_t size) {
  if constexpr (std::same_as<T, std::string>) {
    return Tensor::from(std::vector<std::string>(std::begin(elements), std::end(elements)));
  } else {
    using Stored = typename NumberOf<T>::Type;
    Tensor column(dtype_of<Stored>, {static_cast<int64_t>(size)});
    auto next = column.writable_flat<Stored>().begin();
    for (const T element : elements) *next++ = std::bit_cast<Stored>(element);
    return column;
  }
}

// The inverse. Throws: InvalidArgumentError for a tensor of another type or rank.
template <Flat T>
std::vector<T> elements_of(const Tensor& column) {
  if constexpr (std::same_as<T, std::string>) {
    check_vector(column, DType::kString);
    const std::span<const std::string> strings = column.strings();
    return {strings.begin(), strings.end()};
  } else {
    using Stored = typename NumberOf<T>::Type;
    check_vector(column, dtype_of<Stored>);
    std::vector<T> elements;
    elements.reserve(static_cast<size_t>(column.num_elements()));
    for (const Stored stored : column.template flat<Stored>())
      elements.push_back(std::bit_cast<T>(stored));
    return elements;
  }
}

// Containers of numbers or strings that are not contiguous in memory: std::deque, std::list,
// std::vector<bool>, std::vector<std::string>, std::set. Hashed ones are stored in order.
template <typename T>
std::shared_ptr<Saveable> saveable_container(T& value) {
  using Element = ElementOf<T>;
  const auto save = [&value] {
    const auto size = static_cast<size_t>(std::distance(std::begin(value), std::end(value)));
    if constexpr (IsHashed<T>) {
      const std::multiset<Element> sorted(value.begin(), value.end());
      return TensorMap{{"", column_of<Element>(sorted, size)}};
    } else {
      return TensorMap{{"", column_of<Element>(value, size)}};
    }
  };
  const auto restore = [&value](const TensorMap& state) {
    const std::vector<Element> elements = elements_of<Element>(single_column(state, ""));
    if constexpr (requires { value.resize(elements.size()); }) {
      // Not assign(), which gives a ring of Boost the capacity of what it has now.
      value.resize(elements.size());
      std::copy(elements.begin(), elements.end(), value.begin());
    } else if constexpr (AssignableSequence<T>) {
      value.assign(elements.begin(), elements.end());
    } else {
      value.clear();
      value.insert(elements.begin(), elements.end());
    }
  };
  const auto rows = [save]() -> std::optional<Saveable::Rows> {
    return Saveable::Rows{save(), SetLike<T> ? std::optional<std::string>("") : std::nullopt};
  };
  return make_saveable(save, restore, rows);
}

template <Flat Key, Flat Mapped, typename Entries>
TensorMap columns_of(const Entries& entries) {
  std::vector<Key> keys;
  std::vector<Mapped> values;
  for (const auto& [key, mapped] : entries) {
    keys.push_back(key);
    values.push_back(mapped);
  }
  return {{"keys", column_of<Key>(keys, keys.size())},
          {"values", column_of<Mapped>(values, values.size())}};
}

// A map from numbers or strings to numbers or strings, as a vector of keys, in order, and one of
// values.
template <FlatMap T>
std::shared_ptr<Saveable> saveable_map(T& value) {
  using Key = typename T::key_type;
  using Mapped = typename T::mapped_type;
  const auto save = [&value] {
    if constexpr (IsHashed<T>) {
      return columns_of<Key, Mapped>(
          std::multiset<std::pair<Key, Mapped>>(value.begin(), value.end()));
    } else {
      return columns_of<Key, Mapped>(value);
    }
  };
  const auto restore = [&value](const TensorMap& state) {
    check_num_entries(state, 2);
    const std::vector<Key> keys = elements_of<Key>(single_column(state, "keys"));
    const std::vector<Mapped> values = elements_of<Mapped>(single_column(state, "values"));
    T before = std::move(value);
    value.clear();
    if (keys.size() == values.size())
      for (size_t i = 0; i < keys.size(); ++i) value.emplace(keys[i], values[i]);
    if (keys.size() == values.size() && value.size() == keys.size()) return;
    value = std::move(before);
    throw_bad_map(keys.size(), values.size());
  };
  const auto rows = [save]() -> std::optional<Saveable::Rows> {
    return Saveable::Rows{save(), "keys"};
  };
  return make_saveable(save, restore, rows);
}

template <BitsetLike T>
std::shared_ptr<Saveable> saveable_bitset(T& value) {
  const auto save = [&value] {
    Tensor bits(DType::kBool, {static_cast<int64_t>(value.size())});
    for (size_t i = 0; i < value.size(); ++i) bits.mutable_flat<bool>()[i] = value.test(i);
    return TensorMap{{"", bits}};
  };
  const auto restore = [&value](const TensorMap& state) {
    const Tensor& bits = single_column(state, "");
    check_vector(bits, DType::kBool, value.size());
    const std::span<const bool> flags = bits.flat<bool>();
    for (size_t i = 0; i < flags.size(); ++i) value.set(i, flags[i]);
  };
  return make_saveable(save, restore);
}

}  // namespace crochet::inline v0::internal
