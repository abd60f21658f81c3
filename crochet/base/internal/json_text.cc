// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/json_text.h"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

namespace crochet::inline v0::internal {
namespace {

using nlohmann::json;

// `scalar` is a number or a string, which are destroyed without an allocation.
std::string text_of(const json& scalar) {
  constexpr int kOneLine = -1;
  return scalar.dump(kOneLine, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

}  // namespace

void JsonText::separate() {
  constexpr std::string_view kNothingToEnd = "{[:";
  if (!text_.empty() && kNothingToEnd.find(text_.back()) == std::string_view::npos) text_ += ',';
}

void JsonText::begin(char bracket) {
  separate();
  text_ += bracket;
}

void JsonText::key(std::string_view name) {
  add(name);
  text_ += ':';
}

void JsonText::add(double number) {
  if (std::isnan(number)) return add("NaN");
  if (std::isinf(number)) return add(number > 0 ? "Infinity" : "-Infinity");
  separate();
  text_ += text_of(number);
}

void JsonText::add(int64_t number) {
  separate();
  text_ += text_of(number);
}

void JsonText::add(bool value) {
  separate();
  text_ += value ? "true" : "false";
}

void JsonText::add(std::string_view text) {
  separate();
  text_ += text_of(text);
}

std::string JsonText::take() { return std::exchange(text_, {}); }

}  // namespace crochet::inline v0::internal
