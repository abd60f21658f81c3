// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "tools/number.h"

#include <cmath>
#include <concepts>

#include <fmt/format.h>

#include "tools/text.h"

namespace crochet::tool {
namespace {

Json json_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// Calls `real` for each real number in a value.
template <typename Real>
std::string text_of(const Number& number, Real real) {
  return std::visit(
      [&](const auto& value) -> std::string {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::same_as<Value, std::monostate>) {
          return "-";
        } else if constexpr (std::same_as<Value, std::string>) {
          return '"' + printable(value) + '"';
        } else if constexpr (std::same_as<Value, std::complex<double>>) {
          return fmt::format("{}{}{}i", real(value.real()), std::signbit(value.imag()) ? "" : "+",
                             real(value.imag()));
        } else if constexpr (std::floating_point<Value>) {
          return real(value);
        } else {
          return fmt::format("{}", value);
        }
      },
      number);
}

}  // namespace

std::string exact_text(const Number& number) {
  return text_of(number, [](auto value) { return fmt::format("{}", value); });
}

std::string short_text(const Number& number) {
  return text_of(number, [](auto value) { return fmt::format("{:.6g}", value); });
}

Json to_json(const Number& number) {
  return std::visit(
      [](const auto& value) -> Json {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::same_as<Value, std::monostate>) {
          return nullptr;
        } else if constexpr (std::same_as<Value, std::string>) {
          return json_text(value);
        } else if constexpr (std::same_as<Value, std::complex<double>>) {
          return Json::array({json_of(value.real()), json_of(value.imag())});
        } else if constexpr (std::floating_point<Value>) {
          return json_of(value);
        } else {
          return value;
        }
      },
      number);
}

}  // namespace crochet::tool
