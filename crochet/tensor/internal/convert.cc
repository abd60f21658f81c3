// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/tensor/internal/convert.h"

#include <cmath>
#include <concepts>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "crochet/base/error.h"
#include "crochet/tensor/internal/fmt.h"
#include "crochet/tensor/internal/visit_type.h"

namespace crochet::inline v0::internal {
namespace {

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T>;

// std::in_range does not take bool.
template <typename T>
auto as_integer(T value) {
  if constexpr (std::same_as<T, bool>)
    return static_cast<uint8_t>(value);
  else
    return value;
}

template <typename To, typename From>
To as(From value) {
  if constexpr (std::is_arithmetic_v<To>)
    return static_cast<To>(value);
  else
    return To(static_cast<float>(value));  // Half, Bfloat16.
}

template <typename To, typename From>
bool holds(From value) {
  if constexpr (!kIsInteger<To>) {
    const auto number = static_cast<double>(value);
    if (std::same_as<To, double> || !std::isfinite(number)) return true;
    // Rounding to half or bfloat16 may reach infinity.
    return std::abs(number) <= std::numeric_limits<float>::max() &&
           std::isfinite(static_cast<float>(as<To>(static_cast<float>(number))));
  } else if constexpr (kIsInteger<From>) {
    const auto integer = as_integer(value);
    if constexpr (std::same_as<To, bool>)
      return integer == 0 || integer == 1;
    else
      return std::in_range<To>(integer);
  } else {
    const auto number = static_cast<double>(value);
    // The limits as powers of two: the largest int64 is not a double.
    constexpr double kEnd =
        2.0 * static_cast<double>(To{1} << (std::numeric_limits<To>::digits - 1));
    return number >= (std::is_signed_v<To> ? -kEnd : 0.0) && number < kEnd &&
           number == std::trunc(number);
  }
}

// Elements of a tensor are copied out and in: its memory may come from a file, with any alignment.
template <typename From, typename To>
void convert_elements(std::span<const std::byte> from, std::span<std::byte> to) {
  const size_t num_elements = from.size() / sizeof(From);
  for (size_t i = 0; i < num_elements; ++i) {
    From value;
    if constexpr (std::same_as<From, bool>)
      value = from[i] != std::byte{};  // Any byte may be stored.
    else
      std::memcpy(&value, from.data() + i * sizeof(From), sizeof(From));
    if (!holds<To>(value))
      throw InvalidArgumentError(fmt::format("element {} is {}, which {} cannot hold", i,
                                             static_cast<double>(value), dtype_of<To>));
    const To converted = as<To>(value);
    std::memcpy(to.data() + i * sizeof(To), &converted, sizeof(To));
  }
}

}  // namespace

bool can_convert(DType from, DType to) {
  const auto is_real = [](DType dtype) { return visit_real_type(dtype, [](auto) {}); };
  return is_real(from) && is_real(to);
}

void convert(const Tensor& tensor, DType to, std::span<std::byte> destination) {
  visit_real_type(tensor.dtype(), [&](auto from_example) {
    visit_real_type(to, [&](auto to_example) {
      convert_elements<decltype(from_example), decltype(to_example)>(tensor.bytes(), destination);
    });
  });
}

}  // namespace crochet::inline v0::internal
