// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/run/internal/saveable_adapters.h"

#include <charconv>
#include <locale>
#include <sstream>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/tensor/fmt.h"

namespace crochet::inline v0::internal {
namespace {

const Tensor& only_value(const TensorMap& state, const char* expected) {
  if (state.size() != 1 || !state.begin()->first.empty())
    throw InvalidArgumentError(
        fmt::format("found {} stored values, expected one {}", state.size(), expected));
  return state.begin()->second;
}

}  // namespace

std::shared_ptr<Saveable> saveable_tensor(Tensor& value) {
  const auto save = [&value] {
    if (!value.is_set())
      throw FailedPreconditionError("a tracked tensor is unset: give it a value first");
    return TensorMap{{"", value}};
  };
  const auto restore = [&value](const TensorMap& state) {
    const Tensor& stored = only_value(state, "tensor");
    if (value.is_set() && stored.dtype() != value.dtype())
      throw InvalidArgumentError(fmt::format("found a stored tensor of {}, expected one of {}",
                                             stored.dtype(), value.dtype()));
    value = stored;
  };
  return make_saveable(save, restore);
}

const Tensor& single_vector(const TensorMap& state, DType dtype) {
  const Tensor& stored = only_value(state, "vector");
  if (stored.dtype() != dtype || stored.shape().rank() != 1)
    throw InvalidArgumentError(
        fmt::format("found {}, expected a vector of {}", describe(stored), dtype));
  return stored;
}

Tensor written_state(const std::function<void(std::ostream&)>& write) {
  std::ostringstream written;
  written.imbue(std::locale::classic());
  write(written);
  const std::string text = written.str();
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

bool read_state(std::span<const uint64_t> numbers, const std::function<void(std::istream&)>& read) {
  std::string text;
  for (const uint64_t number : numbers) {
    if (!text.empty()) text += ' ';
    text += std::to_string(number);
  }
  std::istringstream stored(text);
  stored.imbue(std::locale::classic());
  read(stored);
  return !stored.fail();
}

}  // namespace crochet::inline v0::internal
