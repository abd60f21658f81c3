// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "crochet/tensor/dtype.h"
#include "crochet/tensor/shape.h"

namespace crochet::inline v0::internal {

// Types of the standard library are recognised by their members, so that no program compiles
// headers that it does not use.

// True for the classes of namespace std.
template <typename T>
consteval bool is_standard() {
  return std::string_view(__PRETTY_FUNCTION__).find("T = std::") != std::string_view::npos;
}

template <typename T>
concept Duration = requires(const T& value) {
  typename T::rep;
  typename T::period;
  { value.count() } -> std::same_as<typename T::rep>;
  requires Element<typename T::rep>;
  requires sizeof(T) == sizeof(typename T::rep);
  requires std::is_trivially_copyable_v<T>;
};

template <typename T>
concept TimePoint = requires(const T& value) {
  typename T::clock;
  { value.time_since_epoch() } -> std::same_as<typename T::duration>;
  requires Duration<typename T::duration>;
  requires sizeof(T) == sizeof(typename T::duration);
  requires std::is_trivially_copyable_v<T>;
};

// The number that represents a value of one number: itself, or that of an enumeration, a duration
// or a time.
template <typename T>
struct NumberOf {};
template <Element T>
struct NumberOf<T> {
  using Type = T;
};
template <typename T>
requires(std::is_enum_v<T> && !Element<T>) struct NumberOf<T> {
  using Type = std::underlying_type_t<T>;
};
template <Duration T>
struct NumberOf<T> {
  using Type = typename T::rep;
};
template <TimePoint T>
struct NumberOf<T> {
  using Type = typename T::duration::rep;
};

template <typename T>
concept Number = !std::is_const_v<T> && requires {
  typename NumberOf<T>::Type;
};
template <Number T>
inline constexpr DType kNumberDtype = dtype_of<typename NumberOf<T>::Type>;

// Numbers in one piece of memory, of a size that the type fixes: a number, or an array of such, of
// any rank.
template <typename T>
struct DenseOf {};
template <Number T>
struct DenseOf<T> {
  using Scalar = T;
  static constexpr size_t kCount = 1;
  static void add_sizes(std::vector<int64_t>&) {}
};
template <typename T, size_t kSize>
requires requires { typename DenseOf<T>::Scalar; }
struct DenseOf<T[kSize]> {
  using Scalar = typename DenseOf<T>::Scalar;
  static constexpr size_t kCount = kSize * DenseOf<T>::kCount;
  static void add_sizes(std::vector<int64_t>& sizes) {
    sizes.push_back(kSize);
    DenseOf<T>::add_sizes(sizes);
  }
};
template <typename T, size_t kSize>
requires requires { typename DenseOf<T>::Scalar; }
struct DenseOf<std::array<T, kSize>> : DenseOf<T[kSize == 0 ? 1 : kSize]> {
  static constexpr size_t kCount = kSize * DenseOf<T>::kCount;
  static void add_sizes(std::vector<int64_t>& sizes) {
    sizes.push_back(kSize);
    DenseOf<T>::add_sizes(sizes);
  }
};

template <typename T>
concept Dense = requires {
  typename DenseOf<T>::Scalar;
};
// An element takes memory, so that stored sizes are bounded by stored bytes.
template <typename T>
concept DenseElement = Dense<T> && DenseOf<T>::kCount >
0;

template <Dense T>
inline constexpr DType kDenseDtype = kNumberDtype<typename DenseOf<T>::Scalar>;

// A number or a text: one element of a tensor.
template <typename T>
concept Flat = Number<T> || std::same_as<T, std::string>;

// The type of a container's elements.
template <typename T>
using ElementOf = std::iter_value_t<decltype(std::begin(std::declval<T&>()))>;

template <typename T>
inline constexpr bool kIsSpan = false;
template <typename E, size_t kExtent>
inline constexpr bool kIsSpan<std::span<E, kExtent>> = !std::is_const_v<E>;

template <typename T>
inline constexpr bool kIsArray = std::is_bounded_array_v<T>;
template <typename E, size_t kSize>
inline constexpr bool kIsArray<std::array<E, kSize>> = true;

// std::vector, std::valarray, and other growable containers in one piece of memory.
template <typename T>
concept GrowableDense = requires(T& value) {
  requires !std::same_as<T, std::string>;
  requires DenseElement<ElementOf<T>>;
  { std::data(value) } -> std::same_as<ElementOf<T>*>;
  std::size(value);
};
template <typename T>
concept ValArray = requires(T& value) {
  value.cshift(1);
  value.resize(size_t{});
  requires DenseElement<typename T::value_type>;
  requires sizeof(value[0]) == sizeof(typename T::value_type);
};

template <typename T>
concept AssignableSequence = requires(T& value) {
  value.assign(value.begin(), value.end());
};

template <typename T>
concept MapLike = requires(T& value) {
  typename T::key_type;
  typename T::mapped_type;
  value.clear();
  value.begin()->second;
};
template <typename T>
concept SetLike = requires(T& value) {
  typename T::key_type;
  value.clear();
  value.insert(value.begin(), value.end());
  requires std::same_as<typename T::key_type, typename T::value_type>;
};
template <typename T>
concept Ordered = requires(const T& a, const T& b) {
  { a < b } -> std::convertible_to<bool>;
};
// The order of its elements is not defined.
template <typename T>
concept IsHashed = requires {
  typename T::hasher;
};
// Each key once.
template <typename T>
concept HasUniqueKeys = requires(T& value, const typename T::key_type& key) {
  value.try_emplace(key);
};

// Flat containers are stored as one tensor, or one for the keys and one for the values.
template <typename T>
concept FlatMap = MapLike<T> && Flat<typename T::key_type> && Flat<typename T::mapped_type>;
template <typename T>
concept FlatContainer = !MapLike<T> && !std::same_as<T, std::string> &&
                        (AssignableSequence<T> || SetLike<T>)&&requires {
  requires Flat<ElementOf<T>>;
};

// A container of parts, whose number may change.
template <typename T>
concept Sequence =
    !std::same_as<T, std::string> && !MapLike<T> && !SetLike<T> && requires(T & value) {
  value.begin() != value.end();
  value.resize(size_t{});
  typename T::value_type;
};

template <typename T>
inline constexpr bool kIsPointer = false;
template <typename E, typename Deleter>
inline constexpr bool kIsPointer<std::unique_ptr<E, Deleter>> = !std::is_array_v<E>;
template <typename E>
inline constexpr bool kIsPointer<std::shared_ptr<E>> = !std::is_array_v<E>;

template <typename T>
concept OptionalLike = requires(T& value) {
  typename T::value_type;
  value.has_value();
  value.reset();
  *value;
};
// Something or nothing.
template <typename T>
concept Nullable = kIsPointer<T> || OptionalLike<T>;

template <typename T>
struct NulledOf {};
template <typename T>
requires kIsPointer<T>
struct NulledOf<T> {
  using Type = typename T::element_type;
};
template <OptionalLike T>
struct NulledOf<T> {
  using Type = typename T::value_type;
};

template <typename T>
concept VariantLike = requires(const T& value) {
  value.valueless_by_exception();
  value.index();
};
template <typename T>
struct Alternatives;
template <template <typename...> class Variant, typename... Ts>
struct Alternatives<Variant<Ts...>> {
  static constexpr size_t kCount = sizeof...(Ts);
};

template <typename T>
concept PairLike = requires {
  requires std::same_as<T, std::pair<typename T::first_type, typename T::second_type>>;
};
template <typename T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};

template <typename T>
concept AtomicLike = requires(T& value) {
  value.is_lock_free();
  value.store(value.load());
  requires Number<std::remove_cvref_t<decltype(value.load())>>;
};

template <typename T>
concept BitsetLike = requires(T& value) {
  value.to_ullong();
  value.flip(size_t{});
  value.set(size_t{}, true);
  { value.test(size_t{}) } -> std::same_as<bool>;
};

template <typename T>
concept RandomGenerator = requires(T& value, std::istream& in, std::ostream& out) {
  { value() } -> std::unsigned_integral;
  T::min();
  T::max();
  in >> value;
  out << value;
};

template <typename T>
concept Distribution = requires(T& value, std::istream& in, std::ostream& out) {
  typename T::result_type;
  typename T::param_type;
  value.reset();
  value.param();
  in >> value;
  out << value;
};

}  // namespace crochet::inline v0::internal
