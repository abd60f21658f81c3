// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "crochet/base/export.h"
#include "crochet/engines/local/graph.h"
#include "crochet/run/internal/saveable_adapters.h"
#include "crochet/session/saveable.h"

namespace crochet::inline v0 {

// Records which values must survive a restart, and their names. A type lists its
// parts in one of two ways, in a member function or in a free function in
// its namespace:
//
//   struct Perceptron {
//     Eigen::MatrixXf w1, w2;
//     void track(Tracker& tracker) { tracker("w1", w1)("w2", w2); }
//   };
//   void track(Tracker& tracker, Perceptron& model) { tracker("w1", model.w1)("w2", model.w2); }
//
// Parts may be: numbers; std::array, std::span, std::vector and other standard
// sequences and sets of numbers; Tensor; Eigen matrices (with <crochet/eigen.h>); standard random
// generators; anything with `TensorMap save() const` and `void restore(const TensorMap&)`; and
// structs that list their parts. Anything else does not compile, nor does a temporary other
// than a span: it would be destroyed, with all it owns, before the first save.
//
// The caller keeps ownership of tracked values, which must not move until the loop has run;
// the memory that a container owns may move.
class CROCHET_EXPORT Tracker {
 public:
  // Names begin with "<prefix>/", unless the prefix is empty.
  Tracker(local::Graph& graph, std::string prefix) : graph_(graph), prefix_(std::move(prefix)) {}

  // Throws: AlreadyExistsError for a name that was used before; InvalidArgumentError for an empty
  // one.
  template <typename T>
  Tracker& operator()(std::string_view name, T&& value);

  // For code that adds support for other types.
  void add_array(std::string_view name, local::BorrowedArray array);
  void add_object(std::string_view name, std::shared_ptr<Saveable> object);

 private:
  std::string full_name(std::string_view name) const;

  template <typename T>
  void track_part(std::string_view name, T& value);

  local::Graph& graph_;  // Not owned.
  std::string prefix_;
};

namespace internal {

template <typename T>
concept TracksItself = requires(T& value, Tracker& tracker) {
  value.track(tracker);
};

template <typename T>
concept TrackedByFunction = requires(T& value, Tracker& tracker) {
  track(tracker, value);
};

// Support for array libraries adds a function of this name to crochet: see <crochet/eigen.h>.
template <typename T>
concept BorrowableArray = requires(T& value, Tracker& tracker) {
  { borrow_array(tracker, value) } -> std::same_as<local::BorrowedArray>;
};

template <typename T>
concept SequenceOfNumbers = requires(T& value) {
  std::end(value);
  requires Element<ElementOf<T>>;
};

// The elements are contiguous in memory: std::array, std::span, std::vector, a C array.
template <typename T>
concept ArrayOfNumbers = SequenceOfNumbers<T> && requires(T& value) {
  { std::data(value) } -> std::same_as<ElementOf<T>*>;
};

template <typename T>
local::ArrayView view_of(T& numbers) {
  return {.dtype = dtype_of<ElementOf<T>>,
          .shape = {static_cast<int64_t>(std::size(numbers))},
          .data = reinterpret_cast<std::byte*>(std::data(numbers))};
}

template <typename T>
local::BorrowedArray borrow_numbers(T& value) {
  local::BorrowedArray array{.view = [&value] { return view_of(value); }};
  if constexpr (requires { value.resize(size_t{}); })
    array.resize = [&value](const Shape& shape) { value.resize(static_cast<size_t>(shape[0])); };
  return array;
}

template <typename T>
inline constexpr bool kIsSpan = false;
template <typename Number, size_t kExtent>
inline constexpr bool kIsSpan<std::span<Number, kExtent>> = !std::is_const_v<Number>;

}  // namespace internal

template <typename T>
Tracker& Tracker::operator()(std::string_view name, T&& value) {
  static_assert(std::is_lvalue_reference_v<T> || internal::kIsSpan<T>,
                "crochet cannot track a temporary: what is tracked must outlive the loop");
  track_part(name, value);
  return *this;
}

template <typename T>
void Tracker::track_part(std::string_view name, T& value) {
  using internal::ArrayOfNumbers, internal::SequenceOfNumbers;
  if constexpr (internal::TracksItself<T>) {
    Tracker parts(graph_, full_name(name));
    value.track(parts);
  } else if constexpr (internal::TrackedByFunction<T>) {
    Tracker parts(graph_, full_name(name));
    track(parts, value);
  } else if constexpr (internal::BorrowableArray<T>) {
    add_array(name, borrow_array(*this, value));
  } else if constexpr (internal::SavesItself<T>) {
    add_object(name,
               internal::make_saveable([&value] { return value.save(); },
                                       [&value](const TensorMap& state) { value.restore(state); }));
  } else if constexpr (std::same_as<T, Tensor>) {
    add_object(name, internal::saveable_tensor(value));
  } else if constexpr (Element<T>) {
    add_array(name, {.view = [&value] {
                return local::ArrayView{.dtype = dtype_of<T>,
                                        .data = reinterpret_cast<std::byte*>(&value)};
              }});
  } else if constexpr (internal::RandomGenerator<T>) {
    add_object(name, internal::saveable_generator(value));
  } else if constexpr (internal::kIsSpan<T>) {
    // It may be a temporary view: the span itself is kept.
    add_array(name, {.view = [value] { return internal::view_of(value); }});
  } else if constexpr (ArrayOfNumbers<T>) {
    add_array(name, internal::borrow_numbers(value));
  } else if constexpr (SequenceOfNumbers<T> &&
                       (internal::AssignableSequence<T> || internal::InsertableSet<T>)) {
    add_object(name, internal::saveable_container(value));
  } else {
    static_assert(!sizeof(T*),
                  "crochet cannot track this type: give it `void track(crochet::Tracker&)`, or "
                  "`TensorMap save() const` and `void restore(const TensorMap&)`; for Eigen's "
                  "matrices include <crochet/eigen.h>");
  }
}

}  // namespace crochet::inline v0
