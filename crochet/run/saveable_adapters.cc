// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/saveable_adapters.h"

#include <charconv>

#include "crochet/base/error.h"
#include "crochet/tensor/fmt.h"

namespace crochet::internal {

TensorMap SaveableTensor::save() const {
  if (!value_.is_set())
    throw FailedPreconditionError("a tracked tensor is unset: give it a value first");
  return {{"", value_}};
}

void SaveableTensor::restore(const TensorMap& state) {
  if (state.size() != 1 || !state.begin()->first.empty())
    throw InvalidArgumentError(
        fmt::format("found {} stored values, expected one tensor", state.size()));
  const Tensor& stored = state.begin()->second;
  if (value_.is_set() && stored.dtype() != value_.dtype())
    throw InvalidArgumentError(fmt::format("found a stored tensor of {}, expected one of {}",
                                           stored.dtype(), value_.dtype()));
  value_ = stored;
}

const Tensor& single_vector(const TensorMap& state, DType dtype) {
  if (state.size() != 1 || !state.begin()->first.empty())
    throw InvalidArgumentError(
        fmt::format("found {} stored values, expected one vector", state.size()));
  const Tensor& stored = state.begin()->second;
  if (stored.dtype() != dtype || stored.shape().rank() != 1)
    throw InvalidArgumentError(
        fmt::format("found {}, expected a vector of {}", describe(stored), dtype));
  return stored;
}

Tensor parse_generator_state(const std::string& text) {
  std::vector<uint64_t> numbers;
  const char* const end = text.data() + text.size();
  for (const char* next = text.data(); next != end;) {
    uint64_t number = 0;
    const auto [rest, error] = std::from_chars(next, end, number);
    if (error != std::errc())
      throw UnimplementedError(
          fmt::format("a random generator writes its state as \"{:.40}...\": expected "
                      "unsigned decimals with spaces between",
                      text));
    numbers.push_back(number);
    next = rest;
    while (next != end && *next == ' ') ++next;
  }
  return Tensor::from(numbers);
}

std::string print_generator_state(std::span<const uint64_t> numbers) {
  std::string text;
  for (const uint64_t number : numbers) {
    if (!text.empty()) text += ' ';
    text += std::to_string(number);
  }
  return text;
}

}  // namespace crochet::internal
