// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tracking/internal/saveable_adapters.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <locale>
#include <sstream>
#include <vector>

#include "crochet/base/error.h"
#include "crochet/base/log.h"
#include "crochet/tensor/internal/fmt.h"

namespace crochet::inline v0::internal {
namespace {

const Tensor& only_value(const TensorMap& state, const char* expected) {
  if (state.size() != 1 || !state.begin()->first.empty())
    throw InvalidArgumentError(
        fmt::format("found {} stored values, expected one {}", state.size(), expected));
  return state.begin()->second;
}

// Requires: the same type and shape, and nobody else holds the memory of `to`.
void copy_elements(const Tensor& from, Tensor& to) {
  if (to.dtype() == DType::kString) {
    std::ranges::copy(from.strings(), to.mutable_strings().begin());
  } else {
    std::ranges::copy(from.bytes(), to.writable_bytes().begin());
  }
}

void restore_tensor(const Tensor& stored, Tensor& value, const std::string& name) {
  if (value.dtype() == stored.dtype() && value.shape() == stored.shape() && !value.is_shared())
    return copy_elements(stored, value);
  if (value.buffer().is_exposed())
    log_warning(fmt::format(
        "tensor \"{}\" is restored in other memory, {}: spans of it must be taken again", name,
        value.shape() != stored.shape()
            ? fmt::format("with the shape {} instead of {}", stored.shape(), value.shape())
            : "because a copy of it shares its memory"));
  value = stored;
}

}  // namespace

std::shared_ptr<Saveable> saveable_tensor(Tensor& value, std::string name) {
  const auto save = [&value] {
    if (!value.is_set())
      throw FailedPreconditionError("a tracked tensor is unset: give it a value first");
    return TensorMap{{"", value}};
  };
  const auto restore = [&value, name = std::move(name)](const TensorMap& state) {
    const Tensor& stored = only_value(state, "tensor");
    if (value.is_set() && stored.dtype() != value.dtype())
      throw InvalidArgumentError(fmt::format("found a stored tensor of {}, expected one of {}",
                                             stored.dtype(), value.dtype()));
    restore_tensor(stored, value, name);
  };
  const auto rows = [&value]() -> std::optional<Saveable::Rows> {
    if (!value.is_set()) return std::nullopt;
    return Saveable::Rows{{{"", value}}};
  };
  return make_saveable(save, restore, rows);
}

const Tensor& single_column(const TensorMap& state, std::string_view key) {
  if (key.empty()) return only_value(state, "vector");
  const auto found = state.find(key);
  if (found == state.end())
    throw InvalidArgumentError(fmt::format("found no stored vector \"{}\"", key));
  return found->second;
}

void check_vector(const Tensor& tensor, DType dtype, std::optional<size_t> size) {
  if (tensor.dtype() != dtype || tensor.shape().rank() != 1)
    throw InvalidArgumentError(
        fmt::format("found {}, expected a vector of {}", describe(tensor), dtype));
  if (size && tensor.num_elements() != static_cast<int64_t>(*size))
    throw InvalidArgumentError(
        fmt::format("found {}, expected {} elements", describe(tensor), *size));
}

const Tensor& single_vector(const TensorMap& state, DType dtype) {
  const Tensor& stored = single_column(state, "");
  check_vector(stored, dtype);
  return stored;
}

void check_num_entries(const TensorMap& state, size_t expected) {
  if (state.size() != expected)
    throw InvalidArgumentError(
        fmt::format("found {} stored values, expected {}", state.size(), expected));
}

void throw_bad_map(size_t num_keys, size_t num_values) {
  if (num_keys != num_values)
    throw InvalidArgumentError(
        fmt::format("a stored map: found {} keys and {} values, expected "
                    "as many",
                    num_keys, num_values));
  throw InvalidArgumentError("a stored map: found a key twice, expected each once");
}

std::string written_text(const std::function<void(std::ostream&)>& write) {
  std::ostringstream written;
  written.imbue(std::locale::classic());
  // Enough for each type; libraries other than the standard's may not set it.
  written.precision(std::numeric_limits<long double>::max_digits10);
  write(written);
  return written.str();
}

bool read_text(const std::string& text, const std::function<void(std::istream&)>& read) {
  std::istringstream stored(text);
  stored.imbue(std::locale::classic());
  read(stored);
  return !stored.fail();
}

const std::string& single_text(const TensorMap& state) {
  return single_value(state, DType::kString).strings()[0];
}

void warn_of_parameters(const std::string& name, const std::string& stored,
                        const std::string& own) {
  log_warning(
      fmt::format("\"{}\": the checkpoint's parameters ({}) replace those that this program "
                  "has set ({}); .restore = {{.keep = {{\"{}\"}}}} keeps the program's",
                  name, stored, own, name));
}

std::shared_ptr<Saveable> saveable_string(std::string& value) {
  const auto save = [&value] { return TensorMap{{"", Tensor::scalar(value)}}; };
  const auto restore = [&value](const TensorMap& state) {
    const Tensor& stored = only_value(state, "string");
    // Before strings had a type of their own, they were vectors of bytes.
    if (stored.dtype() == DType::kInt8 && stored.shape().rank() == 1) {
      const std::span<const int8_t> bytes = stored.flat<int8_t>();
      value.assign(bytes.begin(), bytes.end());
    } else {
      value = single_text(state);
    }
  };
  return make_saveable(save, restore);
}

Tensor written_state(const std::function<void(std::ostream&)>& write) {
  const std::string text = written_text(write);
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
  // With a space at the end as well: Boost's generators skip one after each number.
  std::string text;
  for (const uint64_t number : numbers) text += std::to_string(number) + ' ';
  return read_text(text, read);
}

bool check_reads_back(const std::string& name, const std::function<void()>& read_back) {
  try {
    read_back();
    return true;
  } catch (const InvalidArgumentError& error) {
    throw UnimplementedError(fmt::format(
        "\"{}\": this type's operator>> does not read what its operator<< writes ({}): put it "
        "into a class with the functions save and restore",
        name, error.what()));
  }
}

}  // namespace crochet::inline v0::internal
