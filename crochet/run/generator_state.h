// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>

namespace crochet::internal {

// The operator>> of a standard generator trusts its input: with a position or a number out of
// range, the generator later reads and writes other memory, or never returns. So the numbers in a
// checkpoint are checked against what the generator can write before they are passed to it.
//
// state := as [rand.eng] and [rand.adapt] define it for each template, numbers in order; for two
// engines GCC's standard library writes the position in the state after the numbers.
//
// Each check_numbers() consumes the numbers of one generator.
// Throws: InvalidArgumentError for numbers that the generator cannot have written.

class GeneratorNumbers {
 public:
  explicit GeneratorNumbers(std::span<const uint64_t> numbers) : numbers_(numbers) {}

  // The next number. Throws: InvalidArgumentError if there is none or it is not in [first, last].
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

[[noreturn]] void throw_bad_generator_state();

// The largest number of `bits` bits.
constexpr uint64_t last_word(size_t bits) {
  return std::numeric_limits<uint64_t>::max() >> (64 - bits);
}

#ifdef __GLIBCXX__
inline constexpr bool kWritesPosition = true;
#else
inline constexpr bool kWritesPosition = false;
#endif

template <typename U, U kA, U kC, U kM>
void check_numbers(GeneratorNumbers& numbers,
                   const std::linear_congruential_engine<U, kA, kC, kM>*) {
  using Engine = std::linear_congruential_engine<U, kA, kC, kM>;
  numbers.take(Engine::min(), Engine::max());
}

template <typename U, size_t kW, size_t kN, size_t kMiddle, size_t kR, U kA, size_t kU, U kD,
          size_t kS, U kB, size_t kT, U kC, size_t kL, U kF>
void check_numbers(GeneratorNumbers& numbers,
                   const std::mersenne_twister_engine<U, kW, kN, kMiddle, kR, kA, kU, kD, kS, kB,
                                                      kT, kC, kL, kF>*) {
  // A state of zeros generates zeros forever.
  if (numbers.take_words(kN, last_word(kW)).all_zero) throw_bad_generator_state();
  if (kWritesPosition) numbers.take(0, kN);
}

template <typename U, size_t kW, size_t kS, size_t kR>
void check_numbers(GeneratorNumbers& numbers,
                   const std::subtract_with_carry_engine<U, kW, kS, kR>*) {
  const GeneratorNumbers::Words words = numbers.take_words(kR, last_word(kW));
  const uint64_t carry = numbers.take(0, 1);
  // These two generate one number forever.
  if (carry == 0 ? words.all_zero : words.all_last) throw_bad_generator_state();
  if (kWritesPosition) numbers.take(0, kR - 1);
}

template <typename Base, size_t kP, size_t kR>
void check_numbers(GeneratorNumbers& numbers, const std::discard_block_engine<Base, kP, kR>*) {
  check_numbers(numbers, static_cast<const Base*>(nullptr));
  numbers.take(0, kR);
}

template <typename Base, size_t kW, typename U>
void check_numbers(GeneratorNumbers& numbers, const std::independent_bits_engine<Base, kW, U>*) {
  check_numbers(numbers, static_cast<const Base*>(nullptr));
}

template <typename Base, size_t kK>
void check_numbers(GeneratorNumbers& numbers, const std::shuffle_order_engine<Base, kK>*) {
  check_numbers(numbers, static_cast<const Base*>(nullptr));
  for (size_t i = 0; i < kK + 1; ++i) numbers.take(Base::min(), Base::max());
}

// Throws: InvalidArgumentError if the numbers are not a state of such a generator. Generators
// outside the standard library are trusted to check their input.
template <typename T>
void check_generator_state(std::span<const uint64_t> state) {
  GeneratorNumbers numbers(state);
  if constexpr (requires { check_numbers(numbers, static_cast<const T*>(nullptr)); }) {
    check_numbers(numbers, static_cast<const T*>(nullptr));
    numbers.finish();
  }
}

}  // namespace crochet::internal
