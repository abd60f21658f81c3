// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/statistics.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "tools/elements.h"

namespace crochet::tool {
namespace {

// Doubles can hold the sums of smaller types; those of doubles would overflow, those of 64-bit
// integers lose digits.
template <typename T>
using Sum = std::conditional_t<sizeof(T) < sizeof(double), double, long double>;

// True if an element is finite; otherwise counts it as NaN or infinite.
template <typename T>
bool counts(T value, Statistics& found) {
  if (std::isfinite(value)) return true;
  ++(std::isnan(value) ? found.num_nan : found.num_infinite);
  return false;
}

template <typename T>
void look_at_complex(std::span<const T> elements, Statistics& found) {
  std::complex<long double> sum;
  uint64_t count = 0;
  for (const T& element : elements) {
    if (!counts(std::isfinite(element.real()) ? element.imag() : element.real(), found)) continue;
    sum += std::complex<long double>(element);
    ++count;
  }
  if (count > 0) found.mean = std::complex<double>(sum / static_cast<long double>(count));
}

// The value of an element that is compared and summed.
template <typename T>
auto value_of(const T& element) {
  if constexpr (std::is_same_v<T, Boolean>)
    return element.value();
  else if constexpr (kIsReal<T> && sizeof(T) < sizeof(float))
    return static_cast<float>(element);
  else
    return element;
}

template <typename T>
void look_at_ordered(std::span<const T> elements, Statistics& found) {
  Sum<T> sum = 0;
  uint64_t count = 0;
  const T* min = nullptr;
  const T* max = nullptr;
  decltype(value_of(T())) least = {}, most = {};
  for (const T& element : elements) {
    const auto value = value_of(element);
    if constexpr (kIsReal<T>)
      if (!counts(value, found)) continue;
    if (count++ == 0 || value < least) least = value, min = &element;
    if (max == nullptr || value > most) most = value, max = &element;
    sum += static_cast<Sum<T>>(value);
  }
  if (count == 0) return;
  found.min = number_of(*min);
  found.max = number_of(*max);
  found.mean = static_cast<double>(sum / static_cast<Sum<T>>(count));
}

}  // namespace

Statistics statistics_of(const Tensor& tensor) {
  Statistics found;
  visit_elements(tensor, [&]<typename T>(std::span<const T> elements) {
    if constexpr (kIsComplex<T>)
      look_at_complex(elements, found);
    else
      look_at_ordered(elements, found);
  });
  return found;
}

std::vector<Number> first_values(const Tensor& tensor, uint64_t count) {
  std::vector<Number> values;
  const auto take = [&](const auto& elements, auto convert) {
    const size_t num_taken = std::min<uint64_t>(count, elements.size());
    for (const auto& element : elements.first(num_taken)) values.push_back(convert(element));
  };
  if (tensor.dtype() == DType::kString)
    take(tensor.strings(), [](const std::string& text) -> Number { return text; });
  visit_elements(tensor, [&](auto elements) {
    take(elements, [](const auto& element) { return number_of(element); });
  });
  return values;
}

}  // namespace crochet::tool
