// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>

#include "crochet/base/internal/export.h"
#include "crochet/tracking/internal/type_shapes.h"

namespace crochet::inline v0::internal {

// The operator>> of a standard generator trusts its input: with a position or a number out of
// range, the generator later reads and writes other memory, or never returns. So the numbers in a
// checkpoint are checked against what the generator can write before they are passed to it.
//
// state := as [rand.eng] and [rand.adapt] define it for each template, numbers in order; for two
// engines GCC's standard library writes the position in the state after the numbers.
//
// check_numbers() consumes the numbers of one generator.
// Throws: InvalidArgumentError for numbers that the generator cannot have written.

class CROCHET_EXPORT GeneratorNumbers {
 public:
  explicit GeneratorNumbers(std::span<const uint64_t> numbers) : numbers_(numbers) {}

  // The next number. Throws: InvalidArgumentError if all have been taken, or if it is not in
  // [first, last].
  uint64_t take(uint64_t first, uint64_t last);
  // The next `count` numbers, each in [0, last].
  struct Words {
    bool all_zero = true;
    bool all_last = true;
  };
  Words take_words(size_t count, uint64_t last);
  // Throws: InvalidArgumentError if any is left.
  void finish() const;

 private:
  std::span<const uint64_t> numbers_;
  size_t next_ = 0;
};

[[noreturn]] CROCHET_EXPORT void throw_bad_generator_state();

// The largest number of `bits` bits.
constexpr uint64_t last_word(size_t bits) {
  return std::numeric_limits<uint64_t>::max() >> (64 - bits);
}

#ifdef __GLIBCXX__
inline constexpr bool kWritesPosition = true;
#else
inline constexpr bool kWritesPosition = false;
#endif

// The class in which a member function is declared: the standard's template, even if it is named
// through a class that derives from it.
template <typename Member>
struct DeclaringClass {};
template <typename Class>
struct DeclaringClass<void (Class::*)(unsigned long long)> {
  using Type = Class;
};

// A standard engine or engine adapter, or a class derived from one. [rand.eng] and [rand.adapt]
// give each template the constants by which check_numbers() knows it from the others.
template <typename T>
concept StandardGenerator = requires {
  typename DeclaringClass<decltype(&T::discard)>::Type;
}
&&is_standard<typename DeclaringClass<decltype(&T::discard)>::Type>();

template <StandardGenerator T>
void check_numbers(GeneratorNumbers& numbers) {
  if constexpr (requires { T::modulus; }) {  // linear_congruential_engine
    numbers.take(T::min(), T::max());
  } else if constexpr (requires { T::tempering_u; }) {  // mersenne_twister_engine
    // A state of zeros generates zeros forever.
    if (numbers.take_words(T::state_size, last_word(T::word_size)).all_zero)
      throw_bad_generator_state();
    if (kWritesPosition) numbers.take(0, T::state_size);
  } else if constexpr (requires { T::long_lag; }) {  // subtract_with_carry_engine
    const GeneratorNumbers::Words words = numbers.take_words(T::long_lag, last_word(T::word_size));
    const uint64_t carry = numbers.take(0, 1);
    // These two generate one number forever.
    if (carry == 0 ? words.all_zero : words.all_last) throw_bad_generator_state();
    if (kWritesPosition) numbers.take(0, T::long_lag - 1);
  } else {
    using Base = std::remove_cvref_t<decltype(std::declval<const T&>().base())>;
    check_numbers<Base>(numbers);
    if constexpr (requires { T::used_block; }) {  // discard_block_engine
      numbers.take(0, T::used_block);
    } else if constexpr (requires { T::table_size; }) {  // shuffle_order_engine
      for (size_t i = 0; i < T::table_size + 1; ++i) numbers.take(Base::min(), Base::max());
    }  // Otherwise independent_bits_engine.
  }
}

// Throws: InvalidArgumentError if the numbers are not a state of such a generator. Generators
// outside the standard library are trusted to check their input.
template <typename T>
void check_generator_state(std::span<const uint64_t> state) {
  if constexpr (StandardGenerator<T>) {
    GeneratorNumbers numbers(state);
    check_numbers<T>(numbers);
    numbers.finish();
  }
}

}  // namespace crochet::inline v0::internal
