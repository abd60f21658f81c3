// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/generator_state.h"

#include <fmt/format.h>

#include "crochet/base/error.h"

namespace crochet::inline v0::internal {

void throw_bad_generator_state() {
  throw InvalidArgumentError(
      "the state of a random generator: the stored numbers are not a state of this generator type");
}

uint64_t GeneratorNumbers::take(uint64_t first, uint64_t last) {
  if (next_ == numbers_.size())
    throw InvalidArgumentError(fmt::format(
        "the state of a random generator: found {} numbers, expected more: it is not a state of "
        "this generator type",
        numbers_.size()));
  const uint64_t number = numbers_[next_++];
  if (number < first || number > last)
    throw InvalidArgumentError(fmt::format(
        "the state of a random generator: number {}: found {}, expected {} to {}: it is not a "
        "state of this generator type",
        next_ - 1, number, first, last));
  return number;
}

GeneratorNumbers::Words GeneratorNumbers::take_words(size_t count, uint64_t last) {
  Words words;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t number = take(0, last);
    words.all_zero = words.all_zero && number == 0;
    words.all_last = words.all_last && number == last;
  }
  return words;
}

void GeneratorNumbers::finish() const {
  if (next_ != numbers_.size())
    throw InvalidArgumentError(fmt::format(
        "the state of a random generator: found {} numbers, expected {}: it is not a state of this "
        "generator type",
        numbers_.size(), next_));
}

}  // namespace crochet::inline v0::internal
