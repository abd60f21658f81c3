// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/comparison.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "tools/elements.h"

namespace crochet::tool {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Difference {
  double absolute = 0;
  double relative = 0;
  // The larger of both absolute values.
  double scale = 0;
};

Difference from_parts(double absolute, double scale) {
  if (std::isnan(absolute)) absolute = kInfinity;  // NaN, or opposite infinities.
  const double relative = absolute == 0 ? 0 : std::isinf(absolute) ? kInfinity : absolute / scale;
  return {absolute, relative, scale};
}

template <typename T>
Difference difference(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Boolean>) {
    return from_parts(a.value() == b.value() ? 0 : 1, 1);
  } else if constexpr (kIsComplex<T>) {
    const std::complex<double> wide_a(a), wide_b(b);
    return from_parts(std::abs(wide_a - wide_b), std::max(std::abs(wide_a), std::abs(wide_b)));
  } else if constexpr (kIsReal<T>) {
    const auto wide_a = static_cast<double>(a), wide_b = static_cast<double>(b);
    return from_parts(std::abs(wide_a - wide_b), std::max(std::abs(wide_a), std::abs(wide_b)));
  } else {
    // As doubles, adjacent large integers would be equal.
    const uint64_t distance = a > b ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b)
                                    : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
    return from_parts(static_cast<double>(distance),
                      std::max(std::abs(static_cast<double>(a)), std::abs(static_cast<double>(b))));
  }
}

template <typename T>
bool is_nan(const T& value) {
  if constexpr (kIsComplex<T>)
    return std::isnan(value.real()) || std::isnan(value.imag());
  else if constexpr (kIsReal<T>)
    return std::isnan(static_cast<double>(value));
  else
    return false;
}

template <typename T>
bool same_value(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, Boolean>)
    return a.value() == b.value();
  else if constexpr (kIsReal<T>)
    return static_cast<double>(a) == static_cast<double>(b);
  else
    return a == b;
}

template <typename T>
bool are_close(const T& a, const T& b, const Tolerance& tolerance) {
  if (same_value(a, b) || (is_nan(a) && is_nan(b))) return true;
  const Difference found = difference(a, b);
  if (std::isinf(found.absolute)) return false;
  return found.absolute <= tolerance.absolute + tolerance.relative * found.scale;
}

template <typename T>
Comparison compare_numbers(std::span<const T> a, std::span<const T> b, const Tolerance& tolerance) {
  Comparison result;
  const auto bytes_of = [](std::span<const T> one, size_t i) {
    return std::as_bytes(one.subspan(i, 1)).data();
  };
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(bytes_of(a, i), bytes_of(b, i), sizeof(T)) == 0) continue;
    if (!tolerance.is_exact() && are_close(a[i], b[i], tolerance)) continue;
    if (result.num_different++ == 0) {
      result.first = i;
      result.first_a = number_of(a[i]);
      result.first_b = number_of(b[i]);
    }
    if (same_value(a[i], b[i]) || (is_nan(a[i]) && is_nan(b[i]))) continue;  // Only bits differ.
    const Difference found = difference(a[i], b[i]);
    result.max_absolute = std::max(result.max_absolute, found.absolute);
    result.max_relative = std::max(result.max_relative, found.relative);
  }
  return result;
}

Comparison compare_strings(std::span<const std::string> a, std::span<const std::string> b) {
  Comparison result;
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && result.num_different++ == 0) {
      result.first = i;
      result.first_a = a[i];
      result.first_b = b[i];
    }
  return result;
}

}  // namespace

Comparison compare(const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  if (a.dtype() == DType::kString) return compare_strings(a.strings(), b.strings());
  Comparison result;
  visit_elements(a, [&]<typename T>(std::span<const T> from_a) {
    const std::span from_b(reinterpret_cast<const T*>(b.bytes().data()), from_a.size());
    result = compare_numbers(from_a, std::span<const T>(from_b), tolerance);
  });
  return result;
}

std::string position_text(uint64_t element, const Shape& shape) {
  std::vector<int64_t> place(static_cast<size_t>(shape.rank()));
  auto rest = static_cast<int64_t>(element);
  for (int i = shape.rank() - 1; i >= 0; --i) {
    place[static_cast<size_t>(i)] = rest % shape[i];
    rest /= shape[i];
  }
  return to_string(Shape(place));
}

}  // namespace crochet::tool
