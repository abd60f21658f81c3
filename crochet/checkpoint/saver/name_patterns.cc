// Copyright 2026 The crochet authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>

#include <fnmatch.h>

#include "crochet/checkpoint/saver/restore_options.h"
#include "crochet/session/internal/nested_names.h"

namespace crochet::inline v0 {
namespace {

constexpr std::string_view kSpecial = "*?[\\";

bool has_star(const std::string& pattern) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '*') return true;
    if (pattern[i] == '\\') ++i;
  }
  return false;
}

bool matches_whole(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

// True if the pattern matches the name or one that it is beneath.
bool matches_owner(const std::string& pattern, const std::string& name) {
  return internal::is_any_at_or_above(
      name, [&](std::string_view each) { return matches_whole(pattern, std::string(each)); });
}

}  // namespace

bool NamePatterns::match(const std::string& name) const {
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
    return has_star(pattern) ? matches_whole(pattern, name) : matches_owner(pattern, name);
  });
}

bool NamePatterns::match_without_star(const std::string& name) const {
  return std::ranges::any_of(patterns_, [&](const std::string& pattern) {
    return !has_star(pattern) && matches_owner(pattern, name);
  });
}

namespace internal {

std::string pattern_for(std::string_view name) {
  std::string pattern;
  for (const char each : name) {
    if (kSpecial.find(each) != std::string_view::npos) pattern += '\\';
    pattern += each;
  }
  return pattern;
}

std::string literal(std::string_view text) {
  std::string literal = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') literal += '\\';
    literal += each;
  }
  return literal + '"';
}

}  // namespace internal
}  // namespace crochet::inline v0
