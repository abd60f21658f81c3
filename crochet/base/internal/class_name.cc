// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include "crochet/base/internal/class_name.h"

#include <cstdlib>
#include <memory>
#include <string_view>

#include <cxxabi.h>

namespace crochet::inline v0::internal {
namespace {

// The text after the last "::" outside brackets, without bracketed parts:
// template arguments and function parameters contain "::" too.
std::string last_part(std::string_view name) {
  std::string part;
  int depth = 0;
  for (const char c : name) {
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (depth == 0 && c == ':') part.clear();
    if (depth == 0 && c != ':') part += c;
    if (c == '>' || c == ')' || c == '}') --depth;
  }
  return part;
}

}  // namespace

std::string class_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  return last_part(status == 0 ? demangled.get() : type.name());
}

}  // namespace crochet::inline v0::internal
